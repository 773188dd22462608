"""What asking comes to where it comes to no capture, and the words for why."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "address_blocked",
    "dns",
    "dns_timeout",
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
"""`timeout` is for a head that was begun and did not end in time; the others say which part took too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """No response came, and why."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing was asked: it is not the address's turn."""

    ms: int


Enter = Callable[[str], Awaitable[int]]
"""Whether an address may be asked now: 0, or how many milliseconds until its turn."""


async def at_once(_: str) -> int:
    """Any address may be asked, at any time."""
    return 0


def utc_ms() -> int:
    """Milliseconds since the epoch by this machine's clock."""
    return time.time_ns() // 1_000_000


def line(error: BaseException | None, otherwise: str = "no response") -> str:
    """One line that says what went wrong."""
    return " ".join(str(error or otherwise).split()) or type(error).__name__
