"""The set of known URLs forgets nothing, also while its tables grow."""

import random

from redis.asyncio import Redis

from tests.expect import expect
from tests.frontier.counters import key


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
