"""How the lease of a page ends that a user's spider has seen, or has not, and what the spider gets of it."""

from dataclasses import replace

import pytest
import scrapy
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from core import Capture
from crawler import note
from crawler.guest.delivery import delivery
from crawler.guest.visit import Visit, ended, forbids_links, left_out
from crawler.options import USUAL, PageOptions
from crawler.outcome import CRASHED, Judgement, of_failure
from crawler.page import settled
from crawler.screen import finished
from crawler.settle import Finished
from crawler.steward import Fetched
from crawler.wire import Failure, Wait
from frontier import Outcome
from tests.crawler.leases import lease
from tests.crawler.test_errand import SPIDER
from tests.crawler.test_page import BLOCK
from tests.crawler.test_screen import captured
from tests.storage.captures import RECORD_ID

URL = "http://example.org/"
REQUEST = scrapy.Request(URL)
RESPONSE = Response(URL)
ERRAND = b'{"v":1,"c":"parse_item"}'
NOTE = note.encode(note.Note(errand=ERRAND))
BLOCKED = captured(body=BLOCK.encode())
LOST = captured(body=b"x", truncated="length")


def visited(found, **changes):
    """A visit whose exchange came to this."""
    of = lease(URL, **{"note": NOTE, **changes})
    reading = None
    if isinstance(found, Capture):
        reading = finished(replace(of, max_depth=of.depth), found, RECORD_ID, screen=None, known=())
    elif isinstance(found, Failure):
        reading = Finished(lease=of, answer=settled(of, of_failure(found.reason)))
    fetched = None if found is None else Fetched(found=found)
    return Visit(lease=of, fetched=fetched, reading=reading)


def end(found, result=RESPONSE, request=REQUEST, known=(), *, failed=False, **changes):
    visit = visited(found, **changes)
    visit.failed = failed
    return ended(visit, result, request, SPIDER, known=known, options=USUAL)


def test_the_next_visit_and_the_target_of_a_redirect_keep_the_errand():
    page = end(captured(headers=(("ETag", '"a"'),)), interval_s=60).answer
    assert note.decode(page.note).errand == ERRAND
    moved = end(captured(301, headers=(("Location", "/there"),)), max_depth=0, priority=4).answer
    (target,) = moved.discoveries
    assert (target.url.text, target.depth, target.hops, target.max_depth) == (f"{URL}there", 0, 1, 0)
    assert target.priority == 4
    carried = note.decode(target.note).errand
    assert carried.startswith(b'{"v":1,"c":"parse_item","m":{"redirect_')
    assert not target.notify
    (target,) = end(captured(301, headers=(("Location", "/there"),)), notify=True).answer.discoveries
    assert target.notify


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


def test_what_our_own_handler_raises_is_no_fault_of_a_middleware():
    visit = visited(LOST)
    visit.raised = IgnoreRequest("truncated_length")
    assert (
        ended(visit, visit.raised, REQUEST, SPIDER, known=(), options=USUAL).answer.reason
        == "truncated_length"
    )
    assert ended(visit, IgnoreRequest(), REQUEST, SPIDER, known=(), options=USUAL).answer.reason == "ignored"


def test_a_page_that_is_not_asked_for_ends_as_it_was_refused_whatever_middlewares_make_of_it():
    visit = Visit(lease=lease(URL), refusal=Judgement(outcome=Outcome.REFUSED, reason="robots"))
    for result in (RESPONSE, IgnoreRequest(), scrapy.Request(f"{URL}x")):
        made = ended(visit, result, REQUEST, SPIDER, known=(), options=USUAL)
        assert (made.answer.outcome, made.answer.reason) == (Outcome.REFUSED, "robots")


def moved(location, status=301):
    return captured(status, headers=(("Location", location),))


@pytest.mark.parametrize(
    ("found", "attempt", "meta", "got"),
    [
        (captured(), 0, {}, "response"),
        (captured(404), 0, {}, "response"),
        (captured(304), 0, {}, None),
        (captured(503), 1, {}, None),
        (captured(503), 2, {}, "response"),
        (BLOCKED, 1, {}, None),
        (BLOCKED, 2, {}, "HttpError block_page: the response is no page"),
        (moved("/there"), 0, {}, None),
        (moved("/there"), 0, {"handle_httpstatus_list": [301]}, "response"),
        (moved("/there"), 0, {"dont_redirect": True}, "response"),
        (moved("/"), 0, {}, "IgnoreRequest to_itself"),
        (moved("/"), 0, {"dont_redirect": True}, "response"),
        (moved("http://elsewhere.test/"), 0, {}, "IgnoreRequest out_of_scope"),
        (moved("ftp://example.org/"), 0, {}, "response"),
        (captured(301), 0, {}, "response"),
        (Wait(ms=1), 0, {}, None),
        (None, 0, {}, "response"),
    ],
)
def test_the_spider_gets_what_is_final_and_no_redirect_that_it_does_not_ask_for(found, attempt, meta, got):
    response = RESPONSE.replace(status=found.status) if isinstance(found, Capture) else RESPONSE
    came = delivery(visited(found, attempt=attempt), response, scrapy.Request(URL, meta=meta), SPIDER, USUAL)
    if isinstance(came, Exception):
        assert f"{type(came).__name__} {came}" == got
    else:
        assert came is (response if got else None)


@pytest.mark.parametrize(
    ("reason", "attempt", "is_told"), [("refused", 0, False), ("refused", 2, True), ("tls", 0, True)]
)
def test_the_spider_gets_an_exception_where_no_response_came(reason, attempt, is_told):
    error = ConnectionError()
    visit = visited(Failure(reason=reason, detail=""), attempt=attempt)
    assert delivery(visit, error, REQUEST, SPIDER, USUAL) is (error if is_told else None)


def test_a_page_that_kills_its_reader_is_a_failure():
    visit = visited(captured())
    visit.reading = replace(visit.reading, answer=settled(visit.lease, CRASHED))
    assert str(delivery(visit, RESPONSE, REQUEST, SPIDER, USUAL)) == "parser_crash"


@pytest.mark.parametrize(
    ("url", "attempt", "got"),
    [
        (URL, 0, None),
        (URL, 2, "DownloadFailedError('middleware')"),
        (f"{URL}x", 2, None),
        ("http://elsewhere.test/", 0, "IgnoreRequest('out_of_scope')"),
        ("ftp://example.org/", 0, "IgnoreRequest('no_url')"),
    ],
)
def test_the_spider_hears_where_the_request_of_a_middleware_leads_nowhere(url, attempt, got):
    came = delivery(visited(captured(), attempt=attempt), scrapy.Request(url), REQUEST, SPIDER, USUAL)
    assert (came and repr(came)) == got
    came = delivery(visited(captured(), hops=10), scrapy.Request(f"{URL}x"), REQUEST, SPIDER, USUAL)
    assert repr(came) == "IgnoreRequest('too_many_hops')"


def test_whether_links_are_followed_is_known_from_the_reading_of_the_page():
    assert forbids_links(visited(captured(body=b'<meta name="robots" content="nofollow">')), USUAL)
    assert forbids_links(visited(captured(403, headers=(("X-Robots-Tag", "nofollow"),))), USUAL)
    assert not forbids_links(visited(captured()), USUAL)
    assert not forbids_links(
        visited(captured(body=b'<meta name="robots" content="nofollow">')), PageOptions(obey=())
    )
    assert not forbids_links(visited(None), USUAL)


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
