"""`Heartbeat`: a worker reports that it lives, and stops when its report may not have arrived.

1. The worker sends a heartbeat before it leases anything, and then at least three within the time for which one counts.
2. If no heartbeat of a worker arrived for that long (its machine slept, or its network was gone), other workers may
   have taken it over: they take back its leases and its archive file. From then on `check` raises, whatever arrives
   later. `check` also raises once the frontier refuses the worker's name because it was taken over
   (`frontier.takeover`), whatever the worker's clock says.
"""

import asyncio
from collections.abc import Awaitable, Callable

from thresher.core import Unavailable
from thresher.crawler.machine.boot_clock import boot_s
from thresher.frontier import TakeoverError


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
        """Call `beat` every `period_s`; the default is a third of `ttl_s`.

        `beat` sends a heartbeat that counts for `ttl_s` (`Workers.send_heartbeat`).
        """
        self._period_s = ttl_s / 3 if period_s is None else period_s
        self._beat, self._worker, self._ttl_s, self._clock = beat, worker, ttl_s, clock
        self._last_beat: float | None = None

    async def send(self) -> None:
        """Send a heartbeat. Raise `Unavailable` if the frontier cannot be reached, and `TakeoverError` if it refuses
        the heartbeat.
        """
        started_at = self._clock()
        try:
            await self._beat()
        except TakeoverError:
            self._last_beat = None
            raise
        self._last_beat = started_at

    async def run(self) -> None:
        """Send heartbeats until cancelled, or until the worker may have been taken over."""
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
        """Send a heartbeat at once, unless the worker may have been taken over. Raise `Unavailable` if the frontier
        cannot be reached.
        """
        if not self._is_given_up():
            await self.send()

    async def wait_until_expired(self) -> None:
        """Return as soon as `check` would raise."""
        while not self._is_given_up():
            assert self._last_beat is not None
            left_s = self._last_beat + self._ttl_s - self._clock()
            await asyncio.sleep(min(max(left_s, 0.0), self._period_s))

    def check(self) -> None:
        """Raise `TakeoverError` if the last heartbeat that arrived no longer counts."""
        if self._is_given_up():
            raise TakeoverError(
                f"worker {self._worker} was not heard of for {self._ttl_s:g} s and may have been given up; it stops"
            )

    def _is_given_up(self) -> bool:
        if self._last_beat is not None and self._clock() - self._last_beat >= self._ttl_s:
            self._last_beat = None
        return self._last_beat is None

    def __repr__(self) -> str:
        return f"<heartbeat of {self._worker}>"
