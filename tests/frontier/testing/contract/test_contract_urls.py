"""What every frontier knows of a URL, and the order in which it grants the URLs of a host."""

import pytest

from tests.frontier.contract import HOUR, numbered, texts
from thresher.core import InputError
from thresher.frontier import Budget, Discovery, HostSwitch, Kind, Outcome, Scope, UrlPolicy, canonicalize
from thresher.frontier.request_state import RequestState


async def test_an_unknown_url_waits_and_a_known_one_changes_nothing(crawl, found):
    first = await crawl.frontier.add([found("http://a.test/1"), found("http://a.test/%31")])
    assert (first.added, first.known) == (1, 1)
    again = await crawl.frontier.add([found("http://a.test/1", priority=9), found("http://a.test/2")])
    assert (again.added, again.known) == (1, 1)
    stats = await crawl.frontier.stats()
    assert (stats.seen, stats.waiting, stats.hosts) == (2, 2, 1)


async def test_one_page_under_three_spellings_is_asked_once_as_it_was_found_first(worker, found):
    spellings = ["http://a.test/?b=2&a=%7e&c=1", "http://a.test/?c=1&b=2&a=~", "http://a.test/?a=%7E&b=2&c=1"]
    added = await worker.frontier.add([found(text) for text in spellings])
    assert (added.added, added.known) == (1, 2)
    assert [lease.url.wire for lease in await worker.pages()] == spellings[:1]


async def test_parameters_of_one_name_keep_their_order(worker, found):
    apart = ["http://a.test/?page=1&page=2", "http://a.test/?page=2&page=1", "http://a.test/?page=2"]
    assert (await worker.frontier.add([found(text) for text in apart])).added == 3


@pytest.mark.parametrize("policy", [UrlPolicy(query_order=HostSwitch(on=False, hosts={"a.test": True}))])
async def test_where_the_order_of_parameters_matters_it_tells_pages_apart(worker, found):
    for host, pages in (("www.a.test", 2), ("a.test", 2), ("ba.test", 1)):
        both = [found(f"http://{host}/?b&a"), found(f"http://{host}/?a&b")]
        assert (await worker.frontier.add(both)).added == pages
        leases = await worker.pages()
        again = await worker.frontier.add([*both, found(f"http://{host}/?%61&b")])
        assert (len(leases), again.known) == (pages, 3)


async def test_a_known_url_waits_once_more_for_each_lease_that_leads_back_to_it(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    (first,) = await worker.pages()
    again = found("http://a.test/", again=first.token)
    await worker.settle([first], Outcome.REDIRECTED, discoveries=(again,))
    assert (await worker.frontier.add([again, found("http://a.test/")])).known == 2
    (second,) = await worker.pages()
    assert (second.url.text, second.again) == ("http://a.test/", first.token)
    await worker.settle(
        [second], Outcome.REDIRECTED, discoveries=(found("http://a.test/", again=second.token),)
    )
    assert len(await worker.pages()) == 1


async def test_a_known_url_waits_once_more_for_each_generation(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    await worker.settle(await worker.pages())
    for generation in (7, 8):
        again = [found("http://a.test/", generation=generation)]
        assert (await worker.frontier.add(again)).added == 1
        assert (await worker.frontier.add(again)).known == 1
        (lease,) = await worker.pages()
        assert lease.generation == generation
        await worker.settle([lease])
    assert (await worker.stats()).outcomes["fetched"] == 3


@pytest.mark.parametrize("budget", [Budget(host=2)])
async def test_a_host_has_no_more_urls_than_its_budget_and_the_rest_is_not_remembered(worker, found):
    assert await worker.frontier.add(numbered(found, "a.test", 2)) == await worker.frontier.add(
        numbered(found, "b.test", 2)
    )
    for _ in range(2):
        more = await worker.frontier.add([found("http://a.test/9"), found("http://a.test/1")])
        assert (more.added, more.known, more.discarded) == (0, 1, {"host_budget": 1})
    stats = await worker.stats()
    assert (stats.seen, stats.discarded) == (4, {"host_budget": 2})


@pytest.mark.parametrize("budget", [Budget(domain=3)])
async def test_a_domain_has_no_more_urls_than_its_budget_under_whatever_names(worker, found):
    added = await worker.frontier.add([found(f"http://h{i}.a.test/") for i in range(5)])
    assert (added.added, added.discarded) == (3, {"domain_budget": 2})
    assert (await worker.frontier.add([found("http://b.test/")])).added == 1
    assert (await worker.stats()).hosts == 4


@pytest.mark.parametrize("budget", [Budget(hosts=3)])
async def test_a_domain_has_no_more_names_than_its_budget(worker, found):
    added = await worker.frontier.add([found(f"http://h{i}.a.test/{j}") for i in range(5) for j in range(2)])
    assert (added.added, added.discarded) == (6, {"domain_hosts": 4})


async def test_a_lease_carries_what_was_discovered(worker):
    url = canonicalize("http://a.test:8080/%7ex?")
    known = Discovery(
        url=url,
        scope=Scope.of("prefix", url),
        depth=2,
        max_depth=5,
        hops=3,
        priority=1,
        interval_s=99,
        listed=True,
        again=1 << 50,
        state=RequestState(etag="é", spider_request=b"\0for\xff a spider"),
        notify=True,
    )
    await worker.frontier.add([known])
    (lease,) = await worker.pages()
    fields = Discovery.__dataclass_fields__
    assert {name: getattr(lease, name) for name in fields} == {name: getattr(known, name) for name in fields}
    assert (lease.kind, lease.worker, lease.attempt, lease.robots_version) == (Kind.PAGE, "w", 0, 1)
    assert lease.deadline_ms == worker.crawl.clock.now + HOUR


async def test_a_host_gives_its_lowest_level_first_and_within_it_the_oldest(worker, found):
    await worker.frontier.add(
        [
            found("http://a.test/deep", depth=3),
            found("http://a.test/mid-1", depth=1),
            found("http://a.test/mid-2", depth=1),
            found("http://a.test/seed"),
            found("http://a.test/wanted", depth=3, priority=2),
            found("http://a.test/urgent", depth=1, priority=300),
        ]
    )
    order = ["urgent", "seed", "mid-1", "mid-2", "wanted", "deep"]
    assert texts(await worker.pages()) == [f"http://a.test/{name}" for name in order]


async def test_a_workers_name_is_not_longer_than_a_byte_can_say(worker):
    worker.name = "é" * 128
    with pytest.raises(InputError, match="at most 255 bytes"):
        await worker.take()
