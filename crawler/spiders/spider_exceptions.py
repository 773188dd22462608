"""The exceptions that a spider's errback receives for failed requests. Pure.

The exception is Scrapy's own type for the case, if there is one. Its text begins with the reason under which the
frontier counts the page.

| outcome of the page                                   | exception                                                   |
|-------------------------------------------------------|-------------------------------------------------------------|
| failed: no address                                    | `CannotResolveHostError`                                    |
| failed: connection refused                            | `DownloadConnectionRefusedError`                            |
| failed: too slow                                      | `DownloadTimeoutError`                                      |
| failed: anything else without a response              | `DownloadFailedError`                                       |
| refused, and a redirect that leads nowhere            | `IgnoreRequest`                                             |
| a status that is no success, a block page             | `HttpError`, with its `response`                            |
| a body longer than `crawler.max_body`                 | `DownloadCancelledError`                                    |
| a body that broke off                                 | `ResponseDataLossError`                                     |

The reason of a host that was given up names its cause: `dead_dns` has the same exception as `dns`.
"""

from collections.abc import Mapping

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)

from thresher.core.capture import Truncation
from thresher.frontier import Outcome

_DEAD = "dead_"
_TYPES: Mapping[str, type[Exception]] = {
    "dns": CannotResolveHostError,
    "dns_timeout": CannotResolveHostError,
    "refused": DownloadConnectionRefusedError,
    "timeout": DownloadTimeoutError,
    "timeout_connect": DownloadTimeoutError,
    "timeout_first_byte": DownloadTimeoutError,
    "timeout_tls": DownloadTimeoutError,
}


def spider_exception(outcome: Outcome, reason: str, detail: str = "") -> Exception:
    """Return the exception for a page that ended so without a response that a spider could receive."""
    kind: type[Exception] = IgnoreRequest
    if outcome in {Outcome.FAILED, Outcome.RETRY}:
        kind = _TYPES.get(reason.removeprefix(_DEAD), DownloadFailedError)
    return kind(f"{reason}: {detail}" if detail else reason)


def truncation_exception(truncated: Truncation) -> Exception:
    """Return the exception for a body that is incomplete."""
    kind = DownloadCancelledError if truncated == "length" else ResponseDataLossError
    return kind(f"truncated_{truncated}: the body is not whole")
