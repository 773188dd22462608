"""An operator sees which hosts are held, why and for how long, and where a URL is."""

import pytest

from tests.frontier import contract
from tests.frontier.contract import HOUR, MINUTE, SECOND, numbered
from thresher.core import InputError
from thresher.frontier import (
    Fault,
    Hold,
    HostState,
    HostSwitch,
    Kind,
    Outcome,
    Scope,
    UrlPolicy,
    UrlState,
    canonicalize,
)

budget, crawl, policy, worker = contract.budget, contract.crawl, contract.policy, contract.worker


async def resting(frontier):
    return {host.host: host async for host in frontier.inspection.hosts(is_held=True)}


async def every(frontier):
    return {host.host: host async for host in frontier.inspection.hosts()}


async def test_a_host_that_may_be_asked_rests_for_no_reason(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.pages(1)
    assert await resting(worker.frontier) == {}
    assert await every(worker.frontier) == {
        "a.test": HostState(
            host="a.test", waiting=2, open=1, delay_ms=0, rest=None, origins=(), dead_reason=""
        )
    }


@pytest.mark.parametrize(
    ("ended", "reason", "ms"),
    [
        ({"fault": Fault.CONNECT, "reason": "refused"}, "refused", 2 * SECOND),
        ({"fault": Fault.DNS, "reason": "dns"}, "dns", 2 * SECOND),
        ({"fault": Fault.BUSY, "reason": "status_503", "hold_ms": 2 * HOUR}, "status_503", 2 * HOUR),
        ({"fault": Fault.BUSY, "reason": "block_page"}, "block_page", SECOND),
        ({"fault": Fault.BUSY, "reason": "anything_new"}, "busy", SECOND),
    ],
)
async def test_a_fault_holds_its_host_and_says_why_and_until_when(worker, found, ended, reason, ms):
    await worker.frontier.add(numbered(found, "a.test", 2))
    await worker.settle(await worker.pages(1), Outcome.RETRY, **ended)
    (host,) = (await resting(worker.frontier)).values()
    # The clock stands; what ends now ends a millisecond later.
    assert (host.rest.reason, host.rest.ms - 1) == (reason, ms)
    await worker.crawl.skip(ms // 2)
    (host,) = (await resting(worker.frontier)).values()
    assert host.rest.ms - 1 == ms // 2
    await worker.crawl.skip(ms)
    # The time is over, and the host has not answered yet: the next request is a probe.
    (host,) = (await resting(worker.frontier)).values()
    assert host.rest == Hold(ms=0, reason=reason)
    await worker.settle(await worker.pages(1))
    assert await resting(worker.frontier) == {}


async def test_the_longest_hold_gives_the_reason(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    await worker.frontier.operator.hold("a.test", HOUR)
    await worker.frontier.operator.hold("a.test", MINUTE)
    assert (await resting(worker.frontier))["a.test"].rest == Hold(ms=HOUR + 1, reason="operator")
    await worker.frontier.operator.resume("a.test")
    assert await resting(worker.frontier) == {}


async def test_a_host_whose_robots_txt_cannot_be_had_rests(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    (robots,) = await worker.take()
    await worker.frontier.origins.retry_robots(robots, after_ms=MINUTE)
    assert (await resting(worker.frontier))["a.test"].rest == Hold(ms=MINUTE + 1, reason="robots_unreachable")


async def test_a_host_that_waits_for_its_address_says_so(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 1))
    (page,) = await worker.pages()
    await worker.frontier.postpone(page, SECOND)
    assert (await resting(worker.frontier))["a.test"].rest == Hold(ms=SECOND + 1, reason="address")


async def test_a_host_that_was_given_up_says_what_it_died_of(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 80))
    for _ in range(8):
        (page,) = await worker.pages(1)
        await worker.settle([page], Outcome.RETRY, reason="tls_expired", fault=Fault.TLS, retry_after_ms=HOUR)
        while not (await resting(worker.frontier)):
            (page,) = await worker.pages(1)
            await worker.settle(
                [page], Outcome.RETRY, reason="tls_expired", fault=Fault.TLS, retry_after_ms=HOUR
            )
        await worker.crawl.skip(2 * HOUR)
    (host,) = (await resting(worker.frontier)).values()
    assert (host.dead_reason, host.rest, host.waiting) == ("dead_tls_expired", None, 0)


async def test_of_several_origins_those_that_rest_are_named(worker, found):
    urls = ("http://a.test/1", "http://a.test:81/1", "http://a.test:81/2")
    await worker.frontier.add([found(url) for url in urls])
    while True:
        (lease,) = await worker.take(1)
        await worker.crawl.skip(1)
        if lease.url.origin == "http://a.test:81":
            await worker.frontier.origins.retry_robots(
                lease, after_ms=MINUTE, fault=Fault.CONNECT, reason="refused"
            )
            break
        assert lease.kind is Kind.ROBOTS
        await worker.allow(lease)
        await worker.settle(await worker.take(1))
    (host,) = (await resting(worker.frontier)).values()
    assert host.rest is None
    assert host.origins == (("http://a.test:81", Hold(ms=MINUTE + 1, reason="refused")),)


async def where(frontier, text):
    return await frontier.inspection.find(canonicalize(text))


async def test_where_a_url_is_from_its_discovery_to_its_settlement(worker, found):
    url = "http://a.test/1"
    assert await where(worker.frontier, url) == UrlState(state="unknown")
    await worker.frontier.add(numbered(found, "a.test", 1_500))
    assert await where(worker.frontier, url) == UrlState(state="waiting")
    assert await where(worker.frontier, "http://a.test/1499") == UrlState(state="waiting")
    assert await where(worker.frontier, "http://a.test/1500") == UrlState(state="unknown")
    assert await where(worker.frontier, "http://b.test/1") == UrlState(state="unknown")
    page = next(page for page in await worker.pages(2) if page.url.text == url)
    assert await where(worker.frontier, url) == UrlState(state="leased", worker="w")
    await worker.settle([page], Outcome.RETRY, reason="reset", retry_after_ms=MINUTE)
    assert await where(worker.frontier, url) == UrlState(state="later", attempt=1, due_ms=MINUTE)
    await worker.frontier.operator.hold("a.test", HOUR)
    held = Hold(ms=HOUR + 1, reason="operator")
    assert await where(worker.frontier, url) == UrlState(state="later", attempt=1, due_ms=MINUTE, rest=held)
    assert await where(worker.frontier, "http://a.test/1499") == UrlState(state="waiting", rest=held)
    await worker.frontier.operator.drop(Scope.parse("host:a.test"))
    assert await where(worker.frontier, "http://a.test/1499") == UrlState(state="settled")


async def test_a_page_that_is_to_be_visited_again_says_when(worker, found):
    await worker.frontier.add([found("http://a.test/", interval_s=3600), found("http://a.test/2")])
    await worker.settle(await worker.pages())
    place = await where(worker.frontier, "http://a.test/")
    assert (place.state, place.visit_ms > 0) == ("settled", True)
    assert await where(worker.frontier, "http://a.test/2") == UrlState(state="settled")


async def test_a_page_is_found_by_each_of_its_urls(worker, found):
    await worker.frontier.add([found("http://a.test/?b=1&a=2")])
    one, other = "http://a.test/?b=1&a=2", "http://a.test/?a=2&b=1"
    assert await where(worker.frontier, other) == UrlState(state="waiting")
    (page,) = await worker.pages(1)
    assert (await where(worker.frontier, other)).state == "leased"
    await worker.settle([page], Outcome.RETRY, reason="reset", retry_after_ms=MINUTE)
    assert (await where(worker.frontier, other)).state == (await where(worker.frontier, one)).state == "later"
    assert await where(worker.frontier, "http://a.test/?a=1&b=2") == UrlState(state="unknown")


async def test_pages_of_hosts_show_each_host_once(worker, found):
    names = {f"h{number}.test" for number in range(1_200)}
    await worker.frontier.add([found(f"http://{name}/") for name in sorted(names)])
    page = await worker.frontier.inspection.host_page()
    seen = [host.host for host in page.hosts]
    while page.cursor:
        page = await worker.frontier.inspection.host_page(page.cursor)
        seen += [host.host for host in page.hosts]
    assert (len(seen), set(seen)) == (1_200, names)


async def test_a_page_of_held_hosts_leaves_out_the_others(worker, found):
    await worker.frontier.add([found("http://a.test/"), found("http://b.test/")])
    await worker.frontier.operator.hold("a.test", HOUR)
    page = await worker.frontier.inspection.host_page(is_held=True)
    shown = list(page.hosts)
    while page.cursor:
        page = await worker.frontier.inspection.host_page(page.cursor, is_held=True)
        shown += page.hosts
    assert [host.host for host in shown] == ["a.test"]


@pytest.mark.parametrize("cursor", ["x", "9999-0", "0-99999999999999999999", "0-1\n", "-1", "0-0; FLUSHALL"])
async def test_a_cursor_of_nobody_is_refused(worker, cursor):
    with pytest.raises(InputError, match="is no cursor of its hosts"):
        await worker.frontier.inspection.host_page(cursor)


async def test_one_host_is_looked_up_by_its_name(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.frontier.operator.hold("a.test", HOUR)
    assert await worker.frontier.inspection.host("a.test") == (await resting(worker.frontier))["a.test"]
    assert await worker.frontier.inspection.host("b.test") is None


async def test_a_search_for_a_url_may_end_early_and_then_says_so(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3_000))
    last = canonicalize("http://a.test/2999")
    place = await worker.frontier.inspection.find(last, max_entries=1_000)
    assert place.state in {"known", "waiting"}
    assert await worker.frontier.inspection.find(last, max_entries=5_000) == UrlState(state="waiting")
    unknown = canonicalize("http://a.test/3000")
    assert await worker.frontier.inspection.find(unknown, max_entries=1_000) == UrlState(state="unknown")


async def test_the_bytes_by_which_the_archive_grew_are_counted_with_and_without_a_follower(worker):
    assert await worker.frontier.backlog.archived_bytes() == 0
    await worker.frontier.settle([], archived=100)
    await worker.frontier.backlog.report(follower="p", backlog=7, limit=10**9)
    await worker.frontier.settle([], archived=25)
    assert await worker.frontier.backlog.archived_bytes() == 125


async def repeat(worker, found, *folders):
    """Crawl pages of these folders that all say the same, and return how their host stands."""
    await worker.frontier.add(
        [found(f"http://a.test/{folder}/{i}") for i in range(200) for folder in folders]
    )
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7, discoveries=(found(f"http://a.test/{folders[0]}/0"),))
    return (await every(worker.frontier))["a.test"]


async def test_a_host_is_shown_while_some_of_its_pages_say_nothing_new(worker, found):
    host = await repeat(worker, found, "calendar")
    assert (host.repeats, host.starved_templates, host.rest) == ("templates", 1, None)
    assert await resting(worker.frontier) == {"a.test": host}
    assert await worker.frontier.inspection.host("a.test") == host


async def test_a_host_whose_pages_all_say_the_same_is_shown_until_they_say_something_new(worker, found):
    host = await repeat(worker, found, "a", "b", "c", "d")
    assert (host.repeats, host.starved_templates) == ("host", 0)
    assert await resting(worker.frontier) == {"a.test": host}
    await worker.frontier.add([found(f"http://a.test/about/{i}.html", listed=True) for i in range(10)])
    for sketch in range(100, 110):
        await worker.settle(await worker.pages(1), sketch=sketch)
    assert await resting(worker.frontier) == {}


@pytest.mark.parametrize("policy", [UrlPolicy(traps=HostSwitch(on=True, hosts={"a.test": False}))])
async def test_a_host_where_traps_are_not_looked_for_does_not_repeat_itself(worker, found):
    await worker.frontier.add([found(f"http://a.test/{i}") for i in range(200)])
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7)
    assert await resting(worker.frontier) == {}
