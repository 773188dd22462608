"""What an answer, or the lack of one, means for the lease: the retry policy. Pure.

| answer                          | outcome                                                                |
|---------------------------------|------------------------------------------------------------------------|
| 301 302 303 307 308             | REDIRECTED (`crawler.page` decides where to)                            |
| 408 425 429 and 5xx             | RETRY `status_<nnn>`; with Retry-After the whole host waits that long   |
| any other status                | FETCHED, with `status_<nnn>` where it is not 200                        |
| a response that is not whole    | FETCHED `truncated_<why>`                                               |
| timeout reset refused dns       | RETRY with that reason; so is `unreachable`                             |
| address_blocked                 | REFUSED                                                                |
| tls protocol                    | FAILED: asking again changes nothing                                    |

The frontier turns the third RETRY into FAILED with the same reason.
"""

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from core.capture import Truncation
from crawler.wire import Reason
from frontier import Outcome

REDIRECTS = frozenset({301, 302, 303, 307, 308})
ASK_AGAIN = frozenset({408, 425, 429})
SLOW_DOWN = frozenset({429, 503})  # RFC 6585, section 4; RFC 9110, section 15.6.4
LONGEST_WAIT_MS = 3_600_000
"""A Retry-After is obeyed for up to an hour; a server that asks for more is asked again after that."""
UNASKED_WAIT_MS = 30_000
"""How long a host rests that says 429 without saying for how long."""

_FAILURES: dict[Reason, Outcome] = {
    "address_blocked": Outcome.REFUSED,
    "dns": Outcome.RETRY,
    "protocol": Outcome.FAILED,
    "refused": Outcome.RETRY,
    "reset": Outcome.RETRY,
    "timeout": Outcome.RETRY,
    "tls": Outcome.FAILED,
    "unreachable": Outcome.RETRY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How a lease is to be settled."""

    outcome: Outcome
    reason: str
    retry_after_ms: int | None = None
    hold_ms: int = 0
    """How long the whole host is asked nothing."""


def of_failure(reason: Reason) -> Judgement:
    """No response came."""
    return Judgement(outcome=_FAILURES[reason], reason=reason)


def of_response(
    status: int, *, truncated: Truncation | None, retry_after: str | None, now_ms: int
) -> Judgement:
    """A response came. `now_ms` is when; a Retry-After date counts from it."""
    if status in REDIRECTS:
        return Judgement(outcome=Outcome.REDIRECTED, reason="")
    if status in ASK_AGAIN or 500 <= status < 600:
        wait = wait_ms(retry_after, now_ms)
        hold = 0
        if status in SLOW_DOWN:
            hold = (UNASKED_WAIT_MS if status == 429 else 0) if wait is None else wait
        return Judgement(outcome=Outcome.RETRY, reason=f"status_{status}", retry_after_ms=wait, hold_ms=hold)
    reason = f"truncated_{truncated}" if truncated else ""
    return Judgement(outcome=Outcome.FETCHED, reason=reason if status == 200 else f"status_{status}")


def wait_ms(retry_after: str | None, now_ms: int) -> int | None:
    """Milliseconds that a Retry-After asks for (RFC 9110, section 10.2.3), within 0 and an hour; None for none.

    A date is taken as UTC where it does not say; one that has passed asks for nothing.
    """
    text = (retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        return min(int(text[:9]) * 1000, LONGEST_WAIT_MS)
    try:
        date = parsedate_to_datetime(text)
        until_ms = round((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return min(max(until_ms - now_ms, 0), LONGEST_WAIT_MS)
