"""How the lease of a page ends with a user's spider, and what the spider receives."""

from dataclasses import replace

import pytest
import scrapy
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from tests.crawler.lease_results import lease_result
from tests.crawler.leases import lease
from tests.crawler.reading.test_page_reading import BLOCK
from tests.crawler.spiders.test_spider_request import SPIDER
from tests.crawler.test_archive_filter import captured
from tests.expect import expect
from tests.storage.captures import RECORD_ID
from thresher.core import Capture
from thresher.crawler.lease_handler import FetchResult
from thresher.crawler.lease_result import LeaseResult, settlement_for
from thresher.crawler.reading.outcome import PARSER_CRASH, Judgement, judge_failure
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.spiders.delivery import delivery
from thresher.crawler.spiders.visit import Visit, forbids_links, rejection_reason, visit_result
from thresher.crawler.wire import FetchFailure, Postponement
from thresher.frontier import Outcome, request_state
from thresher.frontier.lease import Settlement

URL = "http://example.org/"
REQUEST = scrapy.Request(URL)
RESPONSE = Response(URL)
SPIDER_REQUEST = b'{"v":1,"c":"parse_item"}'
STATE = request_state.RequestState(spider_request=SPIDER_REQUEST)
BLOCKED = captured(body=BLOCK.encode())
LOST = captured(body=b"x", truncated="length")


def visited(found, **changes):
    """A visit whose exchange came to this."""
    of = lease(URL, **{"state": STATE, **changes})
    reading = None
    if isinstance(found, Capture):
        reading = lease_result(
            replace(of, max_depth=of.depth), found, RECORD_ID, archive_filter=None, known_urls=()
        )
    elif isinstance(found, FetchFailure):
        reading = LeaseResult(lease=of, decision=settlement_for(of, judge_failure(found.reason)))
    fetched = None if found is None else FetchResult(result=found)
    return Visit(lease=of, fetch_result=fetched, result=reading)


def end(found, result=RESPONSE, request=REQUEST, known=(), *, failed=False, **changes):
    visit = visited(found, **changes)
    visit.has_callback_error = failed
    return visit_result(visit, result, request, SPIDER, known_urls=known, options=DEFAULT_OPTIONS)


def test_the_next_visit_and_the_target_of_a_redirect_keep_the_spider_request():
    page = end(captured(headers=(("ETag", '"a"'),)), interval_s=60).decision
    assert page.next_state.spider_request == SPIDER_REQUEST
    moved = end(captured(301, headers=(("Location", "/there"),)), max_depth=0, priority=4).decision
    (target,) = moved.discoveries
    assert (target.url.text, target.depth, target.hops, target.max_depth) == (f"{URL}there", 0, 1, 0)
    assert target.priority == 4
    carried = target.state.spider_request
    assert carried.startswith(b'{"v":1,"c":"parse_item","m":{"redirect_')
    assert not target.notify
    (target,) = end(captured(301, headers=(("Location", "/there"),)), notify=True).decision.discoveries
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
        (FetchFailure(reason="refused", detail=""), ConnectionError(), False, Outcome.RETRY, "refused"),
        (None, RESPONSE, False, Outcome.FETCHED, "middleware"),
        (None, RESPONSE, True, Outcome.FETCHED, "callback_error"),
        (None, IgnoreRequest(), False, Outcome.REFUSED, "ignored"),
        (None, ZeroDivisionError(), False, Outcome.FAILED, "middleware_error"),
        (None, scrapy.Request(URL), False, Outcome.RETRY, "middleware"),
        (None, scrapy.Request(f"{URL}x"), False, Outcome.REDIRECTED, "middleware"),
    ],
)
def test_every_way_through_the_spiders_middlewares_has_its_outcome(found, result, failed, outcome, reason):
    made = end(found, result, failed=failed)
    assert (made.decision.outcome, made.decision.reason) == (outcome, reason)
    assert made.decision.lease == made.lease == lease(URL, state=STATE)
    assert bool(made.records) == (type(found).__name__ == "Capture")


def test_a_postponed_lease_is_not_settled():
    assert end(Postponement(wait_ms=5), IgnoreRequest()) is None


def settlement(visit, result):
    made = visit_result(visit, result, REQUEST, SPIDER, known_urls=(), options=DEFAULT_OPTIONS)
    return expect(Settlement, expect(LeaseResult, made).decision)


def test_exceptions_of_our_own_handler_do_not_count_as_a_middlewares():
    visit = visited(LOST)
    visit.exception = IgnoreRequest("truncated_length")
    assert settlement(visit, visit.exception).reason == "truncated_length"
    assert settlement(visit, IgnoreRequest()).reason == "ignored"


def test_a_refused_page_ends_with_its_refusal_whatever_middlewares_do():
    visit = Visit(lease=lease(URL), refusal=Judgement(outcome=Outcome.REFUSED, reason="robots"))
    for result in (RESPONSE, IgnoreRequest(), scrapy.Request(f"{URL}x")):
        made = settlement(visit, result)
        assert (made.outcome, made.reason) == (Outcome.REFUSED, "robots")


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
        (Postponement(wait_ms=1), 0, {}, None),
        (None, 0, {}, "response"),
    ],
)
def test_the_spider_receives_final_responses_and_only_redirects_that_it_asks_for(found, attempt, meta, got):
    response = RESPONSE.replace(status=found.status) if isinstance(found, Capture) else RESPONSE
    came = delivery(
        visited(found, attempt=attempt), response, scrapy.Request(URL, meta=meta), SPIDER, DEFAULT_OPTIONS
    )
    if isinstance(came, Exception):
        assert f"{type(came).__name__} {came}" == got
    else:
        assert came is (response if got else None)


@pytest.mark.parametrize(
    ("reason", "attempt", "is_told"), [("refused", 0, False), ("refused", 2, True), ("tls", 0, True)]
)
def test_the_spider_receives_an_exception_if_no_response_came(reason, attempt, is_told):
    error = ConnectionError()
    visit = visited(FetchFailure(reason=reason, detail=""), attempt=attempt)
    assert delivery(visit, error, REQUEST, SPIDER, DEFAULT_OPTIONS) is (error if is_told else None)


def test_a_page_that_kills_its_reader_is_a_failure():
    visit = visited(captured())
    visit.result = replace(visit.result, decision=settlement_for(visit.lease, PARSER_CRASH))
    assert str(delivery(visit, RESPONSE, REQUEST, SPIDER, DEFAULT_OPTIONS)) == "parser_crash"


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
def test_the_spider_receives_an_exception_if_a_middlewares_request_is_rejected(url, attempt, got):
    came = delivery(
        visited(captured(), attempt=attempt), scrapy.Request(url), REQUEST, SPIDER, DEFAULT_OPTIONS
    )
    assert (came and repr(came)) == got
    came = delivery(visited(captured(), hops=10), scrapy.Request(f"{URL}x"), REQUEST, SPIDER, DEFAULT_OPTIONS)
    assert repr(came) == "IgnoreRequest('too_many_hops')"


def test_the_reading_of_a_page_decides_whether_its_links_are_followed():
    assert forbids_links(visited(captured(body=b'<meta name="robots" content="nofollow">')), DEFAULT_OPTIONS)
    assert forbids_links(visited(captured(403, headers=(("X-Robots-Tag", "nofollow"),))), DEFAULT_OPTIONS)
    assert not forbids_links(visited(captured()), DEFAULT_OPTIONS)
    assert not forbids_links(
        visited(captured(body=b'<meta name="robots" content="nofollow">')), PageOptions(obey=())
    )
    assert not forbids_links(visited(None), DEFAULT_OPTIONS)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://example.org/a", ""),
        ("http://example.com/a", "out_of_scope"),
        ("ftp://example.org/a", "no_url"),
        ("http://example.org/a/a/a/a/a/a/a/a/a/a/a/a", "trap"),
    ],
)
def test_requests_are_rejected_like_links(url, reason):
    assert rejection_reason(lease(URL), scrapy.Request(url), DEFAULT_OPTIONS) == reason
    assert (
        rejection_reason(lease(URL, depth=2, max_depth=2), scrapy.Request(url), DEFAULT_OPTIONS) == "too_deep"
    )
