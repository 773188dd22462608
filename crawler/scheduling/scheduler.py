"""`Loop`: the leases of one worker, from grant to settlement. The worker's one loop is `Loop.leases`.

1. The worker never holds more than `concurrency` leases, settled ones not counted: so much may be fetched twice
   if it is killed, and so much memory may its captures take.
2. A lease is granted only where there is room to fetch it at once, and released as soon as its exchange is over; one
   whose exchange went wrong is not, for its settlement says what that means for the host.
3. A lease whose address is not to be asked yet goes back: it is told to the frontier like the end of an exchange.
4. A page that its robots record forbids, or that the frontier gives up, comes with its judgement: it is to be settled without
   being asked for, and costs its host no delay.
5. The sitemaps that its robots record names are added before it is asked for, where they are to be read (`listed`).
6. The frontier is asked when something may be granted: at the time that it named itself, and when a lease has ended here.
   What happens elsewhere (a URL is added, another worker's lease ends) is seen a second later at the latest. Who asks
   in vain, because others were quicker, waits twice as long before it asks for the next time.
7. Of the pages and robots.txt files that dead workers held (`Lease.orphan`) one is fetched at a time: if it kills this worker too,
   the others are not blamed.
8. While the worker is kept from the web nothing is leased, and a few pages when that seems to be over (`crawler.uplink.uplink`).
9. While the gate is shut nothing is granted; the frontier is asked once a second (`crawler.gate_monitor`).
10. A lease of a registered domain that holds its share of the slots, or of one that is slow while slow ones hold theirs, goes back,
   and its host waits (`crawler.scheduling.slot_share`).
11. A server of the frontier that has restarted may have lost what it knew: what the worker remembers of that is forgotten. The
   frontier's client has told it again by then (`frontier.verbs.reconciler`).
12. The loop ends when the frontier is drained, a limit is reached, or somebody says stop. Then nothing
   more is leased or begun; what is in flight is finished by others.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from math import ceil

from core import Failure, failure_boundary
from crawler.gate_monitor import POLL_INTERVAL_S, GateMonitor
from crawler.machine.heartbeat import Heartbeat
from crawler.reading.outcome import READING_FAILED, READING_STEP, Judgement
from crawler.reading.sitemap_discoveries import follows_links, is_sitemap, robots_sitemaps
from crawler.robots.robots_txt import RobotsCache
from crawler.scheduling.poll import LeasePoll
from crawler.scheduling.slot_share import SlotShares
from crawler.settler import Settler
from crawler.uplink.uplink import Uplink
from frontier import Frontier, HostRelease, Kind, Lease, Outcome

LOGGER = logging.getLogger(__name__)
RECOVERED_WAIT_MS = 500
"""How long the host of an orphan waits while another orphan is fetched."""
BATCH_WINDOW_S = 0.005
"""What happens within so long is told to the frontier in one call."""


class Scheduler:
    """Hands out leases to be fetched, and knows which are open."""

    def __init__(
        self,
        frontier: Frontier,
        *,
        gate: GateMonitor,
        heartbeat: Heartbeat,
        uplink: Uplink,
        worker: str,
        concurrency: int,
        lease_ms: Callable[[], int],
        max_pages: int | None,
        max_requests: int | None,
        deadline: float | None,
        sitemaps: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lease_ms` says how long a lease is to last that is asked for now. `max_pages` counts the whole crawl's fetched pages,
        `max_requests` its `Stats.requests`; `deadline` is a time of `clock`, which runs as the
        event loop's does.
        """
        self._frontier, self._gate, self._heartbeat, self._worker = frontier, gate, heartbeat, worker
        self._uplink = uplink
        self._concurrency, self._lease_ms = concurrency, lease_ms
        self._max_pages, self._max_requests = max_pages, max_requests
        self._until, self._sitemaps, self._clock = deadline, sitemaps, clock
        self._robots_cache = RobotsCache(frontier.robots, lambda: frontier.crawl.server_restarts)
        self._restarts = frontier.crawl.server_restarts
        self._open: dict[int, Lease] = {}
        self._shares = SlotShares()
        self._fetching: set[int] = set()
        self._recovered_token: int | None = None
        self._releases: list[HostRelease] = []
        self._postponements: list[tuple[HostRelease, int]] = []
        self._changed = asyncio.Event()
        self._poll = LeasePoll()
        self._stopped = False

    def stop(self) -> None:
        """Lease no more."""
        self._stopped = True
        self._changed.set()

    def release_host(self, lease: Lease, elapsed_ms: int | None = None) -> None:
        """The exchange is over: its host's delay begins. `elapsed_ms` is how long the host of a page took, from the
        connection to the last byte: for so long it was busy with us, whatever of that was its network.
        """
        self._shares.over(lease.token, self._clock(), None if elapsed_ms is None else elapsed_ms / 1000)
        self._queue_release(lease, HostRelease(lease=lease, elapsed_ms=elapsed_ms))

    def release_unrequested(self, lease: Lease) -> None:
        """Its host is free, and was not asked: that costs no delay."""
        self._queue_release(lease, HostRelease(lease=lease, has_sent_request=False))

    async def renew(self, leases: Sequence[Lease]) -> None:
        """Move the deadlines of leases whose settlement takes longer than usual."""
        await self._frontier.renew(leases, self._lease_ms())

    def postpone(self, lease: Lease, wait_ms: int, *, has_sent_request: bool) -> None:
        """No answer came, and that is not the host's fault: the lease goes back, and its host waits for so long. `has_sent_request` says
        whether a request may have come to the host.
        """
        self._close(lease)
        self._postponements.append((HostRelease(lease=lease, has_sent_request=has_sent_request), wait_ms))
        self._changed.set()

    def close_leases(self, leases: Sequence[Lease]) -> None:
        """The leases have ended."""
        for lease in leases:
            if lease.token in self._fetching:  # its host is in trouble: its settlement ends the exchange
                self._shares.over(lease.token, self._clock())
            self._close(lease)
        self._poll.poll_now()
        self._changed.set()

    async def leases(self, settler: Settler) -> AsyncIterator[tuple[Lease, Judgement | None]]:
        """Yield every lease as soon as it is granted, and why it is not to be fetched; None where it is."""
        while not self._should_stop():
            await self._release()
            granted = await self._lease()
            await self._start_afresh(settler)
            for lease in granted:
                if self._should_stop():
                    return
                if not self._is_admitted(lease):
                    self.postpone(lease, RECOVERED_WAIT_MS, has_sent_request=False)
                    continue
                refusal = await self._refusal(lease, settler)
                if refusal is None:
                    self._fetching.add(lease.token)
                yield lease, refusal
            if not granted and not self._open and await self._is_crawl_complete():
                return
            await self._pause()
        await self._release()

    async def _start_afresh(self, settler: Settler) -> None:
        """Forget what a server that has restarted may have forgotten, and say at once that the worker lives."""
        if self._restarts == self._frontier.crawl.server_restarts:
            return
        self._restarts = self._frontier.crawl.server_restarts
        settler.known_urls.clear()
        await self._heartbeat.send_now()

    def _is_admitted(self, lease: Lease) -> bool:
        """Whether a lease may be begun now."""
        if not lease.is_recovered or lease.failure:
            return True
        if self._recovered_token is not None:
            return False
        self._recovered_token = lease.token
        return True

    async def _refusal(self, lease: Lease, settler: Settler) -> Judgement | None:
        if lease.kind is not Kind.PAGE:
            return None
        if lease.failure:
            outcome, _, reason = lease.failure.partition(":")
            return Judgement(outcome=Outcome(outcome), reason=reason)
        refused: Judgement | None
        try:
            with failure_boundary(READING_STEP):
                await self._add_sitemaps(lease, settler)
                refused = await self._robots_cache.refusal(lease)
        except Failure as failure:
            LOGGER.warning("%s: its robots.txt: %s", lease.url, failure)
            refused = READING_FAILED
        if refused is not None:
            self.release_unrequested(lease)
        return refused

    async def _add_sitemaps(self, lease: Lease, settler: Settler) -> None:
        if not self._sitemaps or not follows_links(lease) or is_sitemap(lease):
            return
        sitemaps = await self._robots_cache.sitemaps(lease)
        if not sitemaps:
            return
        found = [one for one in robots_sitemaps(lease, sitemaps) if one.url.text not in settler.known_urls]
        if found:
            await self._frontier.add(found)
            self._poll.poll_now()
            for one in found:
                settler.known_urls.add(one.url.text)

    async def _lease(self) -> list[Lease]:
        room = self._room()
        if room <= 0 or self._poll.wait_s(self._clock()) or not await self._gate.may_lease():
            return []
        self._heartbeat.check()
        granted = await self._frontier.lease(
            room,
            worker=self._worker,
            lease_ms=self._lease_ms(),
            max_pages=self._max_pages,
            max_requests=self._max_requests,
        )
        self._poll.record_grant(self._clock(), granted=len(granted), soonest_ms=granted.soonest_ms)
        self._open.update((lease.token, lease) for lease in granted)
        return self._with_slot(granted)

    def _with_slot(self, granted: Sequence[Lease]) -> list[Lease]:
        """Those that have a slot, or need none; the others go back."""
        now, slots = self._clock(), self._uplink.lease_limit(self._concurrency)
        admitted = []
        for lease in granted:
            wait_s = (
                None if lease.failure else self._shares.admit(lease.token, lease.url.host, now, slots=slots)
            )
            if wait_s is None:
                admitted.append(lease)
            else:
                self.postpone(lease, ceil(wait_s * 1000), has_sent_request=False)
        return admitted

    async def _release(self) -> None:
        over, self._releases = self._releases, []
        back, self._postponements = self._postponements, []
        if over:
            self._poll.record_soonest(self._clock(), await self._frontier.release(over))
        if back:
            await self._frontier.postpone_all(back)
            self._poll.poll_now()

    def _close(self, lease: Lease) -> None:
        del self._open[lease.token]
        self._fetching.discard(lease.token)
        self._shares.release(lease.token, self._clock())
        if self._recovered_token == lease.token:
            self._recovered_token = None

    def _queue_release(self, lease: Lease, exchange: HostRelease) -> None:
        self._fetching.discard(lease.token)
        self._releases.append(exchange)
        self._changed.set()

    async def _is_crawl_complete(self) -> bool:
        stats = await self._frontier.stats()
        pages, requests = stats.outcomes[Outcome.FETCHED], stats.requests
        return (
            stats.is_drained
            or (self._max_pages is not None and pages >= self._max_pages)
            or (self._max_requests is not None and requests >= self._max_requests)
        )

    async def _pause(self) -> None:
        """Wait until something changes here, or may have changed in the frontier."""
        try:
            async with asyncio.timeout(self._wait_s(self._clock())):
                await self._changed.wait()
        except TimeoutError:
            return
        if self._fetching:  # more may end in this moment
            await asyncio.sleep(BATCH_WINDOW_S)
        self._changed.clear()

    def _wait_s(self, now: float) -> float:
        wait_s = POLL_INTERVAL_S if self._room() <= 0 or self._gate.is_shut else self._poll.wait_s(now)
        return wait_s if self._until is None else min(wait_s, max(self._until - now, 0.0))

    def _room(self) -> int:
        return self._uplink.lease_limit(self._concurrency) - len(self._open)

    def _should_stop(self) -> bool:
        return self._stopped or (self._until is not None and self._clock() >= self._until)

    def __repr__(self) -> str:
        return f"<loop of {self._worker}: {len(self._open)} of {self._concurrency} leases open>"
