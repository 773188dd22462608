"""The results of a request without a response: `FetchFailure` and `Postponement`, with their reasons and symptoms."""

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
"""The guard sets `..._blocked`, and then nothing was sent. `timeout` means that a head began and did not end in time;
each other `timeout_...` names the part that took too long.
"""


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
"""What a failure shows:

- `answered`: a remote side answered, if only to refuse.
- `denied`: name servers say that the name does not exist, or the guard forbids the address.
- `silent`: nobody answered.
- `no_name_server`: no name server could tell the address.
- `no_route`: no route leads there from this machine.
- `no_proxy`: the proxy cannot be connected to, or does not serve us.
- `mute_proxy`: the proxy can be connected to, and says nothing.
- `no_resources`: this machine has no socket or no memory left.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailure:
    """No response came; `reason`, `detail` and `symptom` say why."""

    reason: FailureReason
    detail: str
    symptom: Symptom = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponement:
    """No response came, and the host is not at fault. From a client: it is not the address's turn, and nothing was
    sent.
    """

    wait_ms: int
    """Milliseconds after which another try makes sense."""
    has_sent_request: bool = False
    """Whether a request may have reached the host."""


_NO_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EHOSTDOWN})

Acquire = Callable[[str], Awaitable[int]]
"""Returns 0 if an address may be requested now, otherwise the milliseconds until its turn."""


async def acquire_at_once(_: str) -> int:
    """Return 0: any address may be requested at any time."""
    return 0


def utc_ms() -> int:
    """Return the milliseconds since the epoch by this machine's clock."""
    return time.time_ns() // 1_000_000


def one_line(error: BaseException | None, otherwise: str = "no response") -> str:
    """Return what went wrong as one line."""
    return " ".join(str(error or otherwise).split()) or type(error).__name__


def connection_failure(error: BaseException) -> FetchFailure:
    """Return the failure of a connection that could not be made."""
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
