"""Leases end once: settled, expired, reclaimed, or tried again."""

from tests.expect import expect
from tests.frontier.fixed_clock import Crawl
from tests.frontier.settlements import over, settled
from thresher.frontier import Frontier, Kind, Outcome, RobotsRecord

HOUR = 3_600_000


async def test_a_settlement_adds_what_was_found_and_ends_the_lease(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    (lease,) = await grants(frontier).pages()
    links = (found("http://a.test/"), found("http://a.test/1", depth=1), found("http://b.test/", depth=1))
    assert await frontier.settle(settled([lease], discoveries=links, reason="html")) == 1
    stats = await frontier.stats()
    assert (stats.seen, stats.waiting, stats.leased, stats.hosts) == (3, 2, 0, 2)
    assert {outcome: n for outcome, n in stats.outcomes.items() if n} == {"fetched": 1}
    assert stats.reasons == {"fetched:html": 1}


async def test_a_redirect_is_a_discovery_of_its_own(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier)
    leases = await worker.pages()
    await frontier.settle(
        settled(leases, Outcome.REDIRECTED, discoveries=(found("https://a.test/", hops=1),))
    )
    (robots,) = await worker.take()
    assert robots.url.text == "https://a.test/robots.txt"
    await worker.allow(robots)
    (target,) = await worker.take()
    assert (target.url.text, target.hops) == ("https://a.test/", 1)
    await frontier.settle(settled([target], Outcome.REDIRECTED, discoveries=(found("http://a.test/"),)))
    assert (await frontier.stats()).is_drained


async def test_settling_twice_changes_nothing(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    leases = await grants(frontier).pages()
    settlement = settled(leases, discoveries=(found("http://b.test/"),))
    assert await frontier.settle(settlement * 2) == 1
    before = await frontier.stats()
    assert await frontier.settle(settled(leases, Outcome.FAILED)) == 0
    await frontier.release(over(leases))
    await frontier.renew(leases, HOUR)
    assert await frontier.stats() == before


async def test_what_a_late_settlement_found_is_no_less_found(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    leases = await grants(frontier).pages()
    await frontier.workers.reclaim("w")
    assert await frontier.settle(settled(leases, discoveries=(found("http://a.test/1"),))) == 0
    stats = await frontier.stats()
    assert (stats.seen, stats.waiting, stats.outcomes["fetched"]) == (2, 2, 0)


async def test_a_robots_lease_is_settled_once_and_by_its_own_verb(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier)
    (robots,) = await worker.take()
    assert await frontier.settle(settled([robots])) == 0
    await worker.allow(robots)
    await frontier.origins.settle_robots(robots, rule="disallow", body=b"", ttl_ms=HOUR, delay_ms=HOUR)
    await frontier.origins.retry_robots(robots, after_ms=HOUR)
    assert expect(RobotsRecord, await frontier.origins.robots("http://a.test")).rule == "allow"
    (page,) = await worker.take()
    await frontier.origins.settle_robots(page, rule="disallow", body=b"", ttl_ms=HOUR, delay_ms=None)
    assert (await frontier.stats()).leased == 1


async def test_an_expired_lease_is_granted_again_and_the_first_token_is_stale(crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    (first,) = await grants(frontier, "first", lease_ms=30).pages()
    await crawl.skip(30)
    (second,) = await grants(frontier, "second").take()
    assert second.url == first.url
    assert second.token > first.token
    assert second.attempt == 0
    assert await frontier.settle(settled([first], Outcome.FAILED, reason="late")) == 0
    assert await frontier.settle(settled([second])) == 1
    assert (await frontier.stats()).outcomes["failed"] == 0


async def test_an_expired_host_waits_its_delay_from_the_deadline(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/")])
    (dead,) = await grants(frontier, lease_ms=30, delay_ms=120).take()
    worker = grants(frontier, delay_ms=120)
    again = await worker.first()
    assert again.deadline_ms - worker.lease_ms >= dead.deadline_ms + 120


async def test_a_renewed_lease_does_not_expire(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    leases = await grants(frontier, lease_ms=40).pages()
    await frontier.renew(leases, HOUR)
    await crawl.skip(60)
    assert await grants(frontier).take() == []
    assert await frontier.settle(settled(leases)) == 1


async def test_a_page_that_outlives_five_deadlines_is_failed(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    await grants(frontier).allow((await grants(frontier).take())[0])
    worker = grants(frontier, lease_ms=1)
    for _ in range(5):
        assert len(await worker.take()) == 1
        await crawl.skip(1)
    assert await worker.take() == []
    stats = await frontier.stats()
    assert stats.reasons == {"failed:lease_expired": 1}
    assert stats.is_drained


async def test_a_robots_txt_that_outlives_five_deadlines_forbids_its_origin(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier, lease_ms=1)
    for _ in range(5):
        assert [lease.kind for lease in await worker.take()] == [Kind.ROBOTS]
        await crawl.skip(1)
    assert [lease.kind for lease in await worker.take()] == [Kind.PAGE]
    assert expect(RobotsRecord, await frontier.origins.robots("http://a.test")).rule == "disallow"


async def test_a_dead_workers_leases_go_back_at_once(frontier, found, grants):
    await frontier.add([found(f"http://{host}.test/") for host in "abc"])
    worker = grants(frontier, "doomed\tname")
    await worker.allow((await worker.take(1))[0])
    held = await worker.take()
    assert {lease.kind for lease in held} == {Kind.PAGE, Kind.ROBOTS}
    assert await frontier.workers.leases(worker.worker) == sorted(held, key=lambda lease: lease.token)
    assert await frontier.workers.leases("other") == []
    assert await frontier.workers.reclaim("other") == 0
    assert await frontier.workers.reclaim(worker.worker) == 3
    assert await frontier.workers.leases(worker.worker) == []
    assert await frontier.settle(settled(held)) == 0
    assert len(await grants(frontier, "next").pages()) == 3


async def test_a_reclaimed_host_waits_its_delay(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier, delay_ms=80)
    await worker.take()
    await frontier.workers.reclaim("w")
    assert await worker.take() == []
    await crawl.skip(81)
    assert len(await worker.take()) == 1


async def test_a_retried_page_waits_and_comes_back_as_the_next_attempt(crawl: Crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/")])
    worker = grants(frontier)
    for attempt in range(2):
        (lease,) = await worker.pages()
        assert lease.attempt == attempt
        again = settled([lease], Outcome.RETRY, reason="timeout", retry_after_ms=30)
        assert await frontier.settle(again) == 1
        assert ((await frontier.stats()).later, await worker.take()) == (1, [])
        await crawl.skip(30)
    (last,) = await worker.pages()
    await frontier.settle(settled([last], Outcome.RETRY, reason="timeout", retry_after_ms=0))
    stats = await frontier.stats()
    assert stats.is_drained
    assert stats.reasons == {"failed:timeout": 1}


async def test_without_a_time_a_retry_waits_a_second_where_hosts_have_no_delay(crawl: Crawl, found, grants):
    await crawl.frontier.add([found("http://a.test/")])
    await crawl.frontier.settle(settled(await grants(crawl.frontier).pages(), Outcome.RETRY))
    await crawl.skip(999)
    assert await grants(crawl.frontier).take() == []
    await crawl.skip(1)
    assert len(await grants(crawl.frontier).take()) == 1


async def test_no_page_is_granted_beyond_the_limit(frontier: Frontier, found, grants):
    await frontier.add([found(f"http://{host}.test/{i}") for host in "ab" for i in range(5)])
    worker = grants(frontier)
    leases = await worker.pages(max_pages=3)
    assert len(leases) == 3
    await frontier.settle([*settled(leases[:1]), *settled(leases[1:], Outcome.REFUSED, reason="robots")])
    assert len(await worker.pages(max_pages=3)) == 2
    assert await worker.take(max_pages=0) == []
