"""What every frontier does about a host that fails: it rests, and in the end it is dead."""

import pytest

from tests.frontier.contract import DAY, HOUR, MINUTE, SECOND, numbered
from tests.frontier.testing.contract.deaths import KINDS, fail_until_dead
from thresher.frontier import Fault, HostRelease, Outcome


@pytest.mark.parametrize(
    ("fault", "times", "wait"),
    [
        (Fault.DNS, 1, MINUTE),
        (Fault.CONNECT, 1, MINUTE),
        (Fault.RESET, 3, MINUTE // 2),
        (Fault.TIMEOUT, 2, MINUTE // 2),
        (Fault.TLS, 3, MINUTE),
        (Fault.BUSY, 1, MINUTE // 2),
        (Fault.SERVER, 5, MINUTE),
        (Fault.FORBIDDEN, 8, 5 * MINUTE),
    ],
)
async def test_faults_in_a_row_open_the_circuit_and_an_answer_closes_it(worker, found, fault, times, wait):
    await worker.frontier.add(numbered(found, "a.test", 40))
    await worker.settle(await worker.pages(1))
    for doubled in (wait, 2 * wait):
        assert (await worker.stats()).held == (doubled > wait)
        for _ in range(times if doubled == wait else 1):
            await worker.crawl.skip(SECOND + 1)
            (page,) = await worker.take(1, delay=SECOND)
            await worker.settle([page], Outcome.FAILED, fault=fault)
        assert (await worker.stats()).held == 1
        await worker.crawl.skip(doubled - 1)
        assert await worker.take(delay=SECOND) == []
        await worker.crawl.skip(2)
    (probe,) = await worker.take()
    await worker.settle([probe])
    assert (await worker.stats()).held == 0
    assert len(await worker.take()) == 16


@pytest.mark.parametrize(
    ("delay", "waits"),
    [
        (5 * SECOND, (MINUTE, 2 * MINUTE, HOUR)),
        (500, (30_000, MINUTE, HOUR // 2)),
        (0, (2_000, 4_000, 2 * MINUTE)),
    ],
)
async def test_rests_that_nobody_asked_for_are_shorter_where_hosts_are_asked_sooner(
    worker, found, delay, waits
):
    await worker.frontier.add(numbered(found, "a.test", 40))
    await worker.settle(await worker.pages(1, delay=delay))
    first, second, longest = waits
    for wait in (first, second, *(min(first * 2**n, longest) for n in range(2, 7))):
        await worker.crawl.skip(delay + 1)
        (page,) = await worker.take(1, delay=delay)
        await worker.settle([page], Outcome.FAILED, fault=Fault.CONNECT)
        await worker.crawl.skip(wait - 1)
        assert await worker.take(delay=delay) == []
        await worker.crawl.skip(2)


async def test_a_page_that_is_tried_again_waits_for_less_where_hosts_are_asked_sooner(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    await worker.settle(await worker.pages(), Outcome.RETRY)
    await worker.crawl.skip(SECOND - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    await worker.settle(await worker.take(), Outcome.RETRY, retry_after_ms=MINUTE)
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    assert len(await worker.take()) == 1


async def test_a_robots_txt_that_cannot_be_had_is_asked_for_later_each_time(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    for wait in (30 * SECOND, MINUTE, 2 * MINUTE):
        (robots,) = await worker.take(delay=SECOND)
        await worker.frontier.origins.retry_robots(robots, after_ms=None)
        await worker.crawl.skip(wait - 1)
        assert await worker.take(delay=SECOND) == []
        await worker.crawl.skip(2)


async def test_a_host_that_refuses_now_and_then_is_asked_on_and_none_dies_of_it(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 60))
    await worker.settle(await worker.pages(1))
    for _ in range(3):
        for _ in range(7):
            await worker.settle(await worker.take(1), fault=Fault.FORBIDDEN)
        await worker.settle(await worker.take(1))
    assert (await worker.stats()).held == 0
    for _ in range(24):
        await worker.crawl.skip(HOUR)
        await worker.settle(await worker.take(1), fault=Fault.FORBIDDEN)
    stats = await worker.stats()
    assert (stats.held, stats.dead) == (1, 0)


async def test_to_be_refused_is_an_answer_and_no_fault_beside_others(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 60))
    await worker.settle(await worker.pages(1))
    for _ in range(4):
        await worker.settle(await worker.take(1), Outcome.RETRY, fault=Fault.TIMEOUT)
        await worker.settle(await worker.take(1), fault=Fault.FORBIDDEN)
    assert (await worker.stats()).held == 0
    await worker.settle(await worker.take(1), Outcome.RETRY, fault=Fault.CONNECT)
    assert (await worker.stats()).held == 1
    await worker.crawl.skip(MINUTE)
    await worker.settle(await worker.take(1), fault=Fault.FORBIDDEN)
    assert (await worker.stats()).held == 0


async def test_the_faults_of_what_was_under_way_when_the_circuit_opened_count_as_one(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 30))
    await worker.settle(await worker.pages(), Outcome.FAILED, fault=Fault.CONNECT)
    stats = await worker.stats()
    assert (stats.waiting, stats.held, stats.dead) == (14, 1, 0)
    await worker.crawl.skip(2 * SECOND + 1)
    await worker.settle(await worker.take(), Outcome.FAILED, fault=Fault.CONNECT)
    await worker.crawl.skip(4 * SECOND - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    assert len(await worker.take()) == 1


async def test_a_server_that_says_how_long_is_left_alone_for_that_long(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.settle(await worker.pages(1), Outcome.FAILED, fault=Fault.BUSY, hold_ms=2 * HOUR)
    await worker.crawl.skip(2 * HOUR - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    assert len(await worker.take()) == 1


async def test_a_host_that_never_answered_is_dead_at_the_third_opening_of_its_circuit(worker, found):
    await worker.frontier.add([*numbered(found, "a.test", 20), found("http://b.test/")])
    for robots in await worker.take():
        await worker.frontier.origins.retry_robots(
            robots, after_ms=0, fault=Fault.CONNECT if robots.url.host == "a.test" else None
        )
    for _ in range(2):
        assert (await worker.stats()).dead == 0
        await worker.crawl.skip(HOUR + 1)
        (robots,) = [lease for lease in await worker.take() if lease.url.host == "a.test"]
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=Fault.CONNECT)
    stats = await worker.stats()
    assert (stats.dead, stats.waiting, stats.reasons) == (1, 1, {"failed:dead_connect": 20})
    more = await worker.frontier.add([found("http://a.test/new"), found("http://b.test/new")])
    assert (more.added, more.discarded) == (1, {"dead_connect": 1})


@pytest.mark.parametrize(("reason", "fault", "died"), KINDS)
async def test_a_dead_host_says_of_what_kind_of_fault_it_died(worker, found, reason, fault, died):
    await worker.frontier.add(numbered(found, "a.test", 2))
    while not (await worker.stats()).dead:
        (robots,) = await worker.take()
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=fault, reason=reason)
        await worker.crawl.skip(HOUR + 1)
    assert (await worker.stats()).reasons == {f"failed:{died}": 2}
    assert (await worker.frontier.add([found("http://a.test/new")])).discarded == {died: 1}


async def test_a_dead_host_that_is_busy_afterwards_says_what_it_died_of(worker, found):
    """A part of a page may be asked of a host that is dead as a host of pages."""
    await worker.frontier.add(numbered(found, "a.test", 2))
    while not (await worker.stats()).dead:
        (robots,) = await worker.take()
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=Fault.TLS)
        await worker.crawl.skip(HOUR + 1)
    for _ in range(2):
        await worker.frontier.politeness.end_turn("a.test", busy="status_429")
        await worker.crawl.skip(HOUR + 1)
    assert (await worker.frontier.add([found("http://a.test/new")])).discarded == {"dead_tls": 1}
    assert (await worker.stats()).dead == 1


async def test_a_host_that_answered_once_dies_at_the_eighth(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    assert await fail_until_dead(worker) == 8
    assert (await worker.stats()).reasons == {"failed:dead_connect": 12}


async def test_what_fails_without_an_exchange_says_nothing_of_its_host(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    await worker.settle(await worker.pages(1), Outcome.FAILED, fault=Fault.CONNECT)
    await worker.crawl.skip(MINUTE + 1)
    await worker.settle(await worker.take(), Outcome.REFUSED, reason="robots")
    await worker.settle(await worker.take(), Outcome.FAILED, reason="too_long")
    assert (await worker.stats()).held == 1


async def test_a_dead_host_that_is_resumed_lives(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    await fail_until_dead(worker)
    assert await worker.frontier.operator.resume("a.test")
    stats = await worker.stats()
    assert (stats.dead, stats.held) == (0, 0)
    assert (await worker.frontier.add([found("http://a.test/new")])).added == 1
    assert len(await worker.pages()) == 1


async def test_what_comes_back_to_a_dead_host_has_failed(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    later, expired = await worker.pages(2, lease_ms=DAY)
    await worker.settle([later], Outcome.RETRY, retry_after_ms=DAY, fault=Fault.TIMEOUT)
    await worker.frontier.release([HostRelease(lease=expired)])
    failed = await fail_until_dead(worker)
    await worker.crawl.skip(2 * DAY)
    assert await worker.take() == []
    stats = await worker.stats()
    assert (stats.is_drained, stats.reasons) == (True, {"failed:dead_connect": 20 - failed})
