"""URLs that have no room in memory lie in storage and come back, each exactly once, whatever dies in between."""

import asyncio
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import few_examples
from tests.frontier.shelf import Shelf
from thresher.core import CorruptData
from thresher.frontier import Frontier, HostRelease, Outcome, Scope, Settlement
from thresher.frontier.link.connect import connect

_serial = count()


@pytest.fixture
def shelf():
    return Shelf()


async def brought_back(frontier, tail):
    """What is to be logged, from memory and from storage."""
    found = []
    while True:
        moved = await tail.refill_outbox()
        batch = await frontier.unlogged_batch(100)
        if not moved and not batch.settlements:
            return found
        found += batch.settlements
        await frontier.acknowledge_batch(batch)


async def drained(frontier, worker, tail):
    """The texts of all pages, in the order in which they are granted."""
    granted = []
    while True:
        leases = await worker.pages(8)
        if not leases and not await tail.refill():
            return granted
        granted += [lease.url.text for lease in leases]
        await frontier.release([HostRelease(lease=lease) for lease in leases])
        await frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in leases])
        await tail.refill()


async def test_what_waits_beyond_the_limit_lies_in_storage_and_is_granted_all_the_same(
    frontier: Frontier, found, grants, shelf: Shelf
):
    urls = [f"http://h{i % 3}.test/{i}" for i in range(1500)]
    await frontier.add([found(url) for url in urls])
    tail = frontier.tail(shelf, max_in_memory=0)
    moved = await tail.spill()
    stats = await frontier.stats()
    assert moved == stats.tail > 1300
    assert stats.waiting == 1500
    assert sorted(await drained(frontier, grants(frontier), tail)) == sorted(urls)
    stats = await frontier.stats()
    assert stats.is_drained
    assert stats.tail == 0
    assert stats.outcomes["fetched"] == 1500


async def test_below_the_limit_nothing_is_moved(frontier: Frontier, found, shelf: Shelf):
    await frontier.add([found(f"http://a.test/{i}") for i in range(500)])
    assert await frontier.tail(shelf, max_in_memory=500).spill() == 0
    assert not shelf.objects


async def test_lower_levels_of_the_tail_come_back_first(frontier: Frontier, found, grants, shelf: Shelf):
    await frontier.add([found(f"http://a.test/{i}", depth=9 - i // 100) for i in range(1000)])
    tail = frontier.tail(shelf, max_in_memory=0)
    await tail.spill()
    order = await drained(frontier, grants(frontier), tail)
    assert {int(text.rpartition("/")[2]) // 100 for text in order[64:128]} == {9}
    assert len(set(order)) == 1000


async def test_what_is_added_while_the_tail_is_in_storage_waits_behind_it_or_goes_ahead_by_its_level(
    frontier: Frontier, found, grants, shelf: Shelf
):
    await frontier.add([found(f"http://a.test/{i}", depth=5) for i in range(300)])
    tail = frontier.tail(shelf, max_in_memory=0)
    await tail.spill()
    await frontier.add([found("http://a.test/ahead", depth=0), found("http://a.test/behind", depth=5)])
    order = await drained(frontier, grants(frontier), tail)
    assert order[0] == "http://a.test/ahead"
    assert len(order) == 302


async def test_a_keeper_that_dies_before_it_told_the_frontier_leaves_an_object_and_nothing_else(
    frontier: Frontier, found, grants, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    await frontier.add([found(f"http://a.test/{i}") for i in range(400)])
    tail = frontier.tail(shelf, max_in_memory=0)

    def dies(name, data):
        shelf.objects[name] = data
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shelf, "put", dies)
        with pytest.raises(KeyboardInterrupt):
            await tail.spill()
    assert (await frontier.stats()).tail == 0
    await tail.spill()
    assert len(set(await drained(frontier, grants(frontier), tail))) == 400
    shelf.age = 3_600_000
    monkeypatch.setattr("thresher.frontier.verbs.queue_tail.SEGMENT_RETENTION_S", -1)
    await tail.sweep()
    assert not shelf.objects


async def test_two_keepers_do_no_harm(frontier: Frontier, found, grants, shelf: Shelf):
    await frontier.add([found(f"http://h{i % 5}.test/{i}") for i in range(2000)])
    tails = [frontier.tail(shelf, max_in_memory=0), frontier.tail(shelf, max_in_memory=0)]
    await asyncio.gather(*(tail.spill() for tail in tails))
    worker, granted = grants(frontier), []
    while leases := (await worker.pages(40)) or (
        sum(await asyncio.gather(*(tail.refill() for tail in tails))) and await worker.pages(40)
    ):
        granted += [lease.url.text for lease in leases]
        await frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in leases])
    assert len(granted) == len(set(granted)) == 2000
    assert (await frontier.stats()).is_drained


@pytest.mark.parametrize("damage", ["missing", "changed", "cut"])
async def test_a_run_that_cannot_be_read_is_an_error_that_names_it_and_settles_nothing(
    frontier: Frontier, found, grants, shelf: Shelf, damage
):
    await frontier.add([found(f"http://a.test/{i}") for i in range(400)])
    await frontier.add([found(f"http://b.test/{i}") for i in range(10)])
    tail = frontier.tail(shelf, max_in_memory=0)
    await tail.spill()
    (name,) = shelf.objects
    data = shelf.objects.pop(name)
    if damage != "missing":
        shelf.objects[name] = (
            bytes((*data[:40], data[40] ^ 1, *data[41:])) if damage == "changed" else data[:-1]
        )
    with pytest.raises(
        CorruptData, match=f"crawl {frontier.crawl.name}: .* of its URLs wait in {name}.*--anew"
    ):
        await drained(frontier, grants(frontier), tail)
    stats = await frontier.stats()
    assert stats.waiting + stats.outcomes["fetched"] == 410
    assert stats.reasons == {}
    shelf.objects[name] = data  # it is found again: nothing was lost
    await drained(frontier, grants(frontier), tail)
    assert (await frontier.stats()).outcomes["fetched"] == 410


async def test_a_segment_is_deleted_some_time_after_the_last_of_its_runs_was_read(
    frontier: Frontier, found, grants, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    await frontier.add([found(f"http://a.test/{i}") for i in range(400)])
    tail = frontier.tail(shelf, max_in_memory=0)
    await tail.spill()
    shelf.age = 3_600_000
    assert await tail.sweep() == 0
    await drained(frontier, grants(frontier), tail)
    assert await tail.sweep() == 0
    monkeypatch.setattr("thresher.frontier.verbs.queue_tail.SEGMENT_RETENTION_S", -1)
    assert await tail.sweep() == 1
    assert await tail.sweep() == 0
    assert not shelf.objects


async def test_a_dropped_host_has_no_tail(
    frontier: Frontier, found, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    await frontier.add([found(f"http://a.test/{i}") for i in range(400)])
    tail = frontier.tail(shelf, max_in_memory=0)
    await tail.spill()
    assert await frontier.operator.drop(Scope.parse("host:a.test")) == 400
    assert (await frontier.stats()).tail == 0
    assert await tail.refill() == 0
    told = await brought_back(frontier, tail)
    assert {page.discovery.url.text for page in told} == {f"http://a.test/{i}" for i in range(400)}
    assert {(page.outcome, page.reason) for page in told} == {("refused", "dropped")}
    monkeypatch.setattr("thresher.frontier.verbs.queue_tail.SEGMENT_RETENTION_S", -1)
    assert await tail.sweep() == 1


async def test_a_keeper_that_is_cancelled_ends_whatever_it_was_about_to_do(
    frontier: Frontier, found, shelf: Shelf
):
    await frontier.add([found(f"http://a.test/{i}") for i in range(500)])
    for turns in range(60):
        keeper = asyncio.create_task(frontier.tail(shelf, max_in_memory=0).run("keeper"))
        for _ in range(turns):
            await asyncio.sleep(0)
        keeper.cancel()
        await asyncio.wait([keeper], timeout=5)
        assert keeper.cancelled(), turns


async def test_a_keeper_keeps_while_the_crawl_goes_on(frontier: Frontier, found, grants, shelf: Shelf):
    await frontier.add([found(f"http://h{i % 3}.test/{i}") for i in range(900)])
    keepers = [
        asyncio.create_task(frontier.tail(shelf, max_in_memory=0).run(name)) for name in ("one", "two")
    ]
    worker, granted = grants(frontier), set()
    while not (await frontier.stats()).is_drained:
        leases = await worker.pages(40)
        granted |= {lease.url.text for lease in leases}
        await frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in leases])
        await asyncio.sleep(0.005)
    assert len(granted) == 900
    assert shelf.objects
    for keeper in keepers:
        keeper.cancel()


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 200), st.integers(0, 4)),
        st.tuples(st.just("spill")),
        st.tuples(st.just("refill")),
        st.tuples(st.just("crawl"), st.integers(1, 60)),
        st.tuples(st.just("expire")),
    ),
    max_size=25,
)


@settings(max_examples=few_examples(8, of=25), deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=ACTS)
def test_in_whatever_order_it_happens_every_url_is_granted_until_it_is_settled(address, found, grants, acts):
    async def run():
        link = await connect(address)
        frontier = await Frontier(link, f"tail-{next(_serial)}").open(partitions=2)
        shelf = Shelf()
        tail, worker = frontier.tail(shelf, max_in_memory=0), grants(frontier)
        added, done, serial = 0, [], count()
        try:
            for verb, *args in acts:
                if verb == "add":
                    number, depth = args
                    urls = [
                        found(f"http://h{(n := next(serial)) % 3}.test/{n}", depth=depth)
                        for _ in range(number)
                    ]
                    added += (await frontier.add(urls)).added
                elif verb == "spill":
                    await tail.spill()
                elif verb == "refill":
                    await tail.refill()
                elif verb == "crawl":
                    leases = await worker.pages(args[0])
                    done += [lease.url.text for lease in leases]
                    await frontier.settle(
                        [Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in leases]
                    )
                else:
                    await worker.pages(20)
                    await frontier.workers.reclaim("w")
                stats = await frontier.stats()
                assert stats.waiting == added - len(done)
                assert 0 <= stats.tail <= stats.waiting
            done += await drained(frontier, worker, tail)
            assert len(done) == len(set(done)) == added
        finally:
            await frontier.crawl.forget()
            await link.aclose()

    asyncio.run(run())
