"""How the lease of a page ends that a user's spider has seen, or has not."""

import pytest
import scrapy
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from crawler import note
from crawler.guest.visit import Visit, ended, is_for_spider, left_out
from crawler.options import USUAL
from crawler.wire import Failure, Wait
from frontier import Outcome
from tests.crawler.leases import lease
from tests.crawler.test_errand import SPIDER
from tests.crawler.test_screen import captured
from tests.storage.captures import RECORD_ID

URL = "http://example.org/"
REQUEST = scrapy.Request(URL)
RESPONSE = Response(URL)
ERRAND = b'{"v":1,"c":"parse_item"}'
NOTE = note.encode(note.Note(errand=ERRAND))


def end(found, result=RESPONSE, request=REQUEST, known=(), *, failed=False, **changes):
    visit = Visit(lease=lease(URL, note=NOTE, **changes), found=found, failed=failed)
    return ended(visit, result, request, SPIDER, record_id=RECORD_ID, screen=None, known=known, options=USUAL)


def test_the_next_visit_and_the_target_of_a_redirect_keep_the_errand():
    page = end(captured(headers=(("ETag", '"a"'),)), interval_s=60).answer
    assert note.decode(page.note).errand == ERRAND
    moved = end(captured(301, headers=(("Location", "/there"),)), max_depth=0, priority=4).answer
    (target,) = moved.discoveries
    assert (target.url.text, target.depth, target.hops, target.max_depth) == (f"{URL}there", 0, 1, 0)
    assert target.priority == 4
    assert note.decode(target.note).errand == ERRAND


@pytest.mark.parametrize(
    ("found", "result", "failed", "outcome", "reason"),
    [
        (captured(), RESPONSE, False, Outcome.FETCHED, ""),
        (captured(), RESPONSE, True, Outcome.FETCHED, "callback_error"),
        (captured(404), RESPONSE, True, Outcome.GONE, "callback_error"),
        (captured(503), RESPONSE, True, Outcome.RETRY, "status_503"),
        (captured(), IgnoreRequest(), False, Outcome.FETCHED, "ignored"),
        (captured(), ZeroDivisionError(), False, Outcome.FETCHED, "middleware_error"),
        (captured(), scrapy.Request(URL), False, Outcome.RETRY, "middleware"),
        (captured(), scrapy.Request(f"{URL}x"), False, Outcome.FETCHED, ""),
        (Failure(reason="refused", detail=""), ConnectionError(), False, Outcome.RETRY, "refused"),
        (None, RESPONSE, False, Outcome.FETCHED, "middleware"),
        (None, RESPONSE, True, Outcome.FETCHED, "callback_error"),
        (None, IgnoreRequest(), False, Outcome.REFUSED, "ignored"),
        (None, ZeroDivisionError(), False, Outcome.FAILED, "middleware_error"),
        (None, scrapy.Request(URL), False, Outcome.RETRY, "middleware"),
        (None, scrapy.Request(f"{URL}x"), False, Outcome.REDIRECTED, "middleware"),
    ],
)
def test_every_way_through_the_spiders_side_has_its_end(found, result, failed, outcome, reason):
    made = end(found, result, failed=failed)
    assert (made.answer.outcome, made.answer.reason) == (outcome, reason)
    assert made.answer.lease == made.lease == lease(URL, note=NOTE)
    assert bool(made.records) == (type(found).__name__ == "Capture")


def test_a_lease_that_is_given_back_is_not_settled():
    assert end(Wait(ms=5), IgnoreRequest()) is None


@pytest.mark.parametrize(
    ("found", "attempt", "meta", "shown"),
    [
        (captured(), 0, {}, True),
        (captured(404), 0, {}, True),
        (captured(304), 0, {}, False),
        (captured(503), 1, {}, False),
        (captured(503), 2, {}, True),
        (Failure(reason="refused", detail=""), 0, {}, False),
        (Failure(reason="refused", detail=""), 2, {}, True),
        (captured(301), 0, {}, False),
        (captured(301), 0, {"handle_httpstatus_list": [301]}, True),
        (captured(301), 0, {"dont_redirect": True}, True),
        (Wait(ms=1), 0, {}, False),
        (None, 0, {}, True),
    ],
)
def test_the_spider_is_shown_what_is_final_and_no_redirect_that_it_does_not_ask_for(
    found, attempt, meta, shown
):
    visit = Visit(lease=lease(URL, attempt=attempt), found=found)
    assert is_for_spider(visit, RESPONSE, scrapy.Request(URL, meta=meta), SPIDER) == shown


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://example.org/a", ""),
        ("http://example.com/a", "out_of_scope"),
        ("ftp://example.org/a", "no_url"),
        ("http://example.org/a/a/a/a/a/a/a/a/a/a/a/a", "trap"),
    ],
)
def test_requests_are_left_out_as_links_are(url, reason):
    assert left_out(lease(URL), scrapy.Request(url), USUAL) == reason
    assert left_out(lease(URL, depth=2, max_depth=2), scrapy.Request(url), USUAL) == "too_deep"
