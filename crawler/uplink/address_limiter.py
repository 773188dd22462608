"""`Entrance`: who wants to ask an IP address waits here until the frontier has said whether it is its turn.

Many hosts share an address, and the address is what our requests cost. So it has a delay of its own, shorter than
that of a host, and the frontier keeps the line (`Frontier.enter`). What is asked here within some milliseconds is asked
there in one call.

The delay of an address is meant between requests, and a connection that has to be made first, or a loop that is busy,
comes between entering and asking. So the frontier is told where that took longer than `LATE_S`: the delay begins anew.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial

from core import ThresherError
from crawler.machine.boot_clock import boot_s
from crawler.reading.outcome import Judgement
from crawler.wire import Acquire, acquire_at_once
from frontier import Frontier, Lease

BATCH_WINDOW_S = 0.003
MAX_REQUEST_LAG_S = 0.002
"""Between what the frontier is asked and the request, its answer included."""
MAX_ACQUIRED = 10_000
"""Addresses that were entered and not asked; nobody came out of them, or not yet."""


class AddressLimiter:
    """The way to every address, for one worker."""

    def __init__(self, frontier: Frontier, clock: Callable[[], float] = boot_s) -> None:
        """With a delay of 0 addresses have no line, and nothing is asked; so it is with hosts that are asked without a lease."""
        self._frontier, self._clock = frontier, clock
        self._pending: list[tuple[Lease, str]] = []
        self._waiters: list[asyncio.Future[int]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._acquired_at: dict[str, float] = {}
        self._late: set[str] = set()

    @property
    def host_delay_ms(self) -> int:
        """Between two requests to one host."""
        return self._frontier.crawl.settings.min_delay_ms

    @property
    def _delay_ms(self) -> int:
        return self._frontier.crawl.settings.min_ip_delay_ms

    def acquire_for(self, lease: Lease) -> Acquire:
        """Return what is to be asked before an exchange under a lease."""
        return partial(self._acquire, lease) if self._delay_ms else acquire_at_once

    def start_request(self, address: str) -> None:
        """A request is about to be sent to an address."""
        if not self._delay_ms:
            return
        entered = self._acquired_at.pop(address, None)
        if entered is not None and self._clock() - entered <= MAX_REQUEST_LAG_S:
            return
        self._late.add(address)
        if len(self._late) == 1:
            self._begin(self._report_late())

    async def reserve_turn(
        self, host: str, *, max_wait_ms: int, delay_ms: int = 0, since_ms: int | None = None, ahead: int = 0
    ) -> int:
        """Return in how many milliseconds a host may be asked of which there is no lease, or one for something else (`Frontier.reserve_turn`)."""
        return await self._frontier.reserve_turn(
            host, max_wait_ms=max_wait_ms, delay_ms=delay_ms, since_ms=since_ms, ahead=ahead
        )

    async def end_turn(
        self, host: str, *, delay_ms: int = 0, has_lease: bool = False, answer: Judgement | None = None
    ) -> None:
        """Say that an exchange is over that had its turn. `answer` is what the answer means, where it means that the host is too busy."""
        busy, hold_ms = (answer.reason, answer.hold_ms) if answer else ("", 0)
        if busy or max(self.host_delay_ms, delay_ms):
            await self._frontier.end_turn(
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
        with suppress(ThresherError):  # who asks the frontier next hears of it
            await self._frontier.restart_address_delays(late)

    async def _acquire_batch(self) -> None:
        await asyncio.sleep(BATCH_WINDOW_S)
        asked, self._pending = self._pending, []
        answers, self._waiters = self._waiters, []
        begun = self._clock()
        try:
            waits = await self._frontier.acquire_addresses(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait raise it
            for answer in answers:
                if not answer.done():
                    answer.set_exception(error)
            return
        if len(self._acquired_at) > MAX_ACQUIRED:
            self._acquired_at.clear()
        for (_, address), answer, wait in zip(asked, answers, waits, strict=True):
            if not wait:
                self._acquired_at[address] = begun
            if not answer.done():  # who asked is gone
                answer.set_result(wait)

    def __repr__(self) -> str:
        return f"<entrance: {len(self._pending)} ask>"
