"""What asking comes to where it comes to no capture, and the words for why."""

import errno
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

FailureReason = Literal[
    "address_blocked",
    "dns",
    "dns_timeout",
    "name_blocked",
    "port_blocked",
    "protocol",
    "proxy",
    "refused",
    "reset",
    "timeout",
    "timeout_connect",
    "timeout_first_byte",
    "timeout_tls",
    "tls",
    "tls_expired",
    "tls_self_signed",
    "tls_wrong_host",
    "unreachable",
]
"""`..._blocked` are the guard's, and nothing was asked; `timeout` is for a head that was begun and did not end in time; the others say which part took too long."""


Symptom = Literal[
    "answered",
    "denied",
    "silent",
    "no_name_server",
    "no_route",
    "no_proxy",
    "mute_proxy",
    "no_resources",
]
"""What a failure shows: somebody out there answered, if only to refuse; the name is said not to exist, or the guard forbids
the address; nobody answered; no name server could tell the address; no route leads there from this machine; the proxy cannot be
connected to, or does not serve us; it can, and says nothing; this machine has no socket left, or no memory.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailure:
    """No response came, and why."""

    reason: FailureReason
    detail: str
    symptom: Symptom = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponement:
    """No answer came, and that is not the host's fault. From a client: it is not the address's turn, and nothing was asked."""

    wait_ms: int
    """Until it is of use to ask again."""
    has_sent_request: bool = False
    """Whether a request may have come to the host."""


_NO_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EHOSTDOWN})

Acquire = Callable[[str], Awaitable[int]]
"""Whether an address may be asked now: 0, or how many milliseconds until its turn."""


async def acquire_at_once(_: str) -> int:
    """Any address may be asked, at any time."""
    return 0


def utc_ms() -> int:
    """Milliseconds since the epoch by this machine's clock."""
    return time.time_ns() // 1_000_000


def one_line(error: BaseException | None, otherwise: str = "no response") -> str:
    """One line that says what went wrong."""
    return " ".join(str(error or otherwise).split()) or type(error).__name__


def connection_failure(error: BaseException) -> FetchFailure:
    """What it comes to that a connection could not be made."""
    number = error.errno if isinstance(error, OSError) else None
    detail = os.strerror(number) if number is not None and number > 0 else one_line(error)
    match error:
        case TimeoutError():
            return FetchFailure(
                reason="timeout_connect", detail="nobody answered the connection", symptom="silent"
            )
        case ConnectionRefusedError():
            return FetchFailure(reason="refused", detail=detail, symptom="answered")
        case ConnectionError():
            return FetchFailure(reason="reset", detail=detail, symptom="answered")
        case OSError() if number in _NO_RESOURCES:
            return FetchFailure(reason="unreachable", detail=detail, symptom="no_resources")
        case OSError() if number in _NO_ROUTE:
            return FetchFailure(reason="unreachable", detail=detail, symptom="no_route")
    return FetchFailure(reason="unreachable", detail=detail)
