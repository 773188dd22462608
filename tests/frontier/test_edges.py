"""Corners of the functions in `lua/`: counts that overflow, replies that are lost, calls at the same moment."""

import asyncio
import random
from dataclasses import replace
from io import BufferedReader, BytesIO
from itertools import count

import pytest
from redis.asyncio import Redis

from core import CorruptData
from frontier import Fault, Frontier, HostRelease, Kind, Outcome, Rank, Scope, Settlement
from frontier.link.call import Link
from frontier.verbs.queue_tail import _segment
from tests.expect import expect
from tests.frontier.fixed_clock import paced

_serial = count()
HOUR = 3_600_000


@pytest.fixture
async def one(link: Link):
    return await Frontier(link, f"edges-{next(_serial)}").open(partitions=1)


class Shelf:
    """Storage in memory, whose objects are all old."""

    def __init__(self):
        self.objects = {}

    def put(self, name, data):
        return self.objects.setdefault(name, data) is data

    def open(self, name):
        if name not in self.objects:
            raise CorruptData(f"{name} is missing")
        return BufferedReader(BytesIO(self.objects[name]))

    def age_ms(self, _name):
        return HOUR

    def list(self, prefix=""):
        return iter(sorted(name for name in self.objects if name.startswith(prefix)))

    def delete(self, name):
        self.objects.pop(name, None)


def settled(leases, outcome=Outcome.FETCHED, **fields):
    return [Settlement(lease=lease, outcome=outcome, **fields) for lease in leases]


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


# Lost, doubled, stuck


async def test_a_host_that_fails_sixteen_exchanges_at_once_has_tripped_once(one, found, grants, redis: Redis):
    await one.add([found(f"http://a.test/{i}") for i in range(40)])
    leases = await grants(one).pages()
    assert len(leases) == 16
    await one.settle(settled(leases, Outcome.RETRY, fault=Fault.CONNECT))
    stats = await checked(one, redis)
    assert (stats.held, stats.dead) == (1, 0)
    assert stats.waiting == 24


async def test_a_host_that_dies_is_dead_once_whatever_was_under_way(one, found, grants, redis: Redis):
    await one.add([found(f"http://a.test/{i}") for i in range(40)])
    leases = await grants(one).pages()
    for lease in leases:
        await one.settle(settled([lease], Outcome.FAILED, fault=Fault.CONNECT, reason="connect"))
    assert (await checked(one, redis)).dead <= 1


@pytest.mark.parametrize("partitions", [2, 64, 128])
async def test_a_token_says_its_partition_after_a_restart_too(
    link: Link, found, grants, redis: Redis, partitions
):
    frontier = await Frontier(link, f"edges-{next(_serial)}").open(partitions=partitions)
    await frontier.add([found(f"http://h{i}.test/") for i in range(3 * partitions)])
    await restarted(frontier, redis)
    leases = await grants(frontier).pages(3 * partitions)
    assert len({lease.token for lease in leases}) == 3 * partitions
    for lease in leases:
        assert frontier.crawl.partitions.of_token(lease.token) == frontier.crawl.partitions.of_host(
            lease.url.host
        )
    assert await frontier.settle(settled(leases)) == 3 * partitions
    await frontier.crawl.forget()


async def test_what_expires_together_goes_back_in_its_order_from_the_first_token_on(
    one, found, grants, redis: Redis
):
    urls = [f"http://a.test/{i}" for i in range(14)]
    await one.add([found(url) for url in urls])
    worker = grants(one)
    assert len(await worker.pages()) == 14
    await redis.hincrby(key(one), "steady", worker.lease_ms)
    assert [lease.url.text for lease in await worker.pages()] == urls


async def test_a_token_of_a_forgotten_crawl_ends_nothing_of_the_next(one, found, grants):
    await one.add([found("http://a.test/")])
    (old,) = await grants(one).pages()
    await one.crawl.forget()
    await one.open(partitions=1)
    await one.add([found("http://b.test/")])
    assert len(await grants(one).pages()) == 1
    assert await one.settle(settled([old])) == 0


async def test_a_page_that_is_visited_again_is_not_due_at_once_where_nobody_says_what_time_it_is(
    one, found, grants
):
    await one.add([found("http://a.test/", interval_s=86_400)])
    worker = grants(one)
    await one.settle(settled(await worker.pages()))
    assert await worker.pages() == []


# The tail


async def test_a_keeper_makes_room_on_a_server_that_is_full(one, found, redis: Redis):
    await one.add([found(f"http://a.test/{i}") for i in range(2_000)])
    await redis.config_set("maxmemory", "1")
    spilled, loop = asyncio.Event(), asyncio.get_running_loop()

    class WatchedShelf(Shelf):
        def put(self, name, data):
            loop.call_soon_threadsafe(spilled.set)
            return super().put(name, data)

    shelf = WatchedShelf()
    keeper = asyncio.create_task(one.tail(shelf, max_in_memory=0).run("keeper"))
    waiter = asyncio.create_task(spilled.wait())
    try:
        await asyncio.wait([keeper, waiter], return_when=asyncio.FIRST_COMPLETED)
        assert spilled.is_set()
    finally:
        keeper.cancel()
        waiter.cancel()
        await redis.config_set("maxmemory", "0")


async def test_a_segment_is_kept_for_a_while_after_its_last_run_was_read(one, found, grants):
    await one.add([found(f"http://a.test/{i}") for i in range(200)])
    shelf = Shelf()
    tail = one.tail(shelf, max_in_memory=0)
    await tail.spill()
    worker = grants(one)
    while (await one.stats()).tail:
        await one.settle(settled(await worker.pages()))
        await tail.refill()
    await tail.sweep()  # a server that loses its last second now needs the segment again
    assert shelf.objects


async def test_a_back_that_was_taken_from_very_often_is_not_taken_for_itself(
    one, found, grants, redis: Redis
):
    await one.add([found(f"http://a.test/{i}") for i in range(9_000)])
    shelf = Shelf()
    put, worker, granted = shelf.put, grants(one), []

    async def crawl(n):
        while len(granted) < n:
            leases = await worker.pages(16)
            granted.extend(lease.url.text for lease in leases)
            await one.settle(settled(leases))

    ((nonce, *reply),) = await one.crawl.link.call([one.crawl.partitions.call(0, "overflow", 10, 128)])
    segment, args = _segment(reply)
    put("frontier/x", segment)
    await crawl(32 * 256 + 1)
    await one.crawl.link.call([one.crawl.partitions.call(0, "spill", "frontier/x", nonce, *args)])
    tail = one.tail(shelf, max_in_memory=0)
    while not (await one.stats()).is_drained:
        await tail.refill()
        leases = await worker.pages(16)
        granted.extend(lease.url.text for lease in leases)
        await one.settle(settled(leases))
    assert len(granted) == len(set(granted)) == 9_000


async def test_spilling_reads_no_more_of_a_long_queue_than_it_moves(one, found, grants, redis: Redis):
    await one.add([found(f"http://a.test/{i}", depth=i % 5) for i in range(6_000)])
    before = await checked(one, redis)
    shelf = Shelf()
    tail = one.tail(shelf, max_in_memory=0)
    await tail.spill()
    after = await checked(one, redis)
    assert before.waiting == after.waiting
    assert after.waiting - after.tail < 128


async def test_a_spill_that_is_sent_twice_is_done_once(one, found, redis, monkeypatch: pytest.MonkeyPatch):
    await one.add([found(f"http://a.test/{i}") for i in range(300)])
    ((nonce, *reply),) = await one.crawl.link.call([one.crawl.partitions.call(0, "overflow", 10, 128)])
    segment, args = _segment(reply)
    name = f"frontier/{one.crawl.name}/0000-x"
    calls = [one.crawl.partitions.call(0, "spill", name, nonce, *args)] * 2
    assert await one.crawl.link.call(calls) == [1, 0]
    await checked(one, redis)
    shelf = Shelf()
    shelf.put(name, segment)
    monkeypatch.setattr("frontier.verbs.queue_tail.SEGMENT_RETENTION_S", -1)
    await one.tail(shelf).sweep()
    assert shelf.objects  # 128 pages lie there


# Politeness


@pytest.mark.parametrize("ms", [2**48 - 1, 2**48, 2**53, 10**30])
async def test_however_long_a_server_wants_to_be_left_alone_it_is(one, found, grants, ms):
    await one.add([found(f"http://{name}.test/{i}") for name in "abc" for i in range(30)])
    worker = grants(one)
    leases = {lease.url.host: lease for lease in await worker.pages(3)}
    await one.settle(settled([leases["a.test"]], Outcome.RETRY, hold_ms=ms, fault=Fault.BUSY))
    await one.postpone(leases["b.test"], ms)
    await one.operator.hold("c.test", ms)
    await one.operator.prefer({f"{name}.test": Rank.RICH for name in "abc"})  # they are placed again
    assert await worker.pages() == []


@pytest.mark.parametrize("ms", [2**32, 2**32 + 1, 10**15])
async def test_however_long_a_delay_is_it_is_kept(one, found, grants, ms):
    await one.add([found(f"http://a.test/{i}") for i in range(3)])
    worker = grants(one)
    (robots,) = await worker.take()
    await worker.allow(robots, delay_ms=ms)
    assert await worker.take() == []
    await one.add([found("http://b.test/1"), found("http://b.test/2")])
    slow = grants(one, delay_ms=ms)
    (robots,) = await slow.take()
    await slow.allow(robots)
    assert await slow.take() == []


async def test_robots_that_may_be_kept_for_ever_are_not_asked_for_again(one, found, grants):
    await one.add([found("http://a.test/1")])
    worker = grants(one)
    (robots,) = await worker.take()
    await worker.allow(robots, ttl_ms=2**50)
    (page,) = await worker.take()
    assert page.kind is Kind.PAGE


@pytest.mark.parametrize("crawl", [1], indirect=True)
async def test_who_comes_to_an_address_at_its_turn_is_not_sent_to_the_end_because_another_was_late(
    crawl, found, grants
):
    one = crawl.frontier
    await one.crawl.update_settings(replace(one.crawl.settings, min_ip_delay_ms=100))
    await one.add([found(f"http://h{i}.test/") for i in range(40)])
    leases = await grants(one).pages()
    waits = [await one.politeness.acquire_address(lease, "192.0.2.1") for lease in leases]
    assert waits == [100 * i + (i > 0) for i in range(40)]
    await crawl.skip(waits[1] + 60)
    assert (
        await one.politeness.acquire_address(replace(leases[1], held_until_ms=1), "192.0.2.1") == 0
    )  # 60 ms late
    await crawl.skip(40)
    assert (
        await one.politeness.acquire_address(replace(leases[2], held_until_ms=1), "192.0.2.1") == 61
    )  # in time


async def test_a_host_that_was_held_long_ago_stands_in_line_like_all_others(one, found, grants):
    await one.add([found("http://a.test/1")])
    worker = grants(one)
    (page,) = await worker.pages()
    await one.postpone(page, 1)
    await asyncio.sleep(0.05)
    (page,) = await worker.pages()
    await one.settle(settled([page]))
    await one.add([found("http://a.test/2")])
    (page,) = await worker.pages()
    assert page.held_until_ms == 0


# Order


# What is known


async def test_the_seen_set_forgets_nothing_and_knows_nothing_else(one, redis: Redis):
    """Hashes of our own making, in batches of many sizes, around every boundary of the tables."""
    chance = random.Random(4)
    hosts = [f"h{i}.test" for i in range(2)]
    known = {host: [] for host in hosts}
    everything = set()

    def entry(name):
        return b"\x80\0\0\0\0\0" + name[-1:] + b"\0\0\0\0p" + b"\0\x08" + b"\0" * 6

    async def add(host, hashes):
        args = [arg for name in hashes for arg in (name, entry(name))]
        (row,) = await one.crawl.link.call(
            [one.crawl.partitions.call(0, "add", 0, host, host, len(hashes), *args)]
        )
        return row[0], row[1]

    targets = [1, 127, 128, 129, 256, 257, 385, 8191, 8192, 8193, 9000]
    for target in targets:
        for host in hosts:
            fresh = []
            while len(known[host]) + len(fresh) < target:
                name = chance.randbytes(7)
                if name not in everything:
                    everything.add(name)
                    fresh.append(name)
            for first in range(0, len(fresh), 1000):
                some = fresh[first : first + 1000]
                assert await add(host, some) == (len(some), 0)
            known[host] += fresh
            again = known[host]
            for first in range(0, len(again), 1000):
                some = again[first : first + 1000]
                assert await add(host, some) == (0, len(some))
    assert (await one.stats()).seen == len(everything) == 2 * 9000


async def test_the_partitions_table_doubles_and_loses_nothing(one, redis: Redis):
    """The table that hosts share once they are large, brought to more than two doublings in a short time."""
    chance = random.Random(5)

    def entry(name):
        return b"\x80\0\0\0\0\0" + name[-1:] + b"\0\0\0\0p" + b"\0\x08" + b"\0" * 6

    async def add(hashes):
        args = [arg for name in hashes for arg in (name, entry(name))]
        (row,) = await one.crawl.link.call(
            [one.crawl.partitions.call(0, "add", 0, "a.test", "a.test", len(hashes), *args)]
        )
        return row[0], row[1]

    first = [chance.randbytes(7) for _ in range(8192)]
    for at in range(0, len(first), 1000):
        await add(first[at : at + 1000])
    names = list({chance.randbytes(7) for _ in range(12_000)})
    for at in range(0, len(names), 1000):
        # As if 128 times as many were there: every URL splits a bucket.
        buckets = int(await redis.hget(key(one), "buckets") or 1024)
        await redis.hset(key(one), "wide", 128 * (buckets + 2_000))
        assert await add(names[at : at + 1000]) == (1000, 0) or at + 1000 > len(names)
    assert int(expect(bytes, await redis.hget(key(one), "buckets"))) > 4096
    for some in (first, names):
        for at in range(0, len(some), 1000):
            batch = some[at : at + 1000]
            assert await add(batch) == (0, len(batch))


# Counters, whatever happens


class Chaos:
    """A fleet that does whatever it likes, and a keeper."""

    NAMES = (*(f"h{i}.test" for i in range(5)), "[::1]", "x.h0.test")
    ACTS = (
        *("add", "lease", "settle", "robots") * 3,
        *("release", "postpone", "reclaim", "hold", "drop", "spill", "refill", "sweep", "restart", "prefer"),
    )

    def __init__(self, frontier, found, redis, seed):
        self.frontier, self.found, self.redis, self.chance = frontier, found, redis, random.Random(seed)
        self.tail, self.serial = frontier.tail(Shelf(), max_in_memory=0), count()
        self.pages, self.asked = [], []

    async def act(self):
        self.chance.shuffle(self.pages)
        await getattr(self, self.chance.choice(self.ACTS))()

    async def add(self):
        origin = f"http://{self.chance.choice(self.NAMES)}{self.chance.choice(['', '', ':81'])}"
        fields = {"depth": self.chance.randrange(4), "interval_s": self.chance.choice([0, 3600])}
        number = self.chance.choice([1, 5, 200])
        await self.frontier.add(
            [self.found(f"{origin}/{next(self.serial)}", **fields) for _ in range(number)]
        )

    async def lease(self):
        worker, lease_ms = self.chance.choice("vw"), self.chance.choice([1, 60_000])
        await paced(self.frontier, self.chance.choice([0, 0, 1]))
        for lease in await self.frontier.lease(
            self.chance.choice([1, 10, 60]), worker=worker, lease_ms=lease_ms
        ):
            (self.pages if lease.kind is Kind.PAGE else self.asked).append(lease)

    async def settle(self):
        some, self.pages = self.pages[:20], self.pages[20:]
        settlements = [
            Settlement(
                lease=lease,
                outcome=self.chance.choice(list(Outcome)),
                fault=self.chance.choice([None, None, *Fault]),
                hold_ms=self.chance.choice([0, 0, 3]),
                retry_after_ms=self.chance.choice([None, 0, 5]),
                sketch=self.chance.choice([None, 1, 2]),
                reason="r",
            )
            for lease in some
        ]
        await self.frontier.settle(settlements)

    async def robots(self):
        some, self.asked = self.asked, []
        for lease in some:
            if self.chance.random() < 0.6:
                rule, ttl_ms = (
                    self.chance.choice(["allow", "disallow", "rules"]),
                    self.chance.choice([0, HOUR]),
                )
                await self.frontier.origins.settle_robots(
                    lease, rule=rule, body=b"x", ttl_ms=ttl_ms, delay_ms=self.chance.choice([None, 1])
                )
            else:
                fault = self.chance.choice([None, *Fault])
                await self.frontier.origins.retry_robots(lease, after_ms=1, fault=fault)

    async def release(self):
        some = self.pages[:10] + self.asked[:1]
        await self.frontier.release([HostRelease(lease=lease, elapsed_ms=1) for lease in some])

    async def postpone(self):
        await self.frontier.postpone_all(
            [
                (HostRelease(lease=lease, has_sent_request=lease.kind is Kind.ROBOTS), 2)
                for lease in self.pages[:3] + self.asked[:1]
            ]
        )

    async def reclaim(self):
        await self.frontier.workers.reclaim(self.chance.choice("vw"))

    async def hold(self):
        await self.frontier.operator.hold(self.chance.choice(self.NAMES), 3)
        await self.frontier.operator.resume(self.chance.choice(self.NAMES))

    async def drop(self):
        if self.chance.random() < 0.2:
            scope = self.chance.choice(["host:h1.test", "prefix:http://h2.test/1", "domain:h0.test"])
            await self.frontier.operator.drop(Scope.parse(scope))

    async def spill(self):
        await self.tail.spill()

    async def refill(self):
        await self.tail.refill()

    async def sweep(self):
        await self.tail.sweep()
        await asyncio.sleep(0.003)

    async def restart(self):
        await restarted(self.frontier, self.redis)

    async def prefer(self):
        await self.frontier.operator.prefer({"h0.test": self.chance.choice(list(Rank))})


@pytest.mark.parametrize("seed", range(4))
async def test_the_counters_are_what_is_there_whatever_happens(link: Link, found, redis: Redis, seed):
    frontier = await Frontier(link, f"edges-{next(_serial)}").open(partitions=1 + seed % 2)
    chaos = Chaos(frontier, found, redis, seed)
    for _ in range(120):
        await chaos.act()
        await checked(frontier, redis)
    await frontier.crawl.forget()


# Names


@pytest.mark.parametrize("worker", ["", "a\0b", "ü" * 127, "a:b{c}\r\n", "x" * 255])
async def test_a_worker_is_called_whatever_it_likes(one, found, grants, worker):
    await one.add([found("http://[::1]:65535/\0"), found("https://xn--bcher-kva.test:1/a b")])
    leases = await grants(one, worker).pages()
    assert len(leases) == 2
    assert await one.workers.holders() == {worker}
    assert {lease.url.host for lease in await one.workers.leases(worker)} == {"[::1]", "xn--bcher-kva.test"}
    assert await one.workers.reclaim(worker) == 2


async def test_hosts_are_gone_through_on_the_oldest_server_that_is_taken(one, found, redis: Redis):
    """HSCAN has NOVALUES since Redis 7.4 and Valkey 8; `frontier.link.master` takes 7.0."""
    (library,) = await redis.function_list("thresher", withcode=True)
    assert b"'NOVALUES'" not in b"".join(part for part in library if isinstance(part, bytes))


async def test_few_ready_hosts_on_many_partitions_are_found_in_few_round_trips(
    link: Link, found, monkeypatch: pytest.MonkeyPatch
):
    frontier = await Frontier(link, f"edges-{next(_serial)}").open(partitions=64)
    await frontier.add([found("http://a.test/")])
    trips, call = [], link.call

    async def counted(calls):
        trips.append(len(calls))
        return await call(calls)

    monkeypatch.setattr(link, "call", counted)
    await frontier.lease(1, worker="w", lease_ms=1000)
    await frontier.lease(1, worker="w", lease_ms=1000)
    taken = len(trips)
    await frontier.crawl.forget()
    assert taken == 2 * 3  # the gate, what is due where, and the leases
