"""Classify the responses of a busy archive. Pure.

1. A missing file and a range outside a file are facts: a retry changes nothing.
2. With 403, 408, 429 and all of 5xx, Common Crawl says that it gets too many requests (status page and FAQ: "403, 503
   SlowDown"). Such a request is retried. The statuses of `SLOW` also reduce the number of requests in flight. A lost
   connection and a body that is cut off are retried too, but do not reduce that number, because they say nothing about
   it.
3. Wrong keys and wrong addresses are not retried.
"""

from dataclasses import dataclass

from aiohttp import ClientConnectorCertificateError, ClientError, InvalidURL, TooManyRedirects

from thresher.storage.s3.s3_errors import (
    ACCESS_DENIED_CODES,
    RETRYABLE_CODES,
    WRONG_KEYS,
    DamagedReply,
    retryable_failure,
)

SLOW = frozenset({403, 429, 500, 502, 503, 504, 509})
FORBIDDEN = frozenset({401, 403})
LASTING = (ClientConnectorCertificateError, InvalidURL, TooManyRedirects)
"""Errors of aiohttp that lie in the address itself."""


class ResponseError(Exception):
    """The server responded, but not with the requested bytes."""

    def __init__(self, status: int, code: str = "", wait_ms: int = 0) -> None:
        super().__init__(f"{code or 'answer'}, status {status}")
        self.status = status
        self.code = code
        """Error code of an S3 server; empty if it sent none."""
        self.wait_ms = wait_ms
        """Milliseconds of the Retry-After field."""

    @property
    def is_missing(self) -> bool:
        """Whether the requested bytes do not exist."""
        return self.status in (404, 410, 416)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDecision:
    """A request may be sent again."""

    reason: str
    wait_ms: int = 0
    is_slow_down: bool = False
    """Whether fewer requests must be in flight."""
    is_doubtful: bool = False
    """Whether the failure may be permanent: no permission, a missing file in a bucket that does not admit it, or no
    server at the address.
    """


def retry_decision(error: Exception) -> RetryDecision | None:
    """Return why and how the request may be sent again; return None if a retry would change nothing."""
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
    if found is not None:
        return RetryDecision(reason=found.reason, wait_ms=found.wait_ms, is_doubtful=True)
    return (
        RetryDecision(reason="connection lost", is_doubtful=True) if isinstance(error, ClientError) else None
    )


__all__ = ["DamagedReply", "ResponseError", "RetryDecision", "retry_decision"]
