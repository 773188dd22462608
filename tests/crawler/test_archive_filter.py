"""A crawl with an archive filter fetches the same pages as one without, and leaves a note of each page that it drops."""

import gzip
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawler.crawls.test_crawl import archived, everybody, slowly, start, wait_for, web
from tests.crawler.lease_results import lease_result
from tests.crawler.leases import lease
from tests.crawler.server import links, page, redirect
from tests.expect import expect
from tests.storage.captures import RECORD_ID
from thresher.core import Capture
from thresher.crawler.archive_filter import MAX_OUTLINKS
from thresher.crawler.lease_result import page_settlement, read_and_decide, settlement_of_dropped
from thresher.crawler.reading import page_reading
from thresher.crawler.reading.outcome import judge_capture
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.reading.page_reading import page_response
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.extract.markup.links import extract_links
from thresher.frontier import canonicalize
from thresher.frontier.lease import Settlement
from thresher.frontier.request_state import RequestState
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc.dropped import DROPPED, DroppedPage, decode, encode

STATUSES = [200, 200, 204, 301, 302, 403, 404, 408, 410, 429, 500, 503]
HREFS = st.one_of(
    st.from_regex(r"/[a-z%7E é?&=;.]{0,12}", fullmatch=True),
    st.sampled_from(
        ["http://example.org/%7ex?", "HTTP://EXAMPLE.org./a/../b#f", "//other.test/", "mailto:x"]
    ),
)


def nothing(_):
    return "unwanted"


def everything(_):
    return None


def odd(found):
    """Drop the pages with an odd number, and every page that is missing."""
    if found.status != 200:
        return "status"
    return "odd" if found.url.rpartition("/")[2][-1:] in set("13579") else None


def captured(status=200, body=b"", headers=(), truncated=None):
    return Capture(
        url=canonicalize("http://example.org/"),
        request=b"",
        response=b"",
        head_length=0,
        status=status,
        headers=(("Content-Type", "text/html; charset=utf-8"), *headers),
        payload=body,
        started_ms=1_000_000,
        elapsed_ms=0,
        peer="",
        truncated=truncated,
    )


@given(
    status=st.sampled_from(STATUSES),
    hrefs=st.lists(HREFS, max_size=6),
    truncated=st.sampled_from([None, "length", "disconnect"]),
    retry_after=st.sampled_from([None, "0", "120", "Thu, 01 Jan 1970 00:20:00 GMT", "soon"]),
    depth=st.integers(0, 3),
    max_depth=st.sampled_from([None, 2]),
    known=st.booleans(),
)
def test_the_note_of_a_dropped_page_settles_its_lease_as_the_page_would(
    status, hrefs, truncated, retry_after, depth, max_depth, known
):
    body = "".join(f'<a href="{href}">x</a>' for href in hrefs).encode()
    headers = (("Retry-After", retry_after),) if retry_after is not None else ()
    capture = captured(status, body, headers, truncated)
    held = lease("http://example.org/", depth=depth, max_depth=max_depth)
    whole = page_settlement(held, page_response(capture))
    told = {found.url.text for found in whole.discoveries[::2]} if known else set()
    made = lease_result(held, capture, RECORD_ID, archive_filter=nothing, known_urls=told)
    assert made.decision == page_settlement(held, page_response(capture), told)
    if status in {301, 302}:
        assert made.dropped is None
        return
    dropped = expect(DroppedPage, made.dropped)
    # The note has no text, so a recovery makes no sketch.
    told_later = settlement_of_dropped(held, expect(DroppedPage, decode(encode(dropped))), 1_000_000)
    assert told_later == replace(whole, sketch=None)
    assert dropped.length == len(body)


def test_a_kept_page_is_archived_and_settled_as_without_a_filter():
    capture = captured(body=b'<a href="/a">a</a>')
    args = (lease("http://example.org/"), capture, RECORD_ID)
    plain = lease_result(*args, archive_filter=None, known_urls=set())
    assert plain == lease_result(*args, archive_filter=everything, known_urls=set())
    assert plain.records == ((capture, RECORD_ID),)


def test_a_redirect_keeps_its_target_whether_the_frontier_knows_it_or_not():
    """In this process and in one of its own: a spider hears that it leads on."""
    moved = captured(301, headers=(("Location", "/there"),))
    args, known = (lease("http://example.org/"), moved, RECORD_ID), {"http://example.org/there"}
    here = lease_result(*args, archive_filter=nothing, known_urls=known)
    read = read_and_decide(args[0], moved, judge_capture(moved), RECORD_ID, nothing, DEFAULT_OPTIONS)
    beside = read.to_lease_result(args[0], here.records, known)
    assert here == beside
    assert [found.url.text for found in expect(Settlement, here.decision).discoveries] == [
        "http://example.org/there"
    ]


@pytest.mark.parametrize("screen", [None, nothing, everything])
def test_a_page_is_tokenized_once_whatever_is_obeyed(monkeypatch, screen):
    read = []

    def counted(html, *args, whole=extract_links):
        read.append(html)
        return whole(html, *args)

    monkeypatch.setattr(page_reading, "extract_links", counted)
    capture = captured(body=b'<meta name=robots content="noai"><a href="/a">a</a>')
    options = PageOptions(obey=("nofollow", "noarchive"))
    lease_result(
        lease("http://example.org/"),
        capture,
        RECORD_ID,
        archive_filter=screen,
        known_urls=set(),
        options=options,
    )
    assert len(read) == 1


@pytest.mark.parametrize("status", [200, 404])
def test_an_unchanged_page_that_asks_not_to_be_archived_is_not_archived(status):
    body = b'<meta name=robots content="noarchive"><a href="/a">a</a>'
    capture = captured(status, body=body)
    sha256 = page_response(capture).sha256
    state = RequestState(sha256=sha256, digest="x", date_ms=1, etag='"a"')
    made = lease_result(
        lease("http://example.org/", state=state),
        capture,
        RECORD_ID,
        archive_filter=None,
        known_urls=set(),
        options=PageOptions(obey=("noarchive",)),
    )
    assert (made.dropped is not None) == (status == 200)


def test_a_filter_sees_the_decoded_body_of_any_type():
    seen = []

    def look(found):
        seen.append((found.mime, found.body))

    for kind in ("text/html", "text/plain; charset=x"):
        capture = captured(body=gzip.compress(b"words"), headers=(("Content-Encoding", "gzip"),), status=200)
        capture = Capture(
            **{
                **{name: getattr(capture, name) for name in Capture.__slots__},
                "headers": (("Content-Type", kind), ("Content-Encoding", "gzip")),
            }
        )
        lease_result(lease("http://example.org/"), capture, RECORD_ID, archive_filter=look, known_urls=set())
    assert seen == [("text/html", b"words"), ("text/plain", b"words")]


def test_a_page_with_more_links_than_a_record_takes_is_archived_whole():
    path = "x" * 1900
    body = b'<base href="http://example.org/%b/">' % path.encode()
    body += b"".join(b"<a href=%d>" % number for number in range(MAX_OUTLINKS // 1900 + 1000))
    made = lease_result(
        lease("http://example.org/"), captured(body=body), RECORD_ID, archive_filter=nothing, known_urls=set()
    )
    assert made.dropped is None
    assert len(expect(Settlement, made.decision).discoveries) > 17_000


def kinds(crawl):
    """Return what sealed files have for each path: `response`, or the reason for which there is none."""
    found = Counter()
    for record in archived(crawl):
        if record.type in {"response", DROPPED}:
            dropped = decode(record.payload)
            what = dropped.reason if dropped else record.type
            found[("/" + record.url.split("/", 3)[3], what)] += 1
    return found


def expected(size):
    pages = {(f"/{n}", "odd" if n % 2 else "response"): 1 for n in range(size)}
    return Counter({("/robots.txt", "response"): 1, **pages})


def test_a_dropped_page_leaves_a_note_and_its_links_are_followed(crawl, site):
    site.fallback = web(100)
    crawl.seed(f"{site.url}/1")
    run_worker(crawl.config("w", archive_filter=odd))
    assert crawl.stats.is_drained
    assert crawl.stats.outcomes["fetched"] == 100
    assert kinds(crawl) == expected(100)
    requests = [record for record in archived(crawl) if record.type == "request"]
    assert len(requests) == 51


def test_redirects_and_robots_txt_are_archived_and_every_other_dropped_response_leaves_a_note(crawl, site):
    site.answers |= {
        "/": links("/gone", "/moved", "/busy", "/text"),
        "/moved": redirect("/2"),
        "/2": page("two"),
        "/busy": page("later", "Retry-After: 0", status="503 Busy"),
        "/text": page("plain", kind="text/plain"),
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", archive_filter=odd))
    assert kinds(crawl) == Counter(
        {
            ("/robots.txt", "response"): 1,
            ("/", "response"): 1,
            ("/moved", "response"): 1,
            ("/2", "response"): 1,
            ("/text", "response"): 1,
            ("/gone", "status"): 1,
            ("/busy", "status"): 3,
        }
    )
    assert crawl.stats.reasons == {"gone:status_404": 1, "failed:status_503": 1}


@pytest.mark.slow
@pytest.mark.parametrize("after", [5, 60, 150])
@pytest.mark.usefixtures("quickly_recovered")
def test_killed_and_run_again_every_page_is_archived_or_noted_once(crawl, site, after):
    site.fallback = slowly(web(250), 0.02)
    crawl.seed(f"{site.url}/0")
    process = start(crawl.config("killed", archive_filter=odd))
    wait_for(lambda: len(site.requests) > after)
    process.kill()
    process.join()
    crawl.ask(lambda frontier: recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name))
    kept = kinds(crawl)
    run_worker(crawl.config("next", archive_filter=odd))
    assert crawl.stats.is_drained
    assert kinds(crawl) == expected(250)
    assert all(site.paths[path] == 1 for path, _ in kept), "archived or noted, and fetched again"


@pytest.mark.parametrize(
    "saying",
    [
        {"headers": (("Content-Type", "text/html"), ("X-Robots-Tag", "noarchive"))},
        {"body": b'<meta name="robots" content="noarchive"><a href="/x">x</a>'},
    ],
)
def test_a_page_that_asks_not_to_be_archived_leaves_a_note_if_that_is_obeyed(saying):
    args = (lease("http://example.org/"), captured(**saying), RECORD_ID)
    kept = lease_result(*args, archive_filter=None, known_urls=set())
    assert kept.dropped is None
    left = lease_result(
        *args, archive_filter=None, known_urls=set(), options=PageOptions(obey=("nofollow", "noarchive"))
    )
    assert expect(DroppedPage, left.dropped).reason == "noarchive"
    assert left.decision == kept.decision
