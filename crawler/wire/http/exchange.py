"""`ExchangeResult`: the result of one request, in either protocol. `ExchangeTimer`: how long it may take."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from thresher.crawler.wire.http.message import Message
from thresher.crawler.wire.limits import MIN_BYTES_PER_S, QUIET_S, Limits

STALL_S = 0.25
"""Seconds by which a timer may be late before the loop counts as stalled; a busy loop is late by some milliseconds."""

ExchangeFailure = Literal["disconnect", "first_byte", "time", "protocol", "broken"]
"""Why an exchange ended before its response did. `broken`: the body is not framed as its head says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeResult:
    """One request and as much of its response as came."""

    request: bytes
    """The request as it is archived."""
    message: Message | None = None
    failure: ExchangeFailure | None = None
    detail: str = ""
    first_byte_ms: int | None = None
    """Milliseconds; None if not a byte came."""


class ExchangeTimer:
    """The clock of one exchange: one timer, which checks now and then whether enough bytes came.

    It calls `expire` once: with `first_byte` or `time`, or with None if it waited for a silence (`wait_for_close`). If
    a check runs late, because the event loop was busy with something else, it is put off once by the same time: nobody
    has read yet what came meanwhile.
    """

    __slots__ = (
        "_begun",
        "_deadline",
        "_expire",
        "_first_at",
        "_limits",
        "_loop",
        "_seen",
        "_silent",
        "_spared",
        "_timer",
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
        """`left_s`: seconds that the exchange may still take."""
        self._loop, self._limits, self._expire = loop, limits, expire
        self._begun = self._window_at = loop.time()
        self._deadline = self._begun + left_s
        self._first_at = self._silent = 0.0
        self._seen = 0
        self._spared = False
        self.received_bytes = 0
        """Bytes that came so far."""
        self._timer = loop.call_at(self._next(), self._look)

    @property
    def first_byte_ms(self) -> int | None:
        """Milliseconds until the first byte; None until it came."""
        return round((self._first_at - self._begun) * 1000) if self.received_bytes else None

    def add_bytes(self, count: int) -> None:
        """Note that `count` bytes came."""
        if not self.received_bytes:
            self._first_at = self._window_at = self._loop.time()
        self.received_bytes += count

    def wait_for_close(self) -> None:
        """Take `QUIET_S` without a byte for the end of the connection: only that end is outstanding."""
        self._silent = self._loop.time() + QUIET_S
        self._timer.cancel()
        self._timer = self._loop.call_at(min(self._silent, self._next()), self._look)

    def cancel(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _next(self) -> float:
        if not self.received_bytes:
            wait = min(self._begun + self._limits.timeout_s, self._loop.time() + self._limits.window_s)
        else:
            wait = self._window_at + self._limits.window_s
        return min(wait, self._deadline)

    def _look(self) -> None:
        now = self._loop.time()
        late = now - self._timer.when()
        self._spared = late > STALL_S and not self._spared
        if self._spared:
            self._timer = self._loop.call_at(now + late, self._look)
            return None
        if now >= self._deadline:
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
