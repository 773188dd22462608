"""`Heard`: what came of one request, whatever was spoken. And `Watch`: how long it is waited for."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from crawler.wire.http.message import Message
from crawler.wire.limits import MIN_BYTES_PER_S, QUIET_S, Limits

STALL_S = 0.25
"""Seconds by which a timer may be late before the loop counts as stalled; a loop at work is late by some milliseconds."""

ExchangeFailure = Literal["disconnect", "first_byte", "time", "protocol", "broken"]
"""Why an exchange ended before its response did: `broken` is a body that is not framed as its head says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeResult:
    """One request and what was heard of its response."""

    request: bytes
    """As it is archived."""
    message: Message | None = None
    failure: ExchangeFailure | None = None
    detail: str = ""
    first_byte_ms: int | None = None
    """None where not a byte came."""


class ExchangeTimer:
    """The clock of one exchange: one timer, that looks now and then whether enough has come.

    `expire` is called once, with `first_byte` or `time`; with None where it was `quiet` that was waited for. A look that comes
    late, because the event loop was busy with something else, is put off once by as much: what came meanwhile lies unread.
    """

    __slots__ = (
        "_begun",
        "_expire",
        "_first_at",
        "_limits",
        "_loop",
        "_seen",
        "_silent",
        "_spared",
        "_timer",
        "_until",
        "_window_at",
        "received_bytes",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        left_s: float,
        expire: Callable[[ExchangeFailure | None], None],
    ) -> None:
        """`left_s` is what the exchange may take from here on."""
        self._loop, self._limits, self._expire = loop, limits, expire
        self._begun = self._window_at = loop.time()
        self._until = self._begun + left_s
        self._first_at = self._silent = 0.0
        self._seen = 0
        self._spared = False
        self.received_bytes = 0
        """Bytes."""
        self._timer = loop.call_at(self._next(), self._look)

    @property
    def first_byte_ms(self) -> int | None:
        """Milliseconds until the first byte; None as long as there is none."""
        return round((self._first_at - self._begun) * 1000) if self.received_bytes else None

    def add_bytes(self, count: int) -> None:
        """So many bytes came."""
        if not self.received_bytes:
            self._first_at = self._window_at = self._loop.time()
        self.received_bytes += count

    def wait_for_close(self) -> None:
        """Only the end of the connection is waited for: it is taken for the end when it stays quiet."""
        self._silent = self._loop.time() + QUIET_S
        self._timer.cancel()
        self._timer = self._loop.call_at(min(self._silent, self._next()), self._look)

    def cancel(self) -> None:
        """Look no more."""
        self._timer.cancel()

    def _next(self) -> float:
        if not self.received_bytes:
            wait = min(self._begun + self._limits.timeout_s, self._loop.time() + self._limits.window_s)
        else:
            wait = self._window_at + self._limits.window_s
        return min(wait, self._until)

    def _look(self) -> None:
        now = self._loop.time()
        late = now - self._timer.when()
        self._spared = late > STALL_S and not self._spared
        if self._spared:
            self._timer = self._loop.call_at(now + late, self._look)
            return None
        if now >= self._until:
            return self._expire("time" if self.received_bytes else "first_byte")
        if not self.received_bytes:
            if now >= self._begun + self._limits.timeout_s:
                return self._expire("first_byte")
        elif self._silent and now >= self._silent:
            return self._expire(None)
        elif now >= self._window_at + self._limits.window_s:
            if self.received_bytes - self._seen < MIN_BYTES_PER_S * self._limits.window_s:
                return self._expire("time")
            self._window_at, self._seen = now, self.received_bytes
        self._timer = self._loop.call_at(self._next(), self._look)
        return None
