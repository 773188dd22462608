"""A seed that is a sitemap or a feed leads to what it lists; a page that is found later never does."""

import gzip
import io
import tarfile

import pytest
import zstandard

from tests.crawler.leases import lease
from tests.crawler.reading.test_listed import xml
from tests.crawler.reading.test_page_reading import capture
from tests.crawler.server import links, page, redirect
from tests.shared import read_tar_file, shared_file
from tests.storage.captures import RECORD_ID
from thresher.crawler.lease_result import page_settlement
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.reading.page_reading import leased_response, page_response
from thresher.crawler.worker import run_worker
from thresher.frontier import Outcome, Scope, canonicalize
from thresher.frontier.request_state import RequestState

URLSET = '<?xml version="1.0"?><urlset><url><loc>http://example.org/a</loc></url></urlset>'
RSS = '<rss version="2.0"><channel><link>http://example.org/</link><item><link>http://example.org/a</link></item></channel></rss>'
ATOM = '<?xml version="1.0"?><!-- x --><feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/a"/></entry></feed>'
RDF = '<rdf:RDF xmlns="http://purl.org/rss/1.0/"><item><link>http://example.org/a</link></item></rdf:RDF>'
XML = ("Content-Type", "application/xml")


def packed(text):
    return gzip.compress(text.encode(), mtime=0)


def seed(**changes):
    return lease("http://example.org/sitemap.xml", listed=True, **changes)


def ends(body, kind=XML, under=None):
    body = body if isinstance(body, bytes) else body.encode()
    under = under or seed()
    return page_settlement(under, leased_response(under, capture(body, kind), RECORD_ID))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (URLSET, "application/xml"),
        (URLSET, "text/html"),
        (URLSET, ""),
        (packed(URLSET), "application/gzip"),
        (packed(URLSET), "application/octet-stream"),
        (URLSET.replace('"1.0"', '"1.0" encoding="UTF-16"').encode("utf-16"), "text/xml"),
        (RSS, "application/rss+xml"),
        (RSS, "text/xml; charset=utf-8"),
        (ATOM, "application/atom+xml"),
        (RDF, "application/rdf+xml"),
        ("\ufeffhttp://example.org/a\r\nhttp://example.org/a\r\n", "text/plain"),
    ],
)
def test_what_a_list_lists_are_seeds(body, kind):
    under = seed(max_depth=0, priority=2, interval_s=60)
    (found,) = ends(body, ("Content-Type", kind), under).discoveries
    assert (found.url.text, found.depth, found.max_depth) == ("http://example.org/a", 0, 0)
    assert (found.listed, found.priority, found.interval_s) == (True, 2, 60)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<html><body>urlset</body></html>", "text/html"),
        ("<feedback><entry><link href='/a'/></entry></feedback>", "application/xml"),
        ("<rdf:RDF xmlns:foaf='http://xmlns.com/foaf/0.1/'/>", "application/rdf+xml"),
        ("See http://example.org/a for more.", "text/plain"),
        ("http://example.org/a is it", "text/plain"),
        ("http://example.org/a http://example.org/b", "text/plain"),
        (b"\x1f\x8b\x08 no gzip", "application/gzip"),
        (b"\x89PNG\r\n\x1a\n", "application/octet-stream"),
    ],
)
def test_other_seeds_are_pages_and_files(body, kind):
    assert ends(body, ("Content-Type", kind)).discoveries == ()


@pytest.mark.parametrize("changes", [{"listed": False}, {"depth": 1}])
def test_a_page_that_was_found_is_no_list(changes):
    under = lease(**{"listed": True, **changes})
    assert page_settlement(under, page_response(capture(URLSET, XML), decode_any=True)).discoveries == ()


def test_of_a_long_text_the_beginning_says_whether_it_is_a_list():
    urls = "\n".join(f"http://example.org/{number}" for number in range(2_000))
    assert len(ends(urls, ("Content-Type", "text/plain")).discoveries) == 2_000
    assert ends("Words. " * 2_000 + urls, ("Content-Type", "text/plain")).discoveries == ()


def test_an_index_among_the_seeds_leads_to_sitemaps_of_seeds():
    index = "<sitemapindex><sitemap><loc>http://example.org/s1.xml.gz</loc></sitemap></sitemapindex>"
    (found,) = ends(index, under=seed(max_depth=0)).discoveries
    assert found.state == RequestState(kind="seeds", level=1)
    below = lease("http://example.org/s1.xml.gz", state=found.state, max_depth=0, listed=True)
    (seeded,) = ends(packed(URLSET), under=below).discoveries
    assert (seeded.url.text, seeded.depth) == ("http://example.org/a", 0)


def test_a_list_goes_no_further_than_its_scope_and_says_so():
    other = ends(URLSET.replace("example.org", "victim.test"))
    assert (other.outcome, other.reason, other.discoveries) == (Outcome.FETCHED, "out_of_scope", ())
    anywhere = seed(scope=Scope.of("any", canonicalize("http://example.org/")))
    assert len(ends(URLSET.replace("example.org", "victim.test"), under=anywhere).discoveries) == 1


def test_a_feed_that_is_as_it_was_lists_nothing_new():
    under = seed(interval_s=60, state=RequestState(etag='"1"', date_ms=1, digest="sha1:A"))
    ended = page_settlement(
        under, leased_response(under, capture(b"", XML, ("ETag", '"1"'), status=304), RECORD_ID)
    )
    assert (ended.outcome, ended.discoveries) == (Outcome.UNCHANGED, ())


def test_what_a_page_says_of_its_use_is_no_matter_of_lists():
    under = seed()
    found = leased_response(under, capture(URLSET, XML, ("X-Robots-Tag", "nofollow")), RECORD_ID)
    assert len(page_settlement(under, found, options=PageOptions()).discoveries) == 1


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "kind", "pages"),
    [
        ("crawler-commons/sitemaps/sitemap.txt", "text/plain", 2),
        ("crawler-commons/sitemaps/sitemap.txt.gz", "application/gzip", 5),
        ("crawler-commons/sitemaps/sitemap.ns.xml", "text/xml", 2),
        ("crawler-commons/sitemaps/sitemap.badns.xml", "text/xml", 2),
        ("crawler-commons/rss/feed.rss", "application/rss+xml", 4),
        ("stormcrawler/core/stormcrawler.sitemap.xml.gz", "application/gzip", 6),
        ("stormcrawler/core/stormcrawler.sitemap.index.xml", "text/xml", 4),
        ("trafilatura/tests/resources/feed1.atom", "application/atom+xml", 1),
        ("trafilatura/tests/resources/feed2.rss", "text/xml", 1),
        ("trafilatura/tests/resources/sitemap.xml", "application/xml", 84),
        ("trafilatura/tests/resources/sitemap.xml.gz", "application/octet-stream", 84),
    ],
)
def test_real_sitemaps_and_feeds_are_lists(name, kind, pages):
    packed = shared_file("robots/sitemaps-feeds-robots-cases.tar.zst").read_bytes()
    plain = zstandard.ZstdDecompressor().stream_reader(packed).read()
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        body = read_tar_file(tar, name)
    anywhere = seed(scope=Scope.of("any", canonicalize("http://example.org/")))
    assert len(ends(body, ("Content-Type", kind), anywhere).discoveries) == pages


def test_a_worker_crawls_what_a_seeded_sitemap_and_a_feed_list(crawl, site):
    site.answers |= {
        "/old.xml": redirect("/sitemap.xml"),
        "/feed": page(RSS.replace("http://example.org/a", f"{site.url}/c"), kind="application/rss+xml"),
        "/a": links("/deeper", "/feed2"),
        "/b": page("b"),
        "/c": page("c"),
    }
    body = xml(f"{site.url}/a", f"{site.url}/b").replace("<x>", "<urlset>").replace("</x>", "</urlset>")
    site.answers["/sitemap.xml"] = page(body, kind="text/xml")
    crawl.seed(f"{site.url}/old.xml", f"{site.url}/feed", listed=True, max_depth=0)
    run_worker(crawl.config("w"))
    assert set(site.paths) == {"/robots.txt", "/old.xml", "/sitemap.xml", "/feed", "/a", "/b", "/c"}
    assert crawl.stats.outcomes["fetched"] == 5
