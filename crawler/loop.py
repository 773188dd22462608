"""`Loop`: the leases of one worker, from grant to settlement. The worker's one loop is `Loop.leases`.

1. The worker never holds more than `concurrency` leases, settled ones not counted: so much may be fetched twice
   if it is killed, and so much memory may its captures take.
2. A lease is granted only where there is room to fetch it at once, and released as soon as its exchange is over; one
   whose exchange went wrong is not, for its settlement says what that means for the host.
3. A lease whose address is not to be asked yet goes back: it is told to the frontier like the end of an exchange.
4. A page that its robots record forbids is settled without being asked for, and costs its host no delay.
5. The sitemaps that its robots record names are added before it is asked for, where they are to be read (`listed`).
6. While the gate is shut nothing is granted; the frontier is asked once a second (`crawler.gate`).
7. The loop ends when the frontier is drained, a limit is reached, or somebody says stop. Then nothing
   more is leased or begun; what is in flight is finished by others.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace

from crawler.gate import ASK_S, Gate
from crawler.listed import is_sitemap, leads_on, named
from crawler.page import settled
from crawler.pulse import Pulse
from crawler.robots import Rulebook
from crawler.settle import Finished, Settler
from frontier import Exchange, Frontier, Kind, Lease, Outcome

POLL_S = 0.1
"""How often the frontier is asked again while no host may be asked anything."""
GATHER_S = 0.005
"""What happens within so long is told to the frontier in one call."""


class Loop:
    """Hands out leases to be fetched, and knows which are open."""

    def __init__(
        self,
        frontier: Frontier,
        *,
        gate: Gate,
        pulse: Pulse,
        worker: str,
        concurrency: int,
        lease_ms: int,
        min_delay_ms: int,
        max_pages: int | None,
        max_requests: int | None,
        until: float | None,
        sitemaps: bool,
    ) -> None:
        """`max_pages` counts the whole crawl's fetched pages, `max_requests` its `Stats.requests`; `until` is a time of the monotonic clock."""
        self._frontier, self._gate, self._pulse, self._worker = frontier, gate, pulse, worker
        self._concurrency, self._lease_ms, self._min_delay_ms = concurrency, lease_ms, min_delay_ms
        self._max_pages, self._max_requests = max_pages, max_requests
        self._until, self._sitemaps = until, sitemaps
        self._rulebook = Rulebook(frontier.robots)
        self._open: dict[int, Lease] = {}
        self._ended: list[Exchange] = []
        self._postponed: list[tuple[Lease, int]] = []
        self._changed = asyncio.Event()
        self._stopped = False

    def stop(self) -> None:
        """Lease no more."""
        self._stopped = True
        self._changed.set()

    def ended(self, lease: Lease, elapsed_ms: int | None = None) -> None:
        """The exchange is over: its host's delay begins. `elapsed_ms` is how long the host of a page took, from the
        connection to the last byte: for so long it was busy with us, whatever of that was its network.
        """
        self._ended.append(Exchange(lease=lease, elapsed_ms=elapsed_ms))
        self._changed.set()

    def spared(self, lease: Lease) -> None:
        """Its host is free, and was not asked: that costs no delay."""
        self._ended.append(Exchange(lease=lease, asked=False))
        self._changed.set()

    def postponed(self, lease: Lease, wait_ms: int) -> None:
        """Nothing was asked: its address has its turn in so many milliseconds."""
        del self._open[lease.token]
        self._postponed.append((lease, wait_ms))
        self._changed.set()

    def settled(self, leases: Sequence[Lease]) -> None:
        """The leases have ended."""
        for lease in leases:
            del self._open[lease.token]
        self._changed.set()

    async def leases(self, settler: Settler) -> AsyncIterator[Lease]:
        """Yield every lease that is to be fetched, as soon as it is granted."""
        while not self._is_over():
            await self._release()
            granted = await self._take()
            for lease in granted:
                if self._is_over():
                    return
                if lease.kind is Kind.PAGE:
                    await self._list(lease, settler)
                if lease.kind is Kind.PAGE and (refused := await self._rulebook.refusal(lease)):
                    self.spared(lease)
                    settler.add(Finished(lease=lease, answer=replace(settled(lease, refused), asked=False)))
                else:
                    yield lease
            if not granted and not self._open and await self._nothing_left():
                return
            await self._pause()
        await self._release()

    async def _list(self, lease: Lease, settler: Settler) -> None:
        if not self._sitemaps or not leads_on(lease) or is_sitemap(lease):
            return
        found = [
            one
            for one in named(lease, await self._rulebook.sitemaps(lease))
            if one.url.text not in settler.known
        ]
        if found:
            await self._frontier.add(found)
            for one in found:
                settler.known.add(one.url.text)

    async def _take(self) -> list[Lease]:
        room = self._concurrency - len(self._open)
        if room <= 0 or not await self._gate.admits():
            return []
        self._pulse.check()
        granted = await self._frontier.lease(
            room,
            worker=self._worker,
            lease_ms=self._lease_ms,
            min_delay_ms=self._min_delay_ms,
            limit=self._max_pages,
            most_requests=self._max_requests,
        )
        self._open.update((lease.token, lease) for lease in granted)
        return granted

    async def _release(self) -> None:
        over, self._ended = self._ended, []
        back, self._postponed = self._postponed, []
        await self._frontier.release(over)
        await self._frontier.postpone_all(back)

    async def _nothing_left(self) -> bool:
        stats = await self._frontier.stats()
        pages, requests = stats.outcomes[Outcome.FETCHED], stats.requests
        return (
            stats.drained
            or (self._max_pages is not None and pages >= self._max_pages)
            or (self._max_requests is not None and requests >= self._max_requests)
        )

    async def _pause(self) -> None:
        """Wait until something changes here, or may have changed in the frontier."""
        with suppress(TimeoutError):
            async with asyncio.timeout(ASK_S if self._gate.shut else POLL_S):
                await self._changed.wait()
        self._changed.clear()
        await asyncio.sleep(GATHER_S)

    def _is_over(self) -> bool:
        return self._stopped or (self._until is not None and time.monotonic() >= self._until)

    def __repr__(self) -> str:
        return f"<loop of {self._worker}: {len(self._open)} of {self._concurrency} leases open>"
