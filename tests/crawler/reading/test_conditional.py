"""What a server said of a page is sent back only as a header may be, whatever was stored."""

from dataclasses import replace

import pytest

from tests.crawler.server import page
from tests.crawler.test_archive_filter import captured
from tests.storage.captures import RECORD_ID
from thresher.core import RecordRef
from thresher.crawler.reading.conditional import conditional_headers, next_visit_state
from thresher.crawler.reading.page_reading import page_response
from thresher.crawler.worker import run_worker
from thresher.frontier import Outcome
from thresher.frontier.request_state import RequestState
from thresher.storage.warc.cdxj import make_row

REF = RecordRef(file="f", offset=0, length=1, digest="sha1:X")
GOOD = ['"v1"', 'W/"v1"', '"\xe9\xff"', "unquoted", '"a\tb"', "Sat, 01 Nov 2025 00:00:00 GMT"]
BAD = ['"a\rX: y"', '"a\nX: y"', '"a\0"', '"a\x1b[2J"', '"a\x7f"', '"\u20ac"', '"\ud800"', '"\u2028"']
KNOWN = RequestState(digest="sha1:X", record_id="urn:x", date_ms=1)


@pytest.mark.parametrize("said", GOOD)
def test_a_value_of_a_header_is_sent_as_it_was_received(said):
    assert conditional_headers(replace(KNOWN, etag=said, last_modified=said)) == [
        ("If-None-Match", said),
        ("If-Modified-Since", said),
    ]


@pytest.mark.parametrize("said", BAD)
def test_what_is_no_value_of_a_header_is_not_sent(said):
    assert conditional_headers(replace(KNOWN, etag=said, last_modified="x")) == [("If-Modified-Since", "x")]
    assert conditional_headers(replace(KNOWN, etag="x", last_modified=said)) == [("If-None-Match", "x")]


@pytest.mark.parametrize("said", BAD)
@pytest.mark.parametrize("before", [RequestState(), KNOWN], ids=["first", "again"])
def test_what_is_no_value_of_a_header_is_not_kept(said, before):
    found = replace(
        page_response(captured(headers=(("ETag", said), ("Last-Modified", said)))), record_id=RECORD_ID.urn
    )
    for came in (found, replace(found, digest=before.digest)):
        kept = next_visit_state(before, came)
        assert (kept.etag, kept.last_modified) == ("", "")
        assert kept.date_ms


@pytest.mark.parametrize(("said", "kept"), [*((said, said) for said in GOOD), *((said, "") for said in BAD)])
def test_an_index_has_values_of_headers_alone(said, kept):
    made = make_row(
        ref=REF, url="http://a.test/", date_ms=0, mime="", status=200, etag=f" {said} ", last_modified=said
    )
    assert (made.etag, made.last_modified) == (kept, kept)


def test_a_page_is_visited_again_whose_server_says_what_cannot_be_sent_back(crawl, site):
    site.answers["/"] = page("x", 'ETag: "a\rX: y"', "Last-Modified: Mon,\r 01 Jan 2024 00:00:00 GMT")
    bad = replace(KNOWN, etag='"a\rX: y"', last_modified="Mon,\r 01")
    crawl.seed(f"{site.url}/", state=bad)
    run_worker(crawl.config("w"))
    assert crawl.stats.outcomes[Outcome.FETCHED] == 1
    assert b"If-" not in site.requests[-1]
    crawl.seed(f"{site.url}/", generation=1, interval_s=3600)
    run_worker(crawl.config("again"))
    assert site.paths["/"] == 2
    assert crawl.stats.outcomes[Outcome.FETCHED] == 2
