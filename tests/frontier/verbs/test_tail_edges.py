"""Corners of the tail: a server that is full, spills that are sent twice, queues that are long."""

import asyncio

import pytest
from redis.asyncio import Redis

from tests.frontier.counters import checked
from tests.frontier.settlements import settled
from tests.frontier.shelf import Shelf
from thresher.frontier.verbs.queue_tail import _segment

HOUR = 3_600_000


async def test_a_keeper_makes_room_on_a_server_that_is_full(one, found, redis: Redis):
    await one.add([found(f"http://a.test/{i}") for i in range(2_000)])
    await redis.config_set("maxmemory", "1")
    spilled, loop = asyncio.Event(), asyncio.get_running_loop()

    class WatchedShelf(Shelf):
        def put(self, name, data):
            loop.call_soon_threadsafe(spilled.set)
            return super().put(name, data)

    shelf = WatchedShelf(age=HOUR)
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
    shelf = Shelf(age=HOUR)
    tail = one.tail(shelf, max_in_memory=0)
    await tail.spill()
    worker = grants(one)
    while (await one.stats()).tail:
        await one.settle(settled(await worker.pages()))
        await tail.refill()
    await tail.sweep()  # a server that loses its last second now needs the segment again
    assert shelf.objects


@pytest.mark.slow
async def test_a_back_that_was_taken_from_very_often_is_not_taken_for_itself(
    one, found, grants, redis: Redis
):
    await one.add([found(f"http://a.test/{i}") for i in range(9_000)])
    shelf = Shelf(age=HOUR)
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
    shelf = Shelf(age=HOUR)
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
    shelf = Shelf(age=HOUR)
    shelf.put(name, segment)
    monkeypatch.setattr("thresher.frontier.verbs.queue_tail.SEGMENT_RETENTION_S", -1)
    await one.tail(shelf).sweep()
    assert shelf.objects  # 128 pages lie there
