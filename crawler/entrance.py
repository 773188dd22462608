"""`Entrance`: who wants to ask an IP address waits here until the frontier has said whether it is its turn.

Many hosts share an address, and the address is what our requests cost. So it has a delay of its own, shorter than
that of a host, and the frontier keeps the line (`Frontier.enter`). What is asked here within some milliseconds is asked
there in one call.
"""

import asyncio
from dataclasses import replace
from functools import partial

from crawler.wire import Enter, at_once
from frontier import Frontier, Lease

GATHER_S = 0.003


class Entrance:
    """The way to every address, for one worker."""

    def __init__(self, frontier: Frontier, delay_ms: int, host_delay_ms: int = 0) -> None:
        """With a delay of 0 addresses have no line, and nothing is asked; so it is with hosts that are asked without a lease."""
        self._frontier, self._delay_ms, self._host_delay_ms = frontier, delay_ms, host_delay_ms
        self._asked: list[tuple[Lease, str]] = []
        self._answers: list[asyncio.Future[int]] = []
        self._asking: set[asyncio.Task[None]] = set()

    def of(self, lease: Lease) -> Enter:
        """Return what is to be asked before an exchange under a lease."""
        return partial(self._enter, lease) if self._delay_ms else at_once

    async def elsewhere(self, lease: Lease, host: str) -> int:
        """Milliseconds after which a host may be asked that the lease is not of.

        Those who come so are a delay apart. The host is held until a delay behind that, and the wait is a delay at least:
        so what ended before it was held is a delay away as well. Only what is under way there is not known.
        """
        delay = self._host_delay_ms
        if not delay:
            return 0
        (turn,) = await self._frontier.enter_all([(replace(lease, slot_ms=0), f"host {host}")], delay)
        await self._frontier.hold(host, turn + 2 * delay)
        return turn + delay

    async def left(self, host: str) -> None:
        """An exchange without a lease is over."""
        if self._host_delay_ms:
            await self._frontier.hold(host, self._host_delay_ms)

    async def _enter(self, lease: Lease, address: str) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._asked.append((lease, address))
        self._answers.append(answer)
        if len(self._asked) == 1:
            task = asyncio.create_task(self._ask())
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        return await answer

    async def _ask(self) -> None:
        await asyncio.sleep(GATHER_S)
        asked, self._asked = self._asked, []
        answers, self._answers = self._answers, []
        try:
            waits = await self._frontier.enter_all(asked, self._delay_ms)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait raise it
            for answer in answers:
                if not answer.done():
                    answer.set_exception(error)
            return
        for answer, wait in zip(answers, waits, strict=True):
            if not answer.done():  # who asked is gone
                answer.set_result(wait)

    def __repr__(self) -> str:
        return f"<entrance: {len(self._asked)} ask>"
