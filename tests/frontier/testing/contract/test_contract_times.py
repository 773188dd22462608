"""When every frontier grants a lease: the delay of a host, and the time of the next lease."""

from tests.frontier.contract import HOUR, MINUTE, SECOND, numbered
from thresher.frontier import Fault, HostRelease, Kind, Outcome


async def test_a_lease_names_the_time_of_the_next(crawl, worker, found):
    assert (await worker.take()).soonest_ms is None
    await worker.frontier.add(numbered(found, "a.test", 2))
    (robots,) = await worker.take(delay=SECOND, lease_ms=MINUTE)
    assert (await worker.take(delay=SECOND)).soonest_ms == MINUTE
    await worker.allow(robots)
    assert (await worker.take(delay=SECOND)).soonest_ms == SECOND + 1
    await crawl.skip(SECOND + 1)
    (page,) = await worker.take(1, delay=SECOND)
    assert await worker.frontier.release([HostRelease(lease=page)]) == SECOND + 1
    await crawl.skip(400)
    none = await worker.take(delay=SECOND)
    assert (none, none.soonest_ms) == ([], SECOND - 399)
    await crawl.skip(SECOND - 399)
    assert len(await worker.take(delay=SECOND)) == 1


async def test_what_is_tried_again_has_a_time_and_what_is_full_may_have_more(crawl, worker, found):
    await worker.frontier.add([found(f"http://{host}.test/") for host in "abc"])
    granted = await worker.take(2)
    assert granted.soonest_ms == 0
    pages = await worker.pages()
    for lease in granted:
        await worker.allow(lease)
    pages += await worker.pages()
    await worker.settle(pages, Outcome.RETRY, retry_after_ms=7 * SECOND)
    assert (await worker.take()).soonest_ms == 7 * SECOND
    await crawl.skip(7 * SECOND)
    assert len(await worker.take()) == 3


async def test_behind_a_shut_gate_nothing_has_a_time(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    await worker.frontier.backlog.report(follower="p", backlog=2, limit=1)
    assert (await worker.take()).soonest_ms is None


async def test_a_host_is_asked_again_when_its_delay_is_over_and_no_sooner(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    (page,) = await worker.pages(delay=5 * SECOND)
    await worker.crawl.skip(MINUTE + 1)
    assert await worker.take(delay=5 * SECOND) == []
    await worker.frontier.release([HostRelease(lease=page)])
    await worker.crawl.skip(5 * SECOND - 1)
    assert await worker.take(delay=5 * SECOND) == []
    await worker.crawl.skip(2)
    assert len(await worker.take(delay=5 * SECOND)) == 1


async def test_the_slower_of_the_crawls_delay_and_the_rules_wins(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    (robots,) = await worker.take(delay=5 * SECOND)
    await worker.allow(robots, delay=9 * SECOND)
    await worker.crawl.skip(9 * SECOND - 1)
    assert await worker.take(delay=5 * SECOND) == []
    await worker.crawl.skip(2)
    assert len(await worker.take(delay=5 * SECOND)) == 1


async def test_rules_of_before_that_stand_for_an_answer_that_failed_count_as_the_fault(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    (robots,) = await worker.take()
    settled = {"rule": "rules", "body": b"x", "ttl_ms": HOUR, "delay_ms": None}
    await worker.frontier.origins.settle_robots(robots, **settled, fault=Fault.BUSY, hold_ms=7 * SECOND)
    assert (await worker.stats()).held == 1
    assert await worker.take() == []
    await worker.crawl.skip(8 * SECOND)
    (page,) = await worker.take()
    assert (page.kind, page.robots_version) == (Kind.PAGE, 1)


async def test_robots_rules_that_ask_for_less_than_before_are_obeyed_but_of_no_other_origin(worker, found):
    await worker.frontier.add([found("http://a.test/1"), found("https://a.test/1"), found("http://a.test/2")])
    (robots,) = await worker.take()
    await worker.allow(robots, delay=9 * SECOND, ttl=0)
    await worker.crawl.skip(9 * SECOND + 1)
    (robots,) = await worker.take()
    await worker.frontier.release([HostRelease(lease=robots)])
    await worker.allow(robots, delay=2 * SECOND)
    await worker.crawl.skip(9 * SECOND + 1)
    await worker.settle(await worker.take())
    await worker.crawl.skip(2 * SECOND + 1)
    (robots,) = await worker.take()
    assert robots.url.text == "https://a.test/robots.txt"
    await worker.allow(robots, delay=SECOND)
    await worker.crawl.skip(2 * SECOND - 1)
    assert await worker.take() == []
    await worker.crawl.skip(2)
    assert len(await worker.take()) == 1


async def test_a_host_that_takes_long_is_left_alone_for_twice_as_long(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    (page,) = await worker.pages(delay=SECOND)
    await worker.frontier.release([HostRelease(lease=page, elapsed_ms=4 * SECOND)])
    await worker.crawl.skip(8 * SECOND - 1)
    assert await worker.take(delay=SECOND) == []
    await worker.crawl.skip(2)
    (page,) = await worker.take(delay=SECOND)
    # Smoothed, an eighth of the newest; never more than half a minute.
    await worker.frontier.release([HostRelease(lease=page, elapsed_ms=600 * SECOND)])
    await worker.crawl.skip(30 * SECOND - 1)
    assert await worker.take(delay=SECOND) == []
    await worker.crawl.skip(2)
    assert len(await worker.take(delay=SECOND)) == 1


async def test_a_host_without_a_delay_has_sixteen_exchanges_open_however_long_it_takes(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 40))
    leases = await worker.pages()
    assert len(leases) == 16
    await worker.frontier.release([HostRelease(lease=lease, elapsed_ms=MINUTE) for lease in leases[:3]])
    assert len(await worker.take()) == 3


async def test_a_page_that_is_not_asked_for_costs_no_delay(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 5))
    (page,) = await worker.pages(delay=MINUTE)
    await worker.frontier.release([HostRelease(lease=page)])
    await worker.settle([page])
    await worker.crawl.skip(MINUTE + 1)
    for _ in range(3):
        (page,) = await worker.take(delay=MINUTE)
        await worker.frontier.release([HostRelease(lease=page, has_sent_request=False)])
        await worker.settle([page], Outcome.REFUSED, reason="robots")
    (page,) = await worker.take(delay=MINUTE)
    await worker.frontier.release([HostRelease(lease=page)])
    await worker.settle([page])
    await worker.frontier.add(numbered(found, "a.test", 6))
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.take(delay=MINUTE) == []
