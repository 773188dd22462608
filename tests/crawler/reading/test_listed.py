"""Sitemaps that robots.txt names are read, within the crawl's reach; and a worker does so on real servers."""

import gzip
import time
from dataclasses import replace

import pytest

from tests.crawler.leases import lease
from tests.crawler.reading.test_page_reading import capture
from tests.crawler.server import links, page, redirect
from thresher.crawler.lease_result import LeaseResult, page_settlement
from thresher.crawler.reading.page_reading import page_response
from thresher.crawler.reading.sitemap import SitemapEntry
from thresher.crawler.reading.sitemap_discoveries import MAX_INDEX_DEPTH, robots_sitemaps, sitemap_discoveries
from thresher.crawler.replay.replay import recover
from thresher.crawler.robots.robots_txt import RobotsRetry, with_timestamp
from thresher.crawler.settler import settle_leases
from thresher.crawler.worker import run_worker
from thresher.frontier import Discovery, Fault, Kind, Outcome, Scope, canonicalize
from thresher.frontier.request_state import RequestState
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.archive.record_ids import record_id
from thresher.storage.directory_store import DirectoryStore

NOW = 1_700_000_000_000


def of_sitemap(url="http://example.org/s.xml", level=0, **changes):
    return lease(url, state=RequestState(kind="sitemap", level=level), **changes)


def xml(*locs, tag="url"):
    return "<x>" + "".join(f"<{tag}><loc>{loc}</loc></{tag}>" for loc in locs) + "</x>"


def robots_txt(text):
    return page(text, kind="text/plain")


def test_a_named_sitemap_is_read_on_the_host_that_names_it_and_within_the_scope():
    urls = [
        "/s.xml",
        "http://example.org/t.xml",
        "http://www.example.org/u.xml",
        "http://other.org/v.xml",
        "x:y",
    ]
    under = lease(
        "http://example.org/a/b", scope=Scope.of("prefix", canonicalize("http://example.org/a/")), depth=2
    )
    found = robots_sitemaps(under, urls)
    assert [one.url.text for one in found] == ["http://example.org/s.xml", "http://example.org/t.xml"]
    assert {(one.depth, one.scope, one.state.kind) for one in found} == {(2, under.scope, "sitemap")}
    domain = lease("http://example.org/", scope=Scope.of("domain", canonicalize("http://example.org/")))
    assert [one.url.host for one in robots_sitemaps(domain, urls)][-1] == "www.example.org"


@pytest.mark.parametrize(
    ("depth", "max_depth", "read"), [(0, 0, False), (0, 1, True), (2, 2, False), (2, None, True)]
)
def test_no_sitemap_is_read_whose_pages_would_lie_too_deep(depth, max_depth, read):
    under = lease("http://example.org/", depth=depth, max_depth=max_depth)
    assert bool(robots_sitemaps(under, ["/s.xml"])) == read


def test_what_a_sitemap_lists_is_as_the_links_of_a_page():
    under = of_sitemap(depth=1, max_depth=5, generation=3)
    entries = [
        SitemapEntry(url="http://example.org/a"),
        SitemapEntry(url="http://other.org/"),
        SitemapEntry(url="/a"),
        SitemapEntry(url="b"),
    ]
    found = sitemap_discoveries(under, entries, NOW, {"http://example.org/b"})
    assert [(one.url.text, one.depth, one.max_depth, one.generation) for one in found] == [
        ("http://example.org/a", 2, 5, 0)
    ]


@pytest.mark.parametrize(("date_ms", "asked_again"), [(0, 3), (NOW, 0)])
def test_seeds_of_a_list_are_asked_once_more_with_it_but_not_when_it_is_re_scraped(date_ms, asked_again):
    state = RequestState(kind="seeds", date_ms=date_ms)
    under = lease("http://example.org/seeds.xml", generation=3, state=state)
    entries = [SitemapEntry(url="/a"), SitemapEntry(url="/further.xml", is_sitemap=True)]
    found = {one.url.wire: one.generation for one in sitemap_discoveries(under, entries, NOW, ())}
    assert found == {"http://example.org/a": asked_again, "http://example.org/further.xml": asked_again}


def test_indexes_list_indexes_so_far_and_never_themselves():
    entries = [SitemapEntry(url="/s.xml", is_sitemap=True), SitemapEntry(url="/t.xml", is_sitemap=True)]
    (found,) = sitemap_discoveries(of_sitemap(), entries, NOW, ())
    assert (found.url.text, found.depth, found.state) == (
        "http://example.org/t.xml",
        0,
        RequestState(kind="sitemap", level=1),
    )
    assert sitemap_discoveries(of_sitemap(level=MAX_INDEX_DEPTH), entries, NOW, ()) == ()


def test_a_date_is_noted_where_somebody_comes_again_and_not_one_to_come():
    entries = [SitemapEntry(url="/a", modified_ms=NOW - 1), SitemapEntry(url="/b", modified_ms=NOW + 1)]
    notes = [
        one.state.modified_ms for one in sitemap_discoveries(of_sitemap(interval_s=60), entries, NOW, ())
    ]
    assert notes == [NOW - 1, 0]
    assert [one.state for one in sitemap_discoveries(of_sitemap(), entries, NOW, ())] == [
        RequestState(),
        RequestState(),
    ]


def test_a_sitemap_is_read_whatever_it_is_called_and_its_note_goes_on():
    body = gzip.compress(xml("http://example.org/a").encode())
    found = page_response(capture(body, ("Content-Type", "application/octet-stream")), decode_any=True)
    ends = page_settlement(of_sitemap(), found)
    assert [one.url.text for one in ends.discoveries] == ["http://example.org/a"]
    assert (ends.outcome, ends.next_state, ends.sketch) == (Outcome.FETCHED, of_sitemap().state, None)
    assert (
        page_settlement(of_sitemap(), page_response(capture("<a href=/x>x</a>"), decode_any=True)).discoveries
        == ()
    )


def test_what_a_sitemap_redirects_to_is_a_sitemap():
    found = page_response(capture(b"", ("Location", "/index.xml"), status=301), decode_any=True)
    scope = Scope.of("prefix", canonicalize("http://example.org/a/"))
    (target,) = page_settlement(of_sitemap(scope=scope), found).discoveries
    assert target.url.text == "http://example.org/index.xml"
    assert replace(target.state, chain=b"") == of_sitemap().state


def test_a_worker_reads_what_robots_txt_names(crawl, site):
    site.answers |= {
        "/robots.txt": robots_txt("User-agent: *\nDisallow: /no\nSitemap: /index.xml\nSitemap: /no.xml"),
        "/": links("/linked"),
        "/linked": page("linked"),
        "/index.xml": page(xml("/s1.xml", "/s2.txt", "/index.xml", tag="sitemap"), kind="text/xml"),
        "/s1.xml": page(
            gzip.compress(xml(f"{site.url}/one", f"{site.url}/no/two").encode()), kind="text/plain"
        ),
        "/s2.txt": redirect("/moved.txt"),
        "/moved.txt": page(f"{site.url}/three\nhttp://elsewhere.test/", kind="text/plain"),
        "/one": page("one"),
        "/three": page("three"),
    }
    crawl.seed(site.url + "/")
    run_worker(crawl.config("w"))
    asked = {
        "/robots.txt",
        "/",
        "/linked",
        "/index.xml",
        "/s1.xml",
        "/s2.txt",
        "/moved.txt",
        "/one",
        "/three",
    }
    assert dict(site.paths) == dict.fromkeys(asked, 1)
    assert crawl.stats.reasons["refused:robots"] == 2
    assert crawl.stats.is_drained


@pytest.mark.parametrize("changes", [{"sitemaps": False}, {"max_depth": 0}])
def test_a_worker_that_is_not_to_reads_none(crawl, site, changes):
    site.answers |= {"/robots.txt": robots_txt("Sitemap: /s.txt"), "/": page("x"), "/s.txt": page("x")}
    crawl.seed(site.url + "/", max_depth=changes.pop("max_depth", None))
    run_worker(crawl.config("w", **changes))
    assert set(site.paths) == {"/robots.txt", "/"}


async def everybody(workers):
    return workers


def test_a_sitemap_that_a_dead_worker_archived_is_taken_up_from_the_archive(crawl):
    url = "http://a.test/s.xml"

    async def die(frontier):
        found = canonicalize(url)
        state = RequestState(kind="sitemap")
        await frontier.add([Discovery(url=found, scope=Scope.of("host", found), state=state)])
        (asked,) = await frontier.lease(1, worker="dead", lease_ms=60_000)
        assert asked.kind is Kind.ROBOTS
        await frontier.origins.settle_robots(asked, rule="allow", body=b"", ttl_ms=60_000, delay_ms=None)
        (held,) = await frontier.lease(1, worker="dead", lease_ms=60_000)
        archive = ArchiveWriter(DirectoryStore(crawl.root), crawl.name, writer="dead", user_agent="t")
        body = xml("http://a.test/1", "http://b.test/2").encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n" % len(body)
        made = replace(
            capture(body, ("Content-Type", "text/xml"), url=url),
            request=b"GET /s.xml HTTP/1.1\r\n\r\n",
            response=head + body,
            head_length=len(head),
            peer="127.0.0.1",
        )
        archive.append(made, record_id(crawl.name, "dead", held.token))
        archive.commit()
        archive.seal()
        assert await recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name) == 1

    crawl.ask(die)
    assert (crawl.stats.waiting, crawl.stats.outcomes["fetched"]) == (1, 1)


def test_pages_that_wait_are_dropped_and_counted_where_the_rules_have_changed(crawl, site):
    async def once(frontier):
        (asked,) = await frontier.lease(1, worker="before", lease_ms=60_000)
        body = with_timestamp(b"User-agent: *\nDisallow:", time.time_ns() // 1_000_000)
        await frontier.origins.settle_robots(asked, rule="rules", body=body, ttl_ms=1, delay_ms=None)

    site.answers |= {"/robots.txt": robots_txt("User-agent: *\nDisallow: /late"), "/": page("x")}
    crawl.seed(site.url + "/", site.url + "/late")
    crawl.ask(once)
    run_worker(crawl.config("w"))
    assert dict(site.paths) == {"/robots.txt": 1, "/": 1}
    assert crawl.stats.reasons == {"refused:robots": 1}


def test_rules_that_cannot_be_had_again_are_those_of_before(crawl):
    text = b"User-agent: *\nDisallow: /no"

    async def visit(frontier):
        found = canonicalize("http://a.test/no")
        await frontier.add([Discovery(url=found, scope=Scope.of("host", found))])
        (asked,) = await frontier.lease(1, worker="w", lease_ms=60_000)
        body = with_timestamp(text, int(time.time() * 1000))
        await frontier.origins.settle_robots(asked, rule="rules", body=body, ttl_ms=0, delay_ms=None)
        (again,) = await frontier.lease(1, worker="w", lease_ms=60_000)
        assert (again.url.text, again.robots_version) == ("http://a.test/robots.txt", 1)
        failed = LeaseResult(lease=again, decision=RobotsRetry(retry_after_ms=30_000, fault=Fault.SERVER))
        await settle_leases(frontier, [failed])
        record = await frontier.origins.robots("http://a.test")
        (held,) = await frontier.lease(1, worker="w", lease_ms=60_000)
        assert (record.body, record.version, held.url.text) == (body, 2, "http://a.test/no")

    crawl.ask(visit)
