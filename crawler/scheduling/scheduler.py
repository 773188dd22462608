"""`Scheduler`: asks the frontier for leases and hands them out. `Scheduler.leases` is the worker's one loop.

1. The worker never holds more than `concurrency` open leases. This bounds the pages that are fetched twice if the
   worker is killed, and the memory of its captures.
2. A lease is granted only if it can be fetched at once. What ends under a lease goes into the `LeaseQueue`; the
   scheduler reports it to the frontier.
3. A page that its robots record forbids, or that the frontier gives up, comes with its judgement. It is settled
   without a request, and costs its host no delay.
4. If sitemaps are read, those that the robots record of a page names are added before the page is requested
   (`crawler.reading.sitemap_discoveries`).
5. The worker polls the frontier when the frontier may grant something: at the time that the frontier has named, and
   when a lease has ended here. It notices other events (a URL is added, another worker's lease ends) one second later
   at most. After each poll in vain, because other workers were faster, it waits twice as long (`LeasePoll`).
6. While the worker has no way to the web it leases nothing, and only a few pages when the outage seems over
   (`crawler.connectivity.uplink`).
7. While the back-pressure gate is shut nothing is granted; the worker polls once a second (`crawler.gate_monitor`).
8. A frontier server that has restarted may have lost data, so the worker forgets which URLs the frontier knows. By
   then the frontier's client has sent the lost calls again (`frontier.verbs.reconciler`).
9. The loop ends when the frontier is drained, a limit is reached, or `stop` is called. Then nothing more is leased or
   started; the callers finish what is in flight.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence

from thresher.core import Failure, Url, failure_boundary
from thresher.core.tracing import root_span
from thresher.crawler.connectivity.uplink import Uplink
from thresher.crawler.gate_monitor import POLL_INTERVAL_S, GateMonitor
from thresher.crawler.machine.heartbeat import Heartbeat
from thresher.crawler.reading.outcome import LOGIN_ADDRESS, READING_FAILED, READING_STEP, Judgement
from thresher.crawler.reading.sitemap_discoveries import robots_sitemaps
from thresher.crawler.robots.robots_txt import RobotsCache
from thresher.crawler.scheduling.lease_queue import EndedExchanges, LeaseQueue
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.frontier import Frontier, Kind, Lease, Outcome

LOGGER = logging.getLogger(__name__)
BATCH_WINDOW_S = 0.005
"""Seconds in which events are gathered into one call of the frontier."""
MIN_INTERVAL_S = 0.005
"""Seconds between two polls, after a poll in vain."""
MAX_INTERVAL_S = 1.0
"""Seconds between two polls at most, so that a URL that another command adds is seen within this time."""


class Scheduler:
    """Hands out the leases of one worker."""

    def __init__(  # noqa: PLR0913 - the parts of a worker that scheduling needs
        self,
        frontier: Frontier,
        queue: LeaseQueue,
        *,
        gate: GateMonitor,
        heartbeat: Heartbeat,
        uplink: Uplink,
        worker: str,
        settings: SchedulingSettings,
        lease_ms: Callable[[], int],
        reads_sitemaps: bool,
        is_barred: Callable[[Url], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lease_ms` returns for how many milliseconds a lease lasts that is granted now. `reads_sitemaps` adds the
        sitemaps that robots.txt files name. `is_barred` says which URLs would log in or out at a host with a session.
        `clock` runs as the event loop's does; `settings.max_time_s` counts from now.
        """
        self._frontier, self._queue, self._gate, self._heartbeat = frontier, queue, gate, heartbeat
        self._worker, self._uplink = worker, uplink
        self._settings, self._lease_ms = settings, lease_ms
        self._stop_at = None if settings.max_time_s is None else clock() + settings.max_time_s
        self._reads_sitemaps, self._clock = reads_sitemaps, clock
        self._is_barred = is_barred
        self._robots_cache = RobotsCache(frontier)
        self._restarts = frontier.crawl.server_restarts
        self._poll = LeasePoll()
        self._stopped = False

    def stop(self) -> None:
        """Lease nothing more."""
        self._stopped = True
        self._queue.wake()

    async def renew(self, leases: Sequence[Lease]) -> None:
        """Move the deadlines of leases whose settlement takes longer than usual."""
        await self._frontier.renew(leases, self._lease_ms())

    async def leases(self) -> AsyncIterator[tuple[Lease, Judgement | None]]:
        """Yield every lease as soon as it is granted, with the judgement that forbids its request, or None."""
        while not self._should_stop():
            await self._report(self._queue.take_ended())
            admitted = await self._lease()
            await self._start_afresh()
            for lease in admitted:
                if self._should_stop():
                    return
                yield lease, await self._refusal(lease)
            if not admitted and not len(self._queue) and await self._is_crawl_complete():
                return
            await self._pause()
        await self._report(self._queue.take_ended())

    async def _report(self, ended: EndedExchanges) -> None:
        """Report to the frontier what has ended."""
        if ended.has_closed:
            self._poll.poll_now()
        if ended.releases:
            self._poll.record_soonest(self._clock(), await self._frontier.release(ended.releases))
        if ended.postponements:
            await self._frontier.postpone_all(ended.postponements)
            self._poll.poll_now()

    async def _lease(self) -> list[Lease]:
        slots = self._uplink.lease_limit(self._settings.concurrency)
        room = slots - len(self._queue)
        if room <= 0 or self._poll.wait_s(self._clock()) or not await self._gate.may_lease():
            return []
        self._heartbeat.check()
        with root_span("lease batch", room=room):
            granted = await self._frontier.lease(
                room,
                worker=self._worker,
                lease_ms=self._lease_ms(),
                max_pages=self._settings.max_pages,
                max_requests=self._settings.max_requests,
            )
        admitted = self._queue.open_leases(granted, slots=slots)
        self._poll.record_grant(self._clock(), granted=len(granted), soonest_ms=granted.soonest_ms)
        return admitted

    async def _start_afresh(self) -> None:
        """Forget what a restarted server may have forgotten, and send a heartbeat at once."""
        if self._restarts == self._frontier.crawl.server_restarts:
            return
        self._restarts = self._frontier.crawl.server_restarts
        self._queue.known_urls.clear()
        await self._heartbeat.send_now()

    async def _refusal(self, lease: Lease) -> Judgement | None:
        """Return why the page of a lease is not requested; None if it is."""
        if lease.kind is not Kind.PAGE:
            return None
        if lease.failure:
            outcome, _, reason = lease.failure.partition(":")
            return Judgement(outcome=Outcome(outcome), reason=reason)
        refusal: Judgement | None
        try:
            with failure_boundary(READING_STEP):
                rules = await self._robots_cache.rules(lease)
                refusal = rules.refusal(lease.url)
                if self._is_barred is not None and self._is_barred(lease.url):
                    refusal = LOGIN_ADDRESS
                reads_sitemaps = self._reads_sitemaps and lease.follows_links and not lease.state.is_list
                if reads_sitemaps and (sitemaps := rules.take_sitemaps()):
                    await self._add_sitemaps(lease, sitemaps)
        except Failure as failure:
            LOGGER.warning("%s: its robots.txt: %s", lease.url, failure)
            refusal = READING_FAILED
        if refusal is not None:
            self._queue.release_unrequested(lease)
        return refusal

    async def _add_sitemaps(self, lease: Lease, sitemaps: Sequence[str]) -> None:
        known_urls = self._queue.known_urls
        found = [each for each in robots_sitemaps(lease, sitemaps) if each.url.text not in known_urls]
        if found:
            await self._frontier.add(found)
            self._poll.poll_now()
            for each in found:
                known_urls.add(each.url.text)

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
        if not await self._queue.wait_for_change(self._wait_s(self._clock())):
            return
        if self._queue.is_fetching:  # more exchanges may end at this moment
            await asyncio.sleep(BATCH_WINDOW_S)
        self._queue.clear_change()

    def _wait_s(self, now: float) -> float:
        room = self._uplink.lease_limit(self._settings.concurrency) - len(self._queue)
        wait_s = POLL_INTERVAL_S if room <= 0 or self._gate.is_shut else self._poll.wait_s(now)
        return wait_s if self._stop_at is None else min(wait_s, max(self._stop_at - now, 0.0))

    def _should_stop(self) -> bool:
        return self._stopped or (self._stop_at is not None and self._clock() >= self._stop_at)

    def __repr__(self) -> str:
        return (
            f"<scheduler of {self._worker}: {len(self._queue)} of {self._settings.concurrency} leases open>"
        )


class LeasePoll:
    """Says when to poll the frontier. Pure: the time is an argument, in seconds of any steady clock.

    1. The frontier names the time at which something may be leased (`Leases.soonest_ms`); it is polled then, and not
       before.
    2. An event at this worker (a lease is settled or goes back) may bring something at any time: the poll is due at
       once.
    3. Events elsewhere are not announced, so nobody waits for longer than `MAX_INTERVAL_S`.
    4. The frontier may name the same time to several workers, and one of them is first. A worker whose poll was in vain
       at the named time waits at least twice as long each time, until it is granted something again.
    """

    def __init__(self) -> None:
        self._at = 0.0
        self._is_promised = True
        self._empty_polls = 0

    def wait_s(self, now: float) -> float:
        """Return how long to wait before the next poll; 0 if it is due."""
        return max(self._at - now, 0.0)

    def record_grant(self, now: float, *, granted: int, soonest_ms: int | None) -> None:
        """Note the result of a poll: how many leases were granted, and in how many milliseconds more may be."""
        if granted:
            self._empty_polls = 0
        elif self._is_promised:
            self._empty_polls += 1
        wait_s = MAX_INTERVAL_S if soonest_ms is None else soonest_ms / 1000
        self._at = now + min(max(wait_s, MIN_INTERVAL_S * 2 ** min(self._empty_polls, 10)), MAX_INTERVAL_S)
        self._is_promised = True

    def record_soonest(self, now: float, soonest_ms: int | None) -> None:
        """Note that something may be leased in so many milliseconds, perhaps sooner than the frontier said before."""
        if soonest_ms is not None:
            self._at = min(self._at, now + soonest_ms / 1000)

    def poll_now(self) -> None:
        """Make the poll due at once: something has changed here."""
        self._at, self._is_promised = 0.0, False

    def __repr__(self) -> str:
        return f"<poll: {self._empty_polls} times in vain>"
