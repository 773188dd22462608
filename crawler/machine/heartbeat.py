"""`Pulse`: a worker says that it lives, and stops when nobody can have heard it.

1. It beats before it leases anything, and then at least three times in the time for which a beat counts.
2. A worker that was not heard of for that long (its machine slept, its network was gone) may have been given up:
   its leases taken back, its archive file taken up. From then on `check` raises, and it stays so, whatever is heard
   of it later. The same holds when the frontier says so: it refuses a name that was taken over (`frontier.takeover`), whatever
   the worker's clock has seen.
"""

import asyncio
from collections.abc import Awaitable, Callable

from core import Unavailable
from crawler.machine.boot_clock import boot_s
from frontier import TakeoverError


class Heartbeat:
    """The heartbeat of one worker."""

    def __init__(
        self,
        beat: Callable[[], Awaitable[None]],
        *,
        worker: str,
        ttl_s: float,
        period_s: float | None = None,
        clock: Callable[[], float] = boot_s,
    ) -> None:
        """`beat` says that the worker lives, for `ttl_s` from now (`Frontier.beat`). It is called every `period_s`: a third of
        that, where not said.
        """
        self._period_s = ttl_s / 3 if period_s is None else period_s
        self._beat, self._worker, self._ttl_s, self._clock = beat, worker, ttl_s, clock
        self._last_beat: float | None = None

    async def send(self) -> None:
        """The first beat. Raises `Unavailable` where it cannot be told, and `TakeoverError` where the frontier refuses it."""
        begun = self._clock()
        try:
            await self._beat()
        except TakeoverError:
            self._last_beat = None
            raise
        self._last_beat = begun

    async def run(self) -> None:
        """Beat until cancelled, or given up."""
        while True:
            await asyncio.sleep(self._period_s)
            if self._is_given_up():
                return
            try:
                await self.send()
            except TakeoverError:
                return
            except Unavailable:
                continue

    async def send_now(self) -> None:
        """Beat now, out of turn, unless the worker may have been given up. Raises `Unavailable` where it cannot be told."""
        if not self._is_given_up():
            await self.send()

    async def wait_until_expired(self) -> None:
        """Return when `check` raises."""
        while not self._is_given_up():
            assert self._last_beat is not None
            left_s = self._last_beat + self._ttl_s - self._clock()
            await asyncio.sleep(min(max(left_s, 0.0), self._period_s))

    def check(self) -> None:
        """Raises `TakeoverError` where the last beat that was heard counts no more."""
        if self._is_given_up():
            raise TakeoverError(
                f"worker {self._worker} was not heard of for {self._ttl_s:g} s and may have been given up; it stops"
            )

    def _is_given_up(self) -> bool:
        if self._last_beat is not None and self._clock() - self._last_beat >= self._ttl_s:
            self._last_beat = None
        return self._last_beat is None

    def __repr__(self) -> str:
        return f"<pulse of {self._worker}>"
