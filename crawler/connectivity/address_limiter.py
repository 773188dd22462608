"""`AddressLimiter`: a request waits here until the frontier says that it is its IP address's turn.

Many hosts share an address, and our requests load the address. So it has a delay of its own, shorter than a host's, and
the frontier keeps the queue (`Politeness.acquire_addresses`). Requests that arrive within `BATCH_WINDOW_S` share one
call of the frontier.

The delay applies between requests to one address. To open a connection takes time between acquiring and requesting, and
so does a busy event loop. So the limiter reports to the frontier when that took longer than `MAX_REQUEST_LAG_S`: then
the delay starts anew.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial

from thresher.core import ThresherError
from thresher.crawler.machine.boot_clock import boot_s
from thresher.crawler.reading.outcome import Judgement
from thresher.crawler.wire import Acquire, acquire_at_once
from thresher.frontier import Frontier, Lease

BATCH_WINDOW_S = 0.003
MAX_REQUEST_LAG_S = 0.002
"""Seconds between the call of the frontier and the request, the frontier's reply included."""
MAX_ACQUIRED = 10_000
"""Addresses that are acquired and not yet requested, at most. Some of their requests never happen."""


class AddressLimiter:
    """Acquires addresses for one worker."""

    def __init__(
        self,
        frontier: Frontier,
        clock: Callable[[], float] = boot_s,
        *,
        check_liveness: Callable[[], None] = lambda: None,
    ) -> None:
        """With an address delay of 0 there is no queue, and the frontier is not called. `clock` returns seconds.
        `check_liveness` raises if another worker may have taken over, and may request the same address
        (`Heartbeat.check`).
        """
        self._frontier, self._clock, self._check_liveness = frontier, clock, check_liveness
        self._pending: list[tuple[Lease, str]] = []
        self._waiters: list[asyncio.Future[int]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._acquired_at: dict[str, float] = {}
        self._late: set[str] = set()

    @property
    def host_delay_ms(self) -> int:
        """Milliseconds between two requests to one host."""
        return self._frontier.crawl.settings.min_delay_ms

    @property
    def _delay_ms(self) -> int:
        return self._frontier.crawl.settings.min_ip_delay_ms

    def acquire_for(self, lease: Lease) -> Acquire:
        """Return the function that an exchange under `lease` must call before it sends a request."""
        return partial(self._acquire, lease) if self._delay_ms else acquire_at_once

    def start_request(self, address: str) -> None:
        """Note that a request is about to be sent to an address; report the address if that is late. Raise
        `TakeoverError` if the worker may send nothing any more.
        """
        self._check_liveness()
        if not self._delay_ms:
            return
        acquired_at = self._acquired_at.pop(address, None)
        if acquired_at is not None and self._clock() - acquired_at <= MAX_REQUEST_LAG_S:
            return
        self._late.add(address)
        if len(self._late) == 1:
            self._begin(self._report_late())

    async def reserve_turn(
        self, host: str, *, max_wait_ms: int, delay_ms: int = 0, since_ms: int | None = None, ahead: int = 0
    ) -> int:
        """Return in how many milliseconds a host may be requested for which the caller has no lease, or a lease for
        something else (`Politeness.reserve_turn`).
        """
        return await self._frontier.politeness.reserve_turn(
            host, max_wait_ms=max_wait_ms, delay_ms=delay_ms, since_ms=since_ms, ahead=ahead
        )

    async def end_turn(
        self, host: str, *, delay_ms: int = 0, has_lease: bool = False, answer: Judgement | None = None
    ) -> None:
        """Report that an exchange is over that had its turn. `answer` is the response's judgement, if the host was too
        busy.
        """
        busy, hold_ms = (answer.reason, answer.hold_ms) if answer else ("", 0)
        if busy or max(self.host_delay_ms, delay_ms):
            await self._frontier.politeness.end_turn(
                host, delay_ms=delay_ms, has_lease=has_lease, busy=busy, hold_ms=hold_ms
            )

    async def _acquire(self, lease: Lease, address: str) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pending.append((lease, address))
        self._waiters.append(answer)
        if len(self._pending) == 1:
            self._begin(self._acquire_batch())
        return await answer

    def _begin(self, call: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(call)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _report_late(self) -> None:
        late, self._late = self._late, set()
        with suppress(ThresherError):  # the next caller of the frontier meets the same error
            await self._frontier.politeness.restart_address_delays(late)

    async def _acquire_batch(self) -> None:
        await asyncio.sleep(BATCH_WINDOW_S)
        requests, self._pending = self._pending, []
        answers, self._waiters = self._waiters, []
        started_at = self._clock()
        try:
            waits = await self._frontier.politeness.acquire_addresses(requests)
        except Exception as error:  # noqa: BLE001 - every waiter raises whatever it is
            for answer in answers:
                if not answer.done():
                    answer.set_exception(error)
            return
        if len(self._acquired_at) > MAX_ACQUIRED:
            self._acquired_at.clear()
        for (_, address), answer, wait in zip(requests, answers, waits, strict=True):
            if not wait:
                self._acquired_at[address] = started_at
            if not answer.done():  # the waiter was cancelled
                answer.set_result(wait)

    def __repr__(self) -> str:
        return f"<address limiter: {len(self._pending)} waiting>"
