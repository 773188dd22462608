"""What a server counts of a crawl, held against what lies there, queue by queue."""


def key(frontier, name="count", partition=0):
    return frontier.crawl.partitions.key(partition, name)


HELD_BACK_MS = 1_500  # lua/state/clock.lua: HOLD_MS


async def restarted(frontier, redis):
    """The server has forgotten who it was, a moment ago."""
    for p in range(frontier.crawl.partitions.number):
        await redis.hset(key(frontier, partition=p), "born", "another")
    await frontier.crawl.link.call(frontier.crawl.partitions.calls("births"))
    for p in range(frontier.crawl.partitions.number):
        await redis.hincrby(key(frontier, partition=p), "steady", HELD_BACK_MS)


async def checked(frontier, redis):
    """The counters are what is there."""
    stats = await frontier.stats()
    assert stats.waiting + stats.leased + stats.later + sum(stats.outcomes.values()) == stats.seen
    waiting = tail = dead = held = opened = 0
    for p in range(frontier.crawl.partitions.number):
        ready = {}
        for rank in range(4):
            for name, score in await redis.zrange(key(frontier, f"ready:{rank}", p), 0, -1, withscores=True):
                assert name not in ready
                ready[name] = (rank, score)
        hungry = await redis.smembers(key(frontier, "hungry", p))
        spill = await redis.smembers(key(frontier, "spill", p))
        segments = await redis.hgetall(key(frontier, "segments", p))
        runs = {}
        for name, text in (await redis.hgetall(key(frontier, "hosts", p))).items():
            host = state(text)
            queue = await redis.llen(key(frontier, f"q:{name.decode()}", p))
            refs = await redis.lrange(key(frontier, f"r:{name.decode()}", p), 0, -1)
            assert host["head"] + host["back"] == queue
            assert host["tail"] == sum(int.from_bytes(ref[12:14], "big") for ref in refs)
            assert host["waiting"] == queue + host["tail"]
            assert host["head"] > 0 or host["back"] == 0
            assert (name in hungry) == bool(host["flags"] & 8)
            assert name in hungry or host["head"] > 8 or not host["tail"]
            assert (name in spill) == bool(host["flags"] & 16) == (host["back"] >= 64)
            assert (ready[name] == (host["rank"], host["due"])) if name in ready else host["due"] == 0
            asks = host["flags"] & 1
            full = host["open"] >= (
                1 if max(host["delay"], host["open"] and host["pace"]) or host["trips"] else 16
            )
            may = host["head"] > 0 and not asks and not host["flags"] & 4 and not full
            assert may or name not in ready
            assert not may or name in ready or host["open"] > 0, (name, host)  # a slower worker passed by
            for ref in refs:
                runs[ref[:4]] = runs.get(ref[:4], 0) + 1
            waiting, tail = waiting + host["waiting"], tail + host["tail"]
            dead, held = dead + bool(host["flags"] & 4), held + bool(host["trips"])
            opened += host["open"]
        for number in await redis.hkeys(
            key(frontier, "closed", p)
        ):  # of hosts that were given up, for the log
            for ref in await redis.lrange(key(frontier, f"closedruns:{number.decode()}", p), 0, -1):
                runs[ref[:4]] = runs.get(ref[:4], 0) + 1
        assert {int.from_bytes(id_, "big"): n for id_, n in runs.items()} == {
            int(id_): int(text.partition(b" ")[0]) for id_, text in segments.items()
        }
    assert (stats.waiting, stats.tail, stats.held) == (waiting, tail, held)
    assert opened <= stats.leased + stats.robots
    return stats


FIELDS = {
    "delay": 4,
    "pace": 4,
    "last": 6,
    "held": 6,
    "open": 2,
    "flags": 2,
    "waiting": 4,
    "head": 2,
    "back": 4,
    "tail": 4,
    "added": 4,
    "smooth": 4,
    "faults": 1,
    "trips": 1,
    "rank": 1,
    "due": 6,
    "turn": 4,
}
"""Of a host's state, and how many bytes each has (`lua/state/host.lua`)."""


def state(text):
    values, at = {}, 0
    for name, width in FIELDS.items():
        values[name] = int.from_bytes(text[at : at + width], "big")
        at += width
    return values
