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
from crawler.wire import Enter, at_once
from frontier import Frontier, Lease

GATHER_S = 0.003
LATE_S = 0.002
"""Between what the frontier is asked and the request, its answer included."""
REMEMBERED = 10_000
"""Addresses that were entered and not asked; nobody came out of them, or not yet."""


class Entrance:
    """The way to every address, for one worker."""

    def __init__(self, frontier: Frontier, clock: Callable[[], float] = boot_s) -> None:
        """With a delay of 0 addresses have no line, and nothing is asked; so it is with hosts that are asked without a lease."""
        self._frontier, self._clock = frontier, clock
        self._asked: list[tuple[Lease, str]] = []
        self._answers: list[asyncio.Future[int]] = []
        self._asking: set[asyncio.Task[None]] = set()
        self._entered: dict[str, float] = {}
        self._late: set[str] = set()

    @property
    def host_delay_ms(self) -> int:
        """Between two requests to one host."""
        return self._frontier.settings.min_delay_ms

    @property
    def _delay_ms(self) -> int:
        return self._frontier.settings.min_ip_delay_ms

    def of(self, lease: Lease) -> Enter:
        """Return what is to be asked before an exchange under a lease."""
        return partial(self._enter, lease) if self._delay_ms else at_once

    def asked(self, address: str) -> None:
        """A request is about to be sent to an address."""
        if not self._delay_ms:
            return
        entered = self._entered.pop(address, None)
        if entered is not None and self._clock() - entered <= LATE_S:
            return
        self._late.add(address)
        if len(self._late) == 1:
            self._begin(self._tell())

    async def turn(
        self, host: str, *, most_ms: int, delay_ms: int = 0, since_ms: int | None = None, ahead: int = 0
    ) -> int:
        """Return in how many milliseconds a host may be asked of which there is no lease, or one for something else (`Frontier.turn`)."""
        return await self._frontier.turn(
            host, most_ms=most_ms, delay_ms=delay_ms, since_ms=since_ms, ahead=ahead
        )

    async def left(
        self, host: str, *, delay_ms: int = 0, leased: bool = False, answer: Judgement | None = None
    ) -> None:
        """Say that an exchange is over that had its turn. `answer` is what the answer means, where it means that the host is too busy."""
        busy, hold_ms = (answer.reason, answer.hold_ms) if answer else ("", 0)
        if busy or max(self.host_delay_ms, delay_ms):
            await self._frontier.end_turn(host, delay_ms=delay_ms, leased=leased, busy=busy, hold_ms=hold_ms)

    async def _enter(self, lease: Lease, address: str) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._asked.append((lease, address))
        self._answers.append(answer)
        if len(self._asked) == 1:
            self._begin(self._ask())
        return await answer

    def _begin(self, call: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(call)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _tell(self) -> None:
        late, self._late = self._late, set()
        with suppress(ThresherError):  # who asks the frontier next hears of it
            await self._frontier.asked(late)

    async def _ask(self) -> None:
        await asyncio.sleep(GATHER_S)
        asked, self._asked = self._asked, []
        answers, self._answers = self._answers, []
        begun = self._clock()
        try:
            waits = await self._frontier.enter_all(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait raise it
            for answer in answers:
                if not answer.done():
                    answer.set_exception(error)
            return
        if len(self._entered) > REMEMBERED:
            self._entered.clear()
        for (_, address), answer, wait in zip(asked, answers, waits, strict=True):
            if not wait:
                self._entered[address] = begun
            if not answer.done():  # who asked is gone
                answer.set_result(wait)

    def __repr__(self) -> str:
        return f"<entrance: {len(self._asked)} ask>"
