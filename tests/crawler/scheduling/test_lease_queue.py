"""What the scheduler, the lease handler and the settler hear of each other through the queue of a worker."""

import asyncio
from dataclasses import replace

import pytest

from tests.crawler.leases import lease
from thresher.crawler.lease_result import LeaseResult, settlement_for
from thresher.crawler.reading.outcome import READING_FAILED
from thresher.crawler.scheduling import lease_queue
from thresher.crawler.scheduling.lease_queue import BATCH, RECOVERED_WAIT_MS, SMALL_BATCH, LeaseQueue
from thresher.frontier import Discovery, canonicalize

SLOTS = 64


def granted(*hosts, **changes):
    return [lease(f"http://{host}/", token=token, **changes) for token, host in enumerate(hosts, start=1)]


def result(of):
    return LeaseResult(lease=of, decision=settlement_for(of, READING_FAILED))


def test_a_lease_is_open_until_it_is_settled():
    queue = LeaseQueue()
    leases = queue.open_leases(granted("a.test", "b.test"), slots=SLOTS)
    assert [each.url.host for each in leases] == ["a.test", "b.test"]
    queue.release_host(leases[0], 5)
    assert len(queue) == 2
    queue.close_leases([result(leases[0])], are_urls_known=True)
    assert len(queue) == 1
    assert queue.is_fetching


def test_the_scheduler_hears_once_of_what_has_ended():
    queue = LeaseQueue()
    first, second, third = queue.open_leases(granted("a.test", "b.test", "c.test"), slots=SLOTS)
    queue.release_host(first, 5)
    queue.postpone(second, 700, has_sent_request=True)
    queue.close_leases([result(third)], are_urls_known=False)
    ended = queue.take_ended()
    assert [(each.lease, each.elapsed_ms) for each in ended.releases] == [(first, 5)]
    assert [(each.lease, wait_ms) for each, wait_ms in ended.postponements] == [(second, 700)]
    assert ended.has_closed
    again = queue.take_ended()
    assert [*again.releases, *again.postponements] == []
    assert not again.has_closed


def test_a_lease_without_a_slot_goes_back():
    queue = LeaseQueue()
    first, *more = granted("a.test", "x.a.test", "y.a.test")
    assert queue.open_leases([first, *more], slots=SLOTS) == [first]
    assert [each.lease for each, _ in queue.take_ended().postponements] == more
    assert len(queue) == 1


def test_recovered_leases_are_fetched_one_at_a_time():
    queue = LeaseQueue()
    first, second = granted("a.test", "b.test", is_recovered=True)
    assert queue.open_leases([first, second], slots=SLOTS) == [first]
    ((back, wait_ms),) = queue.take_ended().postponements
    assert (back.lease, wait_ms) == (second, RECOVERED_WAIT_MS)
    queue.close_leases([result(first)], are_urls_known=True)
    assert queue.open_leases([replace(second, token=9)], slots=SLOTS)


def test_a_lease_that_the_frontier_gives_up_needs_neither_a_slot_nor_its_turn():
    queue = LeaseQueue()
    gone = granted("a.test", "b.a.test", is_recovered=True, failure="failed:dead_dns")
    assert queue.open_leases(gone, slots=SLOTS) == gone
    assert not queue.is_fetching


@pytest.mark.parametrize("are_urls_known", [True, False])
def test_what_the_frontier_certainly_has_is_known(are_urls_known):
    queue = LeaseQueue()
    (held,) = queue.open_leases(granted("a.test"), slots=SLOTS)
    found = Discovery(url=canonicalize("http://a.test/x"), scope=held.scope)
    done = LeaseResult(lease=held, decision=settlement_for(held, READING_FAILED, (found,)))
    queue.close_leases([done], are_urls_known=are_urls_known)
    assert ("http://a.test/x" in queue.known_urls) == are_urls_known


async def test_a_full_batch_is_settled_at_once_and_what_comes_before_the_end_is_not_lost():
    queue = LeaseQueue()
    leases = queue.open_leases(granted(*(f"{n}.test" for n in range(BATCH + 1))), slots=10 * BATCH)
    for each in leases[:BATCH]:
        queue.add_result(result(each))
    async with asyncio.timeout(1):
        assert len(await queue.next_batch()) == BATCH
    queue.add_result(result(leases[BATCH]))
    queue.finish()
    async with asyncio.timeout(1):
        assert [each.lease for each in await queue.next_batch()] == [leases[BATCH]]
        assert await queue.next_batch() == []


@pytest.mark.parametrize("last", ["result", "goes back"])
async def test_results_are_settled_at_once_when_no_other_lease_is_being_worked_on(monkeypatch, last):
    """A settlement that waits holds its slots, and no other lease can start in them."""
    monkeypatch.setattr(lease_queue, "BATCH_INTERVAL_S", 3600)
    queue = LeaseQueue()
    *leases, other = queue.open_leases(granted(*(f"{n}.test" for n in range(SMALL_BATCH + 1))), slots=SLOTS)
    for each in leases:
        queue.add_result(result(each))
    settled = asyncio.create_task(queue.next_batch())
    await asyncio.sleep(0)
    assert not settled.done()
    if last == "result":
        queue.add_result(result(other))
    else:
        queue.postpone(other, 700, has_sent_request=True)
    async with asyncio.timeout(1):
        found = [each.lease for each in await settled]
    assert found == (leases if last == "goes back" else [*leases, other])


async def test_a_few_results_wait_for_more():
    queue = LeaseQueue()
    for each in queue.open_leases(granted(*(f"{n}.test" for n in range(SMALL_BATCH - 1))), slots=SLOTS):
        queue.add_result(result(each))
    settled = asyncio.create_task(queue.next_batch())
    await asyncio.sleep(0)
    assert not settled.done()
    assert len(await settled) == SMALL_BATCH - 1


async def test_the_scheduler_wakes_when_something_ends():
    queue = LeaseQueue()
    (held,) = queue.open_leases(granted("a.test"), slots=SLOTS)
    assert not await queue.wait_for_change(0)
    queue.release_host(held)
    assert await queue.wait_for_change(0)
    queue.clear_change()
    assert not await queue.wait_for_change(0)
