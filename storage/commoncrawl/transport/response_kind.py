"""What the answers of a busy archive mean. Pure.

1. A file that is not there, and a range that it has not, are facts: asking again changes nothing.
2. 403, 408, 429 and all of 5xx are how Common Crawl says that too much is asked (status page and FAQ: "403, 503 SlowDown"): the
   request may succeed later, and less is to be asked at a time. So it is with a lost connection and a body that is cut, but that
   says nothing of how much was asked.
3. Wrong keys and wrong addresses stay wrong.
"""

from dataclasses import dataclass

from aiohttp import ClientConnectorCertificateError, InvalidURL, TooManyRedirects

from storage.s3.s3_errors import (
    ACCESS_DENIED_CODES,
    RETRYABLE_CODES,
    WRONG_KEYS,
    DamagedReply,
    retryable_failure,
)

SLOW = frozenset({403, 429, 500, 502, 503, 504, 509})
FORBIDDEN = frozenset({401, 403})
LASTING = (ClientConnectorCertificateError, InvalidURL, TooManyRedirects)
"""Of aiohttp: what is wrong with the address itself."""


class ResponseError(Exception):
    """An answer that is not the bytes that were asked for."""

    def __init__(self, status: int, code: str = "", wait_ms: int = 0) -> None:
        super().__init__(f"{code or 'answer'}, status {status}")
        self.status = status
        self.code = code
        """Of an S3 server, where it says one."""
        self.wait_ms = wait_ms
        """Retry-After."""

    @property
    def is_missing(self) -> bool:
        """Whether there are no such bytes, and never will be."""
        return self.status in (404, 410, 416)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDecision:
    """A request to be sent again."""

    reason: str
    wait_ms: int = 0
    is_slow_down: bool = False
    """Whether less is to be asked at a time."""
    is_doubtful: bool = False
    """Whether it may as well be meant: no right to it, no such file where a bucket does not say so, nobody at that address."""


def retry_decision(error: Exception) -> RetryDecision | None:
    """Why the request may be sent again; None where that would change nothing."""
    if isinstance(error, ResponseError):
        forbidden = error.status in FORBIDDEN or error.code in ACCESS_DENIED_CODES
        slow = error.status in SLOW or error.code in RETRYABLE_CODES
        if error.code in WRONG_KEYS or not (slow or forbidden or error.status == 408 or error.status > 504):
            return None
        return RetryDecision(
            reason=str(error), wait_ms=error.wait_ms, is_slow_down=slow, is_doubtful=forbidden
        )
    if isinstance(error, LASTING):
        return None
    found = retryable_failure(error)
    return RetryDecision(reason=found.reason, wait_ms=found.wait_ms, is_doubtful=True) if found else None


__all__ = ["DamagedReply", "ResponseError", "RetryDecision", "retry_decision"]
