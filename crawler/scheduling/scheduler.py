"""`Scheduler`: the leases of one worker, from grant to settlement. `Scheduler.leases` is the worker's one loop.

1. The worker never holds more than `concurrency` open leases. This bounds the pages that are fetched twice if the
   worker is killed, and the memory of its captures.
2. A lease is granted only if it can be fetched at once, and its host is released as soon as its exchange is over. If
   the exchange failed, the host is not released: the settlement says what the failure means for the host.
3. A lease goes back if it is not its address's turn. The frontier hears of that as of the end of an exchange.
4. A page that its robots record forbids, or that the frontier gives up, comes with its judgement. It is settled
   without a request, and costs its host no delay.
5. If sitemaps are read, those that the robots record of a page names are added before the page is requested
   (`crawler.reading.sitemap_discoveries`).
6. The worker polls the frontier when the frontier may grant something: at the time that the frontier has named, and
   when a lease has ended here. It notices other events (a URL is added, another worker's lease ends) one second later
   at most. After each poll in vain, because other workers were faster, it waits twice as long.
7. Pages and robots.txt files that dead workers held (`Lease.is_recovered`) are fetched one at a time: if one of them
   kills this worker too, the others are not blamed.
8. While the worker has no way to the web it leases nothing, and only a few pages when the outage seems over
   (`crawler.connectivity.uplink`).
9. While the back-pressure gate is shut nothing is granted; the worker polls once a second (`crawler.gate_monitor`).
10. A lease goes back if its registered domain holds its share of the slots, or if the domain is slow and slow domains
   hold their share. Its host waits (`crawler.scheduling.slot_share`).
11. A frontier server that has restarted may have lost data, so the worker forgets which URLs the frontier knows. By
   then the frontier's client has sent the lost calls again (`frontier.verbs.reconciler`).
12. The loop ends when the frontier is drained, a limit is reached, or `stop` is called. Then nothing more is leased or
   started; the callers finish what is in flight.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from math import ceil

from core import Failure, failure_boundary
from crawler.connectivity.uplink import Uplink
from crawler.gate_monitor import POLL_INTERVAL_S, GateMonitor
from crawler.machine.heartbeat import Heartbeat
from crawler.reading.outcome import READING_FAILED, READING_STEP, Judgement
from crawler.reading.sitemap_discoveries import follows_links, is_sitemap, robots_sitemaps
from crawler.robots.robots_txt import RobotsCache
from crawler.scheduling.poll import LeasePoll
from crawler.scheduling.scheduling_settings import SchedulingSettings
from crawler.scheduling.slot_share import SlotShares
from crawler.settler import Settler
from frontier import Frontier, HostRelease, Kind, Lease, Outcome

LOGGER = logging.getLogger(__name__)
RECOVERED_WAIT_MS = 500
"""Milliseconds that the host of a recovered lease waits while another recovered lease is fetched."""
BATCH_WINDOW_S = 0.005
"""Seconds in which events are gathered into one call of the frontier."""


class Scheduler:
    """Hands out leases, and knows which are open."""

    def __init__(
        self,
        frontier: Frontier,
        *,
        gate: GateMonitor,
        heartbeat: Heartbeat,
        uplink: Uplink,
        worker: str,
        settings: SchedulingSettings,
        lease_ms: Callable[[], int],
        reads_sitemaps: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lease_ms` returns for how many milliseconds a lease lasts that is granted now. `reads_sitemaps` adds the
        sitemaps that robots.txt files name. `clock` runs as the event loop's does; `settings.max_time_s` counts from
        now.
        """
        self._frontier, self._gate, self._heartbeat, self._worker = frontier, gate, heartbeat, worker
        self._uplink = uplink
        self._settings, self._lease_ms = settings, lease_ms
        self._until = None if settings.max_time_s is None else clock() + settings.max_time_s
        self._reads_sitemaps, self._clock = reads_sitemaps, clock
        self._robots_cache = RobotsCache(frontier.origins.robots, lambda: frontier.crawl.server_restarts)
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
        """Lease nothing more."""
        self._stopped = True
        self._changed.set()

    def release_host(self, lease: Lease, elapsed_ms: int | None = None) -> None:
        """End the exchange of a lease: the delay of its host begins. `elapsed_ms` is the time that a page took, from
        the connection to the last byte, the network included: for so long the host was busy with us.
        """
        self._shares.over(lease.token, self._clock(), None if elapsed_ms is None else elapsed_ms / 1000)
        self._queue_release(lease, HostRelease(lease=lease, elapsed_ms=elapsed_ms))

    def release_unrequested(self, lease: Lease) -> None:
        """Free the host of a lease for which no request was sent: that costs no delay."""
        self._queue_release(lease, HostRelease(lease=lease, has_sent_request=False))

    async def renew(self, leases: Sequence[Lease]) -> None:
        """Move the deadlines of leases whose settlement takes longer than usual."""
        await self._frontier.renew(leases, self._lease_ms())

    def postpone(self, lease: Lease, wait_ms: int, *, has_sent_request: bool) -> None:
        """Give a lease back that got no answer through no fault of its host; the host waits for `wait_ms`.
        `has_sent_request` says whether a request may have reached the host.
        """
        self._close(lease)
        self._postponements.append((HostRelease(lease=lease, has_sent_request=has_sent_request), wait_ms))
        self._changed.set()

    def close_leases(self, leases: Sequence[Lease]) -> None:
        """Close leases that have ended."""
        for lease in leases:
            if lease.token in self._fetching:  # its exchange failed: the settlement ends it
                self._shares.over(lease.token, self._clock())
            self._close(lease)
        self._poll.poll_now()
        self._changed.set()

    async def leases(self, settler: Settler) -> AsyncIterator[tuple[Lease, Judgement | None]]:
        """Yield every lease as soon as it is granted, with the judgement that forbids its request, or None."""
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
        """Forget what a restarted server may have forgotten, and send a heartbeat at once."""
        if self._restarts == self._frontier.crawl.server_restarts:
            return
        self._restarts = self._frontier.crawl.server_restarts
        settler.known_urls.clear()
        await self._heartbeat.send_now()

    def _is_admitted(self, lease: Lease) -> bool:
        """Return whether a lease may be started now."""
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
        if not self._reads_sitemaps or not follows_links(lease) or is_sitemap(lease):
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
            max_pages=self._settings.max_pages,
            max_requests=self._settings.max_requests,
        )
        self._poll.record_grant(self._clock(), granted=len(granted), soonest_ms=granted.soonest_ms)
        self._open.update((lease.token, lease) for lease in granted)
        return self._with_slot(granted)

    def _with_slot(self, granted: Sequence[Lease]) -> list[Lease]:
        """Return the leases that have a slot or need none; postpone the others."""
        now, slots = self._clock(), self._uplink.lease_limit(self._settings.concurrency)
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
            or (self._settings.max_pages is not None and pages >= self._settings.max_pages)
            or (self._settings.max_requests is not None and requests >= self._settings.max_requests)
        )

    async def _pause(self) -> None:
        """Wait until something changes here or may have changed in the frontier."""
        try:
            async with asyncio.timeout(self._wait_s(self._clock())):
                await self._changed.wait()
        except TimeoutError:
            return
        if self._fetching:  # more exchanges may end at this moment
            await asyncio.sleep(BATCH_WINDOW_S)
        self._changed.clear()

    def _wait_s(self, now: float) -> float:
        wait_s = POLL_INTERVAL_S if self._room() <= 0 or self._gate.is_shut else self._poll.wait_s(now)
        return wait_s if self._until is None else min(wait_s, max(self._until - now, 0.0))

    def _room(self) -> int:
        return self._uplink.lease_limit(self._settings.concurrency) - len(self._open)

    def _should_stop(self) -> bool:
        return self._stopped or (self._until is not None and self._clock() >= self._until)

    def __repr__(self) -> str:
        return f"<scheduler of {self._worker}: {len(self._open)} of {self._settings.concurrency} leases open>"
