"""How a lease ends in every frontier: settled, late, tried again, expired, or lost with its worker."""

from tests.frontier.contract import HOUR, MINUTE, SECOND, Worker, numbered, texts
from thresher.frontier import Kind, Outcome
from thresher.frontier.request_state import RequestState

OF_THE_SEED, OF_THE_FIRST_VISIT = RequestState(etag="seed"), RequestState(etag="first")


async def test_settling_twice_changes_nothing(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    leases = await worker.pages()
    assert await worker.settle(leases * 2) == 1
    before = await worker.stats()
    assert await worker.settle(leases, Outcome.FAILED) == 0
    await worker.frontier.renew(leases, HOUR)
    assert await worker.stats() == before


async def test_what_a_late_settlement_found_is_no_less_found(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    leases = await worker.pages()
    await worker.frontier.workers.reclaim("w")
    assert await worker.settle(leases, discoveries=(found("http://b.test/"),)) == 0
    assert (await worker.stats()).seen == 2


async def test_a_page_is_tried_three_times_later_each_time(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    for attempt, wait in enumerate((30 * SECOND, 60 * SECOND)):
        (lease,) = await worker.pages(delay=SECOND)
        assert lease.attempt == attempt
        await worker.settle([lease], Outcome.RETRY, reason="timeout")
        await worker.crawl.skip(wait - 1)
        assert (await worker.take(), (await worker.stats()).later) == ([], 1)
        await worker.crawl.skip(2)
    await worker.settle(await worker.pages(), Outcome.RETRY, reason="timeout")
    assert (await worker.stats()).reasons == {"failed:timeout": 1}


async def test_a_page_of_a_worker_that_died_comes_back_though_the_limit_counts_it(crawl, found):
    await crawl.frontier.add([found(f"http://{name}.test/") for name in "abcd"])
    assert len(await Worker(crawl, "dies").pages(lease_ms=SECOND, max_pages=4)) == 4
    await crawl.skip(SECOND)
    lives = Worker(crawl, "lives")
    await lives.pages(max_pages=4)
    await lives.pages(max_pages=4)
    assert len(await crawl.frontier.workers.leases("lives")) == 4


async def test_what_expires_together_goes_back_in_its_order(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 12))
    order = texts(await worker.pages(9, lease_ms=SECOND))
    await worker.crawl.skip(SECOND)
    assert texts(await worker.take(9)) == order


async def test_what_is_reclaimed_together_goes_back_in_its_order(worker, found):
    long = "and a path that is not short at all, so that the server keeps leases in no order of its own"
    await worker.frontier.add([found(f"http://a.test/{i}/{long}") for i in range(16)])
    order = texts(await worker.pages())
    assert await worker.frontier.workers.reclaim("w") == 16
    assert texts(await worker.take()) == order


async def test_the_next_visit_is_told_what_the_last_one_noted(worker, found):
    await worker.frontier.add([found("http://a.test/", interval_s=10_000, state=OF_THE_SEED)])
    (lease,) = await worker.pages()
    assert lease.state == OF_THE_SEED
    await worker.settle([lease], next_state=OF_THE_FIRST_VISIT)
    await worker.crawl.skip(12_000 * SECOND)
    (lease,) = await worker.pages()
    assert lease.state == OF_THE_FIRST_VISIT


async def test_a_page_is_visited_again_sooner_where_it_has_changed_and_later_where_not(worker, found):
    await worker.frontier.add([found("http://a.test/", interval_s=10_000)])
    for outcome, wait in ((Outcome.FETCHED, 8_000), (Outcome.UNCHANGED, 11_200)):
        await worker.settle(await worker.pages(), outcome)
        stats = await worker.stats()
        assert (stats.scheduled, stats.is_drained) == (1, True)
        await worker.crawl.skip((wait - 60) * SECOND)
        assert await worker.take() == []
        await worker.crawl.skip(120 * SECOND)
    await worker.settle(await worker.pages(), Outcome.GONE)
    stats = await worker.stats()
    assert (stats.scheduled, stats.seen, stats.is_drained) == (0, 3, True)


async def test_a_page_that_was_held_at_five_crashes_has_failed(worker, found):
    await worker.frontier.add([found("http://a.test/"), found("http://b.test/", notify=True)])
    (await worker.pages())  # robots rules are there from now on
    for crash in range(5):
        assert (await worker.stats()).reasons == {}
        assert await worker.frontier.workers.reclaim("w", has_crashed=True) == 2
        held = await worker.take()
        assert {lease.is_recovered for lease in held} == {True}
        assert len(held) == (2 if crash < 4 else 1)
    assert (await worker.stats()).reasons == {"failed:lease_expired": 1}
    assert held[0].failure == "failed:lease_expired"


async def test_what_is_not_a_crash_counts_for_no_page(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    await worker.pages()
    for _ in range(9):
        await worker.frontier.workers.reclaim("w", is_worker_dead=True)
        assert len(await worker.take()) == 1


async def test_a_robots_txt_that_was_held_at_five_crashes_forbids_its_origin_for_an_hour(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    for crash in range(5):
        (lease,) = await worker.take()
        assert (lease.kind, lease.is_recovered) == (Kind.ROBOTS, crash > 0)
        await worker.frontier.workers.reclaim("w", has_crashed=True)
    (page,) = await worker.take()
    assert page.kind is Kind.PAGE
    record = await worker.frontier.origins.robots("http://a.test")
    assert (record.rule, record.body) == ("disallow", b"lease_expired")
    await worker.frontier.postpone(page, HOUR)
    await worker.crawl.skip(HOUR + SECOND)
    (again,) = await worker.take()
    assert (again.kind, again.is_recovered) == (Kind.ROBOTS, True)  # who reads it next is warned


async def test_a_robots_txt_that_cannot_be_had_meanwhile_is_held_at_as_many_crashes(worker, found):
    """A server that kills, fails, and kills again comes to the same end."""
    await worker.frontier.add([found("http://a.test/")])
    for _ in range(5):
        (lease,) = await worker.take()
        assert lease.kind is Kind.ROBOTS
        await worker.frontier.origins.retry_robots(lease, after_ms=SECOND)
        await worker.crawl.skip(MINUTE)
        (lease,) = await worker.take()
        await worker.frontier.workers.reclaim("w", has_crashed=True)
    assert (await worker.frontier.origins.robots("http://a.test")).body == b"lease_expired"


async def test_a_robots_txt_that_was_read_is_not_recovered(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    await worker.take()
    await worker.frontier.workers.reclaim("w", is_worker_dead=True)
    (lease,) = await worker.take()
    assert lease.is_recovered
    await worker.frontier.origins.settle_robots(lease, rule="allow", body=b"", ttl_ms=SECOND, delay_ms=None)
    await worker.crawl.skip(MINUTE)
    (lease,) = await worker.take()
    assert (lease.kind, lease.is_recovered) == (Kind.ROBOTS, False)
