"""A crawl that archives only what its screen keeps comes to the same pages, and forgets none that it dropped."""

import gzip
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Capture
from crawler.archive_filter import MOST_OUTLINKS, lease_result
from crawler.reading import page_reading
from crawler.reading.page_options import PageOptions
from crawler.reading.page_reading import page_settlement, settlement_of_dropped
from crawler.reading.page_response import page_response
from crawler.reading.request_state import RequestState, encode_state
from crawler.replay.replay import recover
from crawler.worker import run_worker
from frontier import canonicalize
from storage.directory_store import DirectoryStore
from storage.warc.dropped import DROPPED, decode, encode
from tests.crawler.crawls.test_crawl import archived, everybody, slowly, start, wait_for, web
from tests.crawler.leases import lease
from tests.crawler.server import links, page, redirect
from tests.storage.captures import RECORD_ID

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
    """Drops the pages with an odd number, and everything that is not there."""
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
def test_what_remains_of_a_dropped_page_ends_its_lease_as_the_page_would(
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
    # The note has no text to be sketched: what a dead worker saw of it is not heard.
    told_later = settlement_of_dropped(held, decode(encode(made.dropped)), 1_000_000)
    assert told_later == replace(whole, sketch=None)
    assert made.dropped.length == len(body)


def test_what_is_kept_is_archived_and_settled_as_without_a_screen():
    capture = captured(body=b'<a href="/a">a</a>')
    args = (lease("http://example.org/"), capture, RECORD_ID)
    plain = lease_result(*args, archive_filter=None, known_urls=set())
    assert plain == lease_result(*args, archive_filter=everything, known_urls=set())
    assert plain.records == ((capture, RECORD_ID),)


@pytest.mark.parametrize("screen", [None, nothing, everything])
def test_a_page_is_tokenized_once_whatever_is_obeyed(monkeypatch, screen):
    read = []

    def counted(html, *args, whole=page_reading.extract_links):
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
def test_a_page_that_is_as_it_was_is_still_not_archived_if_it_asks_for_that(status):
    body = b'<meta name=robots content="noarchive"><a href="/a">a</a>'
    capture = captured(status, body=body)
    sha256 = page_response(capture).sha256
    state = encode_state(RequestState(sha256=sha256, digest="x", date_ms=1, etag='"a"'))
    made = lease_result(
        lease("http://example.org/", note=state),
        capture,
        RECORD_ID,
        archive_filter=None,
        known_urls=set(),
        options=PageOptions(obey=("noarchive",)),
    )
    assert (made.dropped is not None) == (status == 200)


def test_a_screen_sees_the_body_decoded_whatever_its_type():
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
    body += b"".join(b"<a href=%d>" % number for number in range(MOST_OUTLINKS // 1900 + 1000))
    made = lease_result(
        lease("http://example.org/"), captured(body=body), RECORD_ID, archive_filter=nothing, known_urls=set()
    )
    assert made.dropped is None
    assert len(made.decision.discoveries) > 17_000


def kinds(crawl):
    """What lies in sealed files for each path: `response` or the reason for which there is none."""
    found = Counter()
    for record in archived(crawl):
        if record.type in {"response", DROPPED}:
            what = record.type if record.type == "response" else decode(record.payload).reason
            found[("/" + record.url.split("/", 3)[3], what)] += 1
    return found


def expected(size):
    pages = {(f"/{n}", "odd" if n % 2 else "response"): 1 for n in range(size)}
    return Counter({("/robots.txt", "response"): 1, **pages})


def test_what_is_dropped_leaves_a_note_and_its_links_are_followed(crawl, site):
    site.fallback = web(100)
    crawl.seed(f"{site.url}/1")
    run_worker(crawl.config("w", archive_filter=odd))
    assert crawl.stats.is_drained
    assert crawl.stats.outcomes["fetched"] == 100
    assert kinds(crawl) == expected(100)
    requests = [record for record in archived(crawl) if record.type == "request"]
    assert len(requests) == 51


def test_redirects_and_robots_are_archived_and_every_other_answer_is_noted(crawl, site):
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


@pytest.mark.parametrize("after", [5, 60, 150])
def test_killed_and_run_again_every_page_is_kept_or_noted_once(crawl, site, after):
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
def test_a_page_that_asks_not_to_be_archived_leaves_a_note_where_that_is_obeyed(saying):
    args = (lease("http://example.org/"), captured(**saying), RECORD_ID)
    kept = lease_result(*args, archive_filter=None, known_urls=set())
    assert kept.dropped is None
    left = lease_result(
        *args, archive_filter=None, known_urls=set(), options=PageOptions(obey=("nofollow", "noarchive"))
    )
    assert left.dropped.reason == "noarchive"
    assert left.decision == kept.decision
