"""Settled pages can be requested again, and pages that a lost frontier had settled can be settled anew."""

from dataclasses import replace

from tests.frontier import contract
from tests.frontier.contract import HOUR, numbered
from thresher.frontier import Budget, Fault, Kind, Outcome, RestoredPage
from thresher.frontier.request_state import RequestState

budget, crawl, policy, worker = contract.budget, contract.crawl, contract.policy, contract.worker


async def test_a_url_that_comes_in_a_generation_first_is_known_without_one(worker, found):
    assert (await worker.frontier.add([found("http://a.test/1", generation=3)])).added == 1
    assert (await worker.frontier.add([found("http://a.test/1")])).known == 1


async def test_a_url_that_waits_once_more_counts_once_in_its_budgets(worker, found):
    await worker.frontier.crawl.update_settings(
        replace(worker.frontier.crawl.settings, budget=Budget(host=2, domain=2))
    )
    first = numbered(found, "a.test", 2)
    await worker.frontier.add(first)
    for generation in (5, 6):
        again = [replace(page, generation=generation) for page in first]
        assert (await worker.frontier.add(again)).added == 2
    refused = await worker.frontier.add([found("http://a.test/3", generation=7)])
    assert refused.discarded == {"host_budget": 1}
    await worker.frontier.crawl.update_settings(
        replace(worker.frontier.crawl.settings, budget=Budget(host=3, domain=3))
    )
    assert (await worker.frontier.add([found("http://a.test/3")])).added == 1


async def test_a_host_that_was_given_up_is_asked_once_more_by_who_revives_it(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    for _ in range(3):
        (robots,) = await worker.take()
        await worker.frontier.origins.retry_robots(robots, after_ms=None, fault=Fault.CONNECT)
        await worker.crawl.skip(HOUR)
    assert (await worker.stats()).dead == 1
    again = [replace(page, generation=1) for page in numbered(found, "a.test", 2)]
    assert (await worker.frontier.add(again)).discarded == {"dead_connect": 2}
    assert (await worker.frontier.add(again, revive=True)).added == 2
    assert (await worker.stats()).dead == 0
    assert len(await worker.pages()) == 2


async def test_the_rules_of_an_origin_that_was_given_up_are_read_anew_by_who_revives_it(worker, found):
    await worker.frontier.add([found("http://a.test/1")])
    (robots,) = await worker.take()
    await worker.frontier.origins.settle_robots(robots, rule="disallow", body=b"", ttl_ms=HOUR, delay_ms=None)
    (page,) = await worker.take()
    await worker.settle([page], Outcome.FAILED, reason="robots_unreachable")
    await worker.frontier.add([found("http://a.test/1", generation=1)])
    assert [lease.kind for lease in await worker.take()] == [Kind.PAGE]
    await worker.frontier.add([found("http://a.test/1", generation=2)], revive=True)
    (robots,) = await worker.take()
    assert (robots.kind, robots.robots_version) == (Kind.ROBOTS, 1)


async def test_a_lease_says_what_led_to_its_url(worker, found):
    referrers = ["", "http://a.test/", "http://a.test/x/y?z", "https://b.test/é", "http://a.test/1/2/3"]
    await worker.frontier.add(
        [found(f"http://a.test/x/{i}", referrer=referrer) for i, referrer in enumerate(referrers)]
    )
    assert [lease.referrer for lease in await worker.pages()] == referrers


async def test_what_is_restored_is_settled_and_known(worker, found):
    page, again = found("http://a.test/1"), found("http://a.test/1", generation=7)
    before = [
        RestoredPage(discovery=page, outcome=Outcome.FETCHED, reason="status_403"),
        RestoredPage(discovery=again, outcome=Outcome.FAILED, reason="dns"),
        RestoredPage(discovery=found("http://b.test/2"), outcome=Outcome.GONE, reason=""),
    ]
    assert await worker.frontier.rebuild.restore(before) == [True, True, True]
    assert await worker.frontier.rebuild.restore(before) == [False, False, False]
    assert (await worker.frontier.add([page, again, found("http://b.test/2")])).known == 3
    stats = await worker.stats()
    assert (stats.seen, stats.hosts, stats.waiting) == (3, 2, 0)
    assert (stats.outcomes["fetched"], stats.outcomes["failed"], stats.outcomes["gone"]) == (1, 1, 1)
    assert stats.reasons == {"fetched:status_403": 1, "failed:dns": 1}
    assert stats.is_drained


async def test_what_is_known_is_told(worker, found):
    pages = [found("http://a.test/1"), found("http://b.test/1", generation=3)]
    await worker.frontier.add(pages)
    others = [found("http://a.test/2"), found("http://c.test/1")]
    told = await worker.frontier.knows([page.url for page in (*pages, *others, *pages)])
    assert told == [True, True, False, False, True, True]


async def test_nothing_is_leased_of_a_frontier_that_is_being_made_from_its_archive(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 2))
    assert await worker.frontier.rebuild.start() == set()
    await worker.frontier.rebuild.mark_done("one")
    assert await worker.pages() == []
    assert (await worker.frontier.open()).rebuild.is_running
    assert await worker.frontier.rebuild.start() == {"one"}
    await worker.frontier.rebuild.finish()
    assert len(await worker.pages()) == 2
    assert not (await worker.frontier.open()).rebuild.is_running
    assert await worker.frontier.rebuild.start() == set()


async def test_what_waits_already_stays_as_it_is_where_it_is_restored(worker, found):
    await worker.frontier.add([found("http://a.test/1")])
    old = RestoredPage(discovery=found("http://a.test/1"), outcome=Outcome.FETCHED, reason="")
    assert await worker.frontier.rebuild.restore([old]) == [False]
    assert (await worker.stats()).waiting == 1


async def test_a_restored_page_is_visited_again_when_it_was_to_be(worker, found):
    page = found("http://a.test/1", interval_s=3600)
    old = RestoredPage(
        discovery=page,
        outcome=Outcome.UNCHANGED,
        reason="",
        next_visit=replace(page, interval_s=5000, state=RequestState(etag="etag")),
        due_in_ms=HOUR,
    )
    await worker.frontier.rebuild.restore([old])
    assert (await worker.stats()).scheduled == 1
    assert await worker.pages() == []
    await worker.crawl.skip(HOUR + 1)
    (lease,) = await worker.pages()
    assert (lease.interval_s, lease.state) == (5000, RequestState(etag="etag"))
