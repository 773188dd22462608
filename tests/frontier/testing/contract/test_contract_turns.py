"""Turns at an address and at a host, and pages that are postponed, in every frontier."""

from dataclasses import replace

import pytest

from tests.frontier.contract import MINUTE, SECOND, numbered, texts
from thresher.frontier import HostRelease


@pytest.fixture
async def by_address(worker):
    """A worker of a crawl that leaves a second between two requests to an address."""
    await worker.frontier.crawl.update_settings(
        replace(worker.frontier.crawl.settings, min_ip_delay_ms=SECOND)
    )
    return worker


async def test_two_that_are_let_in_to_one_address_are_a_delay_apart(by_address, found):
    worker = by_address
    await worker.frontier.add([found(f"http://{host}.test/") for host in "abc"])
    a, b, c = await worker.pages()
    assert await worker.frontier.politeness.acquire_address(a, "192.0.2.1") == 0
    assert await worker.frontier.politeness.acquire_address(b, "192.0.2.2") == 0
    assert await worker.frontier.politeness.acquire_address(b, "192.0.2.1") == SECOND + 1
    assert await worker.frontier.politeness.acquire_address(c, "192.0.2.1") == 2 * SECOND + 1


async def test_the_delay_of_an_address_begins_anew_if_it_is_requested_later_than_it_was_acquired(
    by_address, found
):
    worker = by_address
    await worker.frontier.add([found(f"http://{host}.test/") for host in "abc"])
    a, b, c = await worker.pages()
    assert await worker.frontier.politeness.acquire_address(a, "192.0.2.1") == 0
    assert (
        await worker.frontier.politeness.acquire_address(b, "192.0.2.1") == SECOND + 1
    )  # has a place in the line
    await worker.crawl.skip(600)
    await worker.frontier.politeness.restart_address_delays({"192.0.2.1", "192.0.2.9"})
    assert (
        await worker.frontier.politeness.acquire_address(c, "192.0.2.9") == SECOND + 1
    )  # asked, and never entered
    assert (
        await worker.frontier.politeness.acquire_address(replace(b, held_until_ms=1), "192.0.2.1")
        == SECOND + 1
    )
    await worker.crawl.skip(SECOND + 1)
    assert await worker.frontier.politeness.acquire_address(replace(b, held_until_ms=1), "192.0.2.1") == 0


async def test_who_waits_for_an_address_comes_before_who_is_new(by_address, found):
    worker = by_address
    await worker.frontier.add([found(f"http://{host}.test/") for host in "abc"])
    a, b = (await worker.pages(3))[:2]
    assert await worker.frontier.politeness.acquire_address(a, "192.0.2.1") == 0
    wait = await worker.frontier.politeness.acquire_address(b, "192.0.2.1")
    assert await worker.frontier.postpone(b, wait)
    await worker.crawl.skip(wait - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    (again,) = await worker.take()
    assert again.url == b.url
    assert await worker.frontier.politeness.acquire_address(again, "192.0.2.1") == 0


@pytest.fixture
async def paced(worker):
    """A worker of a crawl that leaves a second between two requests to a host."""
    await worker.frontier.crawl.update_settings(replace(worker.frontier.crawl.settings, min_delay_ms=SECOND))
    return worker


async def test_turns_at_a_host_are_a_delay_apart_and_nobody_waits_behind_one_that_was_not_taken(paced):
    turn = paced.frontier.politeness.reserve_turn
    assert await turn("cdn.test", max_wait_ms=0) == 0
    assert await turn("cdn.test", max_wait_ms=500) == SECOND + 1
    assert await turn("cdn.test", max_wait_ms=5 * SECOND) == SECOND + 1
    assert await turn("cdn.test", max_wait_ms=5 * SECOND) == 2 * SECOND + 2
    assert await turn("other.test", max_wait_ms=0) == 0
    assert await turn("slow.test", max_wait_ms=0, delay_ms=MINUTE) == 0
    assert await turn("slow.test", max_wait_ms=0, delay_ms=MINUTE) == MINUTE + 1


async def test_the_delay_between_turns_begins_when_the_exchange_is_over(paced):
    assert await paced.frontier.politeness.reserve_turn("cdn.test", max_wait_ms=0) == 0
    await paced.crawl.skip(700)
    await paced.frontier.politeness.end_turn("cdn.test")
    assert await paced.frontier.politeness.reserve_turn("cdn.test", max_wait_ms=0) == SECOND + 1


async def test_no_lease_of_a_host_is_granted_within_a_turn_nor_a_turn_within_the_delay_of_a_lease(
    paced, found
):
    await paced.frontier.add(numbered(found, "a.test", 3))
    (first,) = await paced.pages(1, delay=SECOND)
    assert (
        await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0) == SECOND + 1
    )  # it is under way
    await paced.frontier.release([HostRelease(lease=first, elapsed_ms=0)])
    wait = await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=MINUTE)
    assert wait == SECOND + 1
    await paced.crawl.skip(wait)
    assert await paced.take(delay=SECOND) == []
    await paced.frontier.politeness.end_turn("a.test")
    await paced.crawl.skip(SECOND)
    assert await paced.take(delay=SECOND) == []
    await paced.crawl.skip(1)
    assert len(await paced.take(delay=SECOND)) == 1


async def test_whoever_leased_a_host_has_turns_at_it_and_lets_it_go_as_ever(paced, found):
    await paced.frontier.add(numbered(found, "a.test", 3))
    (first,) = await paced.pages(1, delay=SECOND)
    assert await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0, since_ms=300) == 700
    await paced.crawl.skip(700)
    assert await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0, since_ms=SECOND) == 0
    assert (
        await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0, since_ms=SECOND) == SECOND + 1
    )
    await paced.frontier.politeness.end_turn("a.test", has_lease=True)
    await paced.frontier.release([HostRelease(lease=first, elapsed_ms=0)])
    await paced.crawl.skip(SECOND + 1)
    assert len(await paced.take(delay=SECOND)) == 1


async def test_a_hold_of_a_host_applies_to_turns(paced, found):
    await paced.frontier.add([found("http://a.test/")])
    await paced.frontier.operator.hold("a.test", MINUTE)
    assert await paced.frontier.politeness.reserve_turn("a.test", max_wait_ms=0) == MINUTE + 1


async def test_turns_that_are_taken_ahead_of_their_time_are_owed(paced, found):
    """Once a delay, over the page, its burst, and the rest that follows."""
    await paced.frontier.add(numbered(found, "a.test", 3))
    (first,) = await paced.pages(1, delay=SECOND)
    turn = paced.frontier.politeness.reserve_turn
    for _ in range(5):
        assert await turn("a.test", max_wait_ms=0, since_ms=0, ahead=5) == 0
    assert await turn("a.test", max_wait_ms=0, since_ms=0, ahead=5) == SECOND
    assert await turn("a.test", max_wait_ms=0) == 6 * SECOND + 5  # who has no lease waits behind them
    await paced.frontier.politeness.end_turn("a.test", has_lease=True)
    await paced.frontier.release([HostRelease(lease=first, elapsed_ms=0)])
    await paced.crawl.skip(6 * SECOND + 4)
    assert await paced.take(delay=SECOND) == []
    await paced.crawl.skip(1)
    assert len(await paced.take(delay=SECOND)) == 1


async def test_who_asks_for_a_delay_has_no_turns_ahead_of_their_time(paced, found):
    for _ in range(2):
        waits = [
            await paced.frontier.politeness.reserve_turn(
                "a.test", max_wait_ms=0, since_ms=MINUTE, ahead=9, delay_ms=SECOND
            )
        ]
    assert waits == [SECOND + 1]
    assert await paced.frontier.politeness.reserve_turn("b.test", max_wait_ms=0) == 0
    assert (
        await paced.frontier.politeness.reserve_turn("b.test", max_wait_ms=0, ahead=9) == SECOND + 1
    )  # nor who has no lease


@pytest.mark.parametrize(("said", "rest"), [(0, 30 * SECOND), (7 * SECOND, 7 * SECOND)])
async def test_a_host_that_is_too_busy_for_a_part_is_left_alone(paced, found, said, rest):
    await paced.frontier.add(numbered(found, "a.test", 3))
    (first,) = await paced.pages(1, delay=SECOND)
    turn, end_turn = paced.frontier.politeness.reserve_turn, paced.frontier.politeness.end_turn
    for host in ("a.test", "cdn.test"):
        leased = host == "a.test"
        await end_turn(host, has_lease=leased, busy="status_429", hold_ms=said)
        assert await turn(host, max_wait_ms=0, since_ms=MINUTE if leased else None, ahead=100) == rest + 1
    await paced.settle([first])
    await paced.crawl.skip(rest)
    assert await paced.take(delay=SECOND) == []
    await paced.crawl.skip(1)
    assert len(await paced.take(delay=SECOND)) == 1


async def test_a_host_without_a_delay_is_left_alone_as_well(worker):
    assert worker.frontier.crawl.settings.min_delay_ms == 0
    assert await worker.frontier.politeness.reserve_turn("cdn.test", max_wait_ms=0) == 0
    await worker.frontier.politeness.end_turn("cdn.test", busy="status_503", hold_ms=5 * SECOND)
    assert await worker.frontier.politeness.reserve_turn("cdn.test", max_wait_ms=0) == 5 * SECOND + 1


async def test_a_postponed_page_is_the_first_of_its_host_again_and_was_not_tried(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    (page,) = await worker.pages(1)
    assert await worker.frontier.postpone(page, MINUTE)
    assert not await worker.frontier.postpone(page, MINUTE)
    assert await worker.settle([page]) == 0
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    again = await worker.take()
    assert texts(again) == [f"http://a.test/{i}" for i in range(3)]
    assert (again[0].attempt, again[0].held_until_ms) == (0, worker.crawl.clock.now)


@pytest.mark.parametrize("asked", [False, True])
async def test_a_host_that_may_have_been_asked_has_its_delay_also_where_the_lease_goes_back(
    worker, found, asked
):
    await worker.frontier.add(numbered(found, "a.test", 2))
    (page,) = await worker.pages(1, delay=MINUTE)
    before = (await worker.frontier.stats()).requests
    await worker.crawl.skip(5 * MINUTE)
    assert await worker.frontier.postpone(page, SECOND, has_sent_request=asked)
    assert (await worker.frontier.stats()).requests == before - (not asked)
    await worker.crawl.skip(SECOND + 1)
    assert len(await worker.take(delay=MINUTE)) == (not asked)
    await worker.crawl.skip(MINUTE)
    again = await worker.take(delay=MINUTE)
    assert len(again) == asked
    assert all(lease.attempt == 0 for lease in again)


async def test_an_exchange_that_took_place_is_not_postponed(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    (page,) = await worker.pages()
    await worker.frontier.release([HostRelease(lease=page)])
    assert not await worker.frontier.postpone(page, MINUTE)
    assert await worker.settle([page]) == 1
