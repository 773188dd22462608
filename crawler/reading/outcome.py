"""What an answer, or the lack of one, means for the lease: the retry policy. Pure.

| answer                          | outcome                                             | fault                |
|---------------------------------|-----------------------------------------------------|----------------------|
| 301 302 303 307 308             | REDIRECTED (to where: `reading.redirect_chain`)     |                      |
| 304                             | RETRY `status_304`: the request had no condition     |                      |
| 404 410                         | GONE `status_<nnn>`                                 |                      |
| 429 503                         | RETRY `status_<nnn>`; the host waits as Retry-After says | BUSY            |
| any other 5xx                   | RETRY `status_<nnn>`                                | SERVER               |
| 408 425                         | RETRY `status_<nnn>`                                |                      |
| 403                             | FETCHED `status_403`                                | FORBIDDEN            |
| any other status                | FETCHED, with `status_<nnn>` where it is not 200     |                      |
| no record can be made of it     | FAILED `no_record` (`crawler.settler`)               |                      |
| a page that kills its reader    | FAILED `parser_crash` (`crawler.page_process`)             |                      |
| its reading raises an exception | FAILED `reading` (`crawler.lease_handler`)                |                      |
| a page of a guard (any status)  | RETRY `block_page`                                  | BUSY                 |
| a page that breaks off          | RETRY `truncated_disconnect`, the first time it is asked |                 |
| a response that is not whole    | FETCHED `truncated_<why>`                           |                      |
| dns dns_timeout                 | RETRY                                               | DNS                  |
| refused unreachable             | RETRY                                               | CONNECT              |
| reset                           | RETRY                                               | RESET                |
| timeout timeout_...             | RETRY                                               | TIMEOUT              |
| tls tls_...                     | FAILED: asking again changes nothing                | TLS                  |
| proxy                           | RETRY; it says nothing of the host                  |                      |
| protocol                        | FAILED: the same; but it is an answer               |                      |
| address_blocked name_blocked port_blocked | REFUSED                                   |                      |

Failures on our own side are not judged here (`crawler.connectivity.uplink`): `proxy` is a proxy that found no way to
the host. A response that says that a page is unchanged, to a request that asked for this, is not judged here either
(`crawler.reading.conditional`). The frontier turns the third RETRY into FAILED with the same reason. It also knows what
a fault means for the host (`frontier.Fault`): the host rests, for longer each time. A host that says for how long rests
for just this time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from thresher.core import Capture
from thresher.core.capture import Truncation
from thresher.crawler.reading.page_response import HTTP_FORBIDDEN
from thresher.crawler.wire import FailureReason
from thresher.frontier import Fault, Outcome

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
RETRY_STATUSES = frozenset({304, 408, 425, 429})
GONE_STATUSES = frozenset({404, 410})
BUSY_STATUSES = frozenset({429, 503})  # RFC 6585, section 4; RFC 9110, section 15.6.4
MAX_WAIT_MS = 3_600_000
"""A Retry-After is obeyed for up to an hour; a server that asks for more is asked again after that."""
MIN_WAIT_MS = 1_000
"""Milliseconds that a host rests at least after 429 or 503, also if it names a time that has passed."""
FAULT_BY_REASON: Mapping[FailureReason, Fault] = {
    "dns": Fault.DNS,
    "dns_timeout": Fault.DNS,
    "refused": Fault.CONNECT,
    "reset": Fault.RESET,
    "timeout": Fault.TIMEOUT,
    "timeout_connect": Fault.TIMEOUT,
    "timeout_first_byte": Fault.TIMEOUT,
    "timeout_tls": Fault.TIMEOUT,
    "tls": Fault.TLS,
    "tls_expired": Fault.TLS,
    "tls_self_signed": Fault.TLS,
    "tls_wrong_host": Fault.TLS,
    "unreachable": Fault.CONNECT,
}
"""What the lack of a response says about the host."""

_FAILURES: Mapping[FailureReason, Outcome] = {
    "address_blocked": Outcome.REFUSED,
    "name_blocked": Outcome.REFUSED,
    "port_blocked": Outcome.REFUSED,
    "dns": Outcome.RETRY,
    "dns_timeout": Outcome.RETRY,
    "protocol": Outcome.FAILED,
    "proxy": Outcome.RETRY,
    "refused": Outcome.RETRY,
    "reset": Outcome.RETRY,
    "timeout": Outcome.RETRY,
    "timeout_connect": Outcome.RETRY,
    "timeout_first_byte": Outcome.RETRY,
    "timeout_tls": Outcome.RETRY,
    "tls": Outcome.FAILED,
    "tls_expired": Outcome.FAILED,
    "tls_self_signed": Outcome.FAILED,
    "tls_wrong_host": Outcome.FAILED,
    "unreachable": Outcome.RETRY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How a lease is to be settled."""

    outcome: Outcome
    reason: str
    retry_after_ms: int | None = None
    hold_ms: int = 0
    """Milliseconds for which the whole host is not requested; 0 if it did not say."""
    fault: Fault | None = None


BLOCK_PAGE = Judgement(outcome=Outcome.RETRY, reason="block_page", fault=Fault.BUSY)
"""Something between us and the host answered that we must stay away, or prove that we are human."""


LOGIN_ADDRESS = Judgement(outcome=Outcome.REFUSED, reason="login_address")
"""The URL logs in or out, at a host with a session (`crawler.sessions.login_end`)."""
NO_RECORD = Judgement(outcome=Outcome.FAILED, reason="no_record")
"""The exchange cannot be written as a record (`storage.warc.validator`): a fault of ours, and the same every time."""
PARSER_CRASH = Judgement(outcome=Outcome.FAILED, reason="parser_crash")
"""The page kills the process that reads it."""
READING_STEP = "reading"
READING_FAILED = Judgement(outcome=Outcome.FAILED, reason=READING_STEP)
"""The reading of the response raised an exception: a fault of ours, and the same every time."""


def judge_failure(reason: FailureReason) -> Judgement:
    """Return what it means that no response came."""
    return Judgement(outcome=_FAILURES[reason], reason=reason, fault=FAULT_BY_REASON.get(reason))


def judge_response(
    status: int, *, truncated: Truncation | None, retry_after: str | None, now_ms: int, attempt: int
) -> Judgement:
    """Return what a response means. It came at `now_ms`, from which a Retry-After date counts. `attempt` is the
    lease's.
    """
    if status in REDIRECT_STATUSES:
        return Judgement(outcome=Outcome.REDIRECTED, reason="")
    if status in RETRY_STATUSES or 500 <= status < 600:
        wait = retry_after_ms(retry_after, now_ms)
        fault = fault_of(status)
        if fault is Fault.BUSY and wait is not None:
            wait = max(wait, MIN_WAIT_MS)
        return Judgement(
            outcome=Outcome.RETRY,
            reason=f"status_{status}",
            retry_after_ms=wait,
            hold_ms=wait or 0 if fault is Fault.BUSY else 0,
            fault=fault,
        )
    reason = f"truncated_{truncated}" if truncated else ""
    if truncated == "disconnect" and not attempt and 200 <= status < 300:
        return Judgement(outcome=Outcome.RETRY, reason=reason)
    return Judgement(
        outcome=Outcome.GONE if status in GONE_STATUSES else Outcome.FETCHED,
        reason=reason if status == 200 else f"status_{status}",
        fault=fault_of(status),
    )


def judge_capture(capture: Capture, attempt: int = 0) -> Judgement:
    """Return what the response in a capture means. `attempt` is the lease's."""
    return judge_response(
        capture.status,
        truncated=capture.truncated,
        retry_after=capture.header("retry-after"),
        now_ms=capture.started_ms + capture.elapsed_ms,
        attempt=attempt,
    )


def too_busy(capture: Capture) -> Judgement | None:
    """Return what a response means whose server is too busy (429, 503); None for any other response."""
    return judge_capture(capture) if capture.status in BUSY_STATUSES else None


def fault_of(status: int) -> Fault | None:
    """Return what a status says about the host; None if the host works."""
    if status in BUSY_STATUSES:
        return Fault.BUSY
    if status == HTTP_FORBIDDEN:
        return Fault.FORBIDDEN
    return Fault.SERVER if 500 <= status < 600 else None


def retry_after_ms(retry_after: str | None, now_ms: int) -> int | None:
    """Return the milliseconds that a Retry-After asks for (RFC 9110, section 10.2.3), between 0 and an hour; None if
    there is none. A date without a zone is in UTC; a date that has passed asks for 0.
    """
    text = (retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        return min(int(text[:9]) * 1000, MAX_WAIT_MS)
    try:
        date = parsedate_to_datetime(text)
        until_ms = round((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return min(max(until_ms - now_ms, 0), MAX_WAIT_MS)


def decode_location(location: str) -> str:
    """Return a Location header, which was decoded as latin-1, as UTF-8 if it is valid UTF-8: so browsers read it."""
    try:
        return location if location.isascii() else location.encode("latin-1").decode()
    except UnicodeError:
        return location
