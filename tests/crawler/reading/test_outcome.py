import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.reading.outcome import MAX_WAIT_MS, judge_failure, judge_response, retry_after_ms
from thresher.frontier import Outcome

NOW = 1_700_000_000_000  # Tue, 14 Nov 2023 22:13:20 GMT


def judged(status, truncated=None, retry_after=None, attempt=0):
    found = judge_response(status, truncated=truncated, retry_after=retry_after, now_ms=NOW, attempt=attempt)
    return found.outcome, found.reason


@pytest.mark.parametrize(
    ("status", "outcome", "reason"),
    [
        (200, "fetched", ""),
        (204, "fetched", "status_204"),
        (301, "redirected", ""),
        (308, "redirected", ""),
        (304, "retry", "status_304"),
        (404, "gone", "status_404"),
        (410, "gone", "status_410"),
        (403, "fetched", "status_403"),
        (408, "retry", "status_408"),
        (429, "retry", "status_429"),
        (500, "retry", "status_500"),
        (503, "retry", "status_503"),
        (999, "fetched", "status_999"),
    ],
)
def test_what_a_status_means(status, outcome, reason):
    assert judged(status) == (outcome, reason)


def test_a_response_that_is_not_whole_is_fetched_and_says_so():
    assert judged(200, truncated="length") == (Outcome.FETCHED, "truncated_length")


def test_a_page_that_breaks_off_is_asked_for_once_more():
    assert judged(200, truncated="disconnect") == (Outcome.RETRY, "truncated_disconnect")
    assert judged(200, truncated="disconnect", attempt=1) == (Outcome.FETCHED, "truncated_disconnect")
    assert judged(404, truncated="disconnect") == (Outcome.GONE, "status_404")


@pytest.mark.parametrize(
    ("reason", "outcome", "fault"),
    [
        ("dns", "retry", "dns"),
        ("timeout", "retry", "timeout"),
        ("reset", "retry", "reset"),
        ("refused", "retry", "connect"),
        ("unreachable", "retry", "connect"),
        ("address_blocked", "refused", None),
        ("name_blocked", "refused", None),
        ("port_blocked", "refused", None),
        ("tls", "failed", "tls"),
        ("protocol", "failed", None),
    ],
)
def test_what_no_response_means(reason, outcome, fault):
    found = judge_failure(reason)
    assert (found.outcome, found.reason, found.fault) == (outcome, reason, fault)


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (200, None),
        (403, "forbidden"),
        (404, None),
        (408, None),
        (429, "busy"),
        (500, "server"),
        (502, "server"),
        (503, "busy"),
    ],
)
def test_what_a_status_says_of_the_host(status, fault):
    assert judge_response(status, truncated=None, retry_after=None, now_ms=NOW, attempt=0).fault == fault


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("0", 0),
        (" 7 ", 7_000),
        ("99999999999999999999", MAX_WAIT_MS),
        ("Tue, 14 Nov 2023 22:13:30 GMT", 10_000),
        ("Tue, 14 Nov 2023 22:13:10 GMT", 0),
        ("Tue, 14 Nov 2033 22:13:10 GMT", MAX_WAIT_MS),
        ("soon", None),
        ("-5", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_within_an_hour(text, wait):
    assert retry_after_ms(text, NOW) == wait


@given(st.text(max_size=40))
def test_no_retry_after_breaks_it(text):
    wait = retry_after_ms(text, NOW)
    assert wait is None or 0 <= wait <= MAX_WAIT_MS


def test_the_whole_host_waits_where_the_server_says_that_we_are_too_fast():
    found = judge_response(429, truncated=None, retry_after="5", now_ms=NOW, attempt=0)
    assert (found.retry_after_ms, found.hold_ms) == (5_000, 5_000)
    assert judge_response(503, truncated=None, retry_after=None, now_ms=NOW, attempt=0).hold_ms == 0
    assert judge_response(408, truncated=None, retry_after="5", now_ms=NOW, attempt=0).hold_ms == 0
    assert judge_response(500, truncated=None, retry_after="5", now_ms=NOW, attempt=0).hold_ms == 0


@pytest.mark.parametrize("text", ["0", "Tue, 14 Nov 2023 22:13:10 GMT"])
def test_who_says_that_we_are_too_fast_and_may_come_at_once_rests_for_a_second(text):
    found = judge_response(503, truncated=None, retry_after=text, now_ms=NOW, attempt=0)
    assert (found.retry_after_ms, found.hold_ms) == (1_000, 1_000)
