"""`LeaseQueue`: the open leases of one worker, from grant to settlement. The scheduler opens them, the lease handler
puts in what has ended (an exchange, a reading), and the settler closes them.

1. The host of a lease is released as soon as its exchange is over. If the exchange failed, the host is not released:
   the settlement says what the failure means for the host.
2. A lease goes back if it is not its address's turn. The frontier hears of that as of the end of an exchange.
3. Pages and robots.txt files that dead workers held (`Lease.is_recovered`) are fetched one at a time: if one of them
   kills this worker too, the others are not blamed.
4. A lease goes back if its registered domain holds its share of the slots, or if the domain is slow and slow domains
   hold their share. Its host waits (`crawler.scheduling.slot_share`).
5. Results wait for the settler until there are `BATCH` of them, for `BATCH_INTERVAL_S` at most. `SMALL_BATCH` of them
   are enough if no other lease is being worked on: nothing would come to them, and they hold slots. Releases and leases
   that go back wait for the scheduler's next call of the frontier.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil

from thresher.crawler.lease_result import LeaseResult
from thresher.crawler.recent_set import RecentSet
from thresher.crawler.scheduling.slot_share import SlotShares
from thresher.frontier import HostRelease, Lease, Settlement

RECOVERED_WAIT_MS = 500
"""Milliseconds that the host of a recovered lease waits while another recovered lease is fetched."""
BATCH_INTERVAL_S = 0.1
BATCH = 32
"""Results that are settled together."""
SMALL_BATCH = 8
"""Fewer results wait for the interval. Each settlement costs a request to the store, in which a bucket is paid for."""
MAX_KNOWN_URLS = 100_000
"""URLs of which a worker remembers that the frontier has them: some 20 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedExchanges:
    """What the frontier is to hear from the scheduler."""

    releases: Sequence[HostRelease]
    postponements: Sequence[tuple[HostRelease, int]]
    """Leases that go back, and the milliseconds that the host of each waits."""
    has_closed: bool
    """Whether leases were closed: the frontier may grant something now."""


class LeaseQueue:
    """Knows which leases are open, and what waits for the scheduler and for the settler."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` runs as the event loop's does."""
        self.known_urls = RecentSet(MAX_KNOWN_URLS)
        """URLs that the frontier certainly has."""
        self._clock = clock
        self._open: dict[int, Lease] = {}
        self._fetching: set[int] = set()
        self._unfinished: set[int] = set()
        """Tokens of leases that were started and have no result yet."""
        self._shares = SlotShares()
        self._recovered_token: int | None = None
        self._releases: list[HostRelease] = []
        self._postponements: list[tuple[HostRelease, int]] = []
        self._has_closed = False
        self._changed = asyncio.Event()
        self._results: list[LeaseResult] = []
        self._is_batch_full = asyncio.Event()
        self.is_finished = False
        """Whether no more results come."""

    # For the scheduler

    def __len__(self) -> int:
        """Return how many leases are open."""
        return len(self._open)

    @property
    def is_fetching(self) -> bool:
        """Whether exchanges are under way."""
        return bool(self._fetching)

    def open_leases(self, granted: Sequence[Lease], *, slots: int) -> list[Lease]:
        """Open leases that were granted, and return those that may be started; the others go back. `slots` are the
        worker's, taken and free.
        """
        self._open.update((lease.token, lease) for lease in granted)
        admitted = [lease for lease in granted if self._admit(lease, slots)]
        self._fetching.update(lease.token for lease in admitted if not lease.failure)
        self._unfinished.update(lease.token for lease in admitted)
        return admitted

    def take_ended(self) -> EndedExchanges:
        """Return what has ended since the last call."""
        ended = EndedExchanges(
            releases=self._releases, postponements=self._postponements, has_closed=self._has_closed
        )
        self._releases, self._postponements, self._has_closed = [], [], False
        return ended

    async def wait_for_change(self, timeout_s: float) -> bool:
        """Wait until something ends or `wake` is called; return False after `timeout_s` without either."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def clear_change(self) -> None:
        """Let `wait_for_change` wait for what ends from now on."""
        self._changed.clear()

    def wake(self) -> None:
        """Let the scheduler look at once."""
        self._changed.set()

    # For the handler of a lease

    def release_host(self, lease: Lease, elapsed_ms: int | None = None) -> None:
        """End the exchange of a lease: the delay of its host begins. `elapsed_ms` is the time that a page took, from
        the connection to the last byte, the network included: for so long the host was busy with us.
        """
        self._queue_release(HostRelease(lease=lease, elapsed_ms=elapsed_ms))
        self._shares.over(lease.token, self._clock(), None if elapsed_ms is None else elapsed_ms / 1000)

    def release_unrequested(self, lease: Lease) -> None:
        """Free the host of a lease for which no request was sent: that costs no delay."""
        self._queue_release(HostRelease(lease=lease, has_sent_request=False))

    def postpone(self, lease: Lease, wait_ms: int, *, has_sent_request: bool) -> None:
        """Give back a lease that got no answer through no fault of its host; the host waits for `wait_ms`.
        `has_sent_request` says whether a request may have reached the host.
        """
        self._close(lease)
        self._finish_work(lease)
        self._postponements.append((HostRelease(lease=lease, has_sent_request=has_sent_request), wait_ms))
        self._changed.set()

    def add_result(self, result: LeaseResult) -> None:
        """Add the result of a lease to the settler's next batch."""
        self._results.append(result)
        self._finish_work(result.lease)

    def finish(self) -> None:
        """Say that no more results come."""
        self.is_finished = True
        self._is_batch_full.set()

    # For the settler

    async def next_batch(self) -> list[LeaseResult]:
        """Return the results since the last call, perhaps none, as soon as they are a full batch and after
        `BATCH_INTERVAL_S` at the latest.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(BATCH_INTERVAL_S):
                await self._is_batch_full.wait()
        if not self.is_finished:
            self._is_batch_full.clear()
        results, self._results = self._results, []
        return results

    def close_leases(self, results: Sequence[LeaseResult], *, are_urls_known: bool) -> None:
        """Close the leases of results that are settled. `are_urls_known` says whether the frontier certainly has their
        discoveries.
        """
        for result in results:
            if are_urls_known and isinstance(result.decision, Settlement):
                for found in result.decision.discoveries:
                    self.known_urls.add(found.url.text)
            if result.lease.token in self._fetching:  # its exchange failed: the settlement ends it
                self._shares.over(result.lease.token, self._clock())
            self._close(result.lease)
        self._has_closed = True
        self._changed.set()

    def _admit(self, lease: Lease, slots: int) -> bool:
        """Return whether a lease may be started; if not, it goes back. A lease without a request needs no slot."""
        if lease.failure:
            return True
        wait_s = self._shares.admit(lease.token, lease.url.host, self._clock(), slots=slots)
        if wait_s is not None:
            self.postpone(lease, ceil(wait_s * 1000), has_sent_request=False)
            return False
        if lease.is_recovered:
            if self._recovered_token is not None:
                self.postpone(lease, RECOVERED_WAIT_MS, has_sent_request=False)
                return False
            self._recovered_token = lease.token
        return True

    def _finish_work(self, lease: Lease) -> None:
        self._unfinished.discard(lease.token)
        if len(self._results) >= (BATCH if self._unfinished else SMALL_BATCH):
            self._is_batch_full.set()

    def _queue_release(self, release: HostRelease) -> None:
        self._fetching.discard(release.lease.token)
        self._releases.append(release)
        self._changed.set()

    def _close(self, lease: Lease) -> None:
        del self._open[lease.token]
        self._fetching.discard(lease.token)
        self._shares.release(lease.token, self._clock())
        if self._recovered_token == lease.token:
            self._recovered_token = None

    def __repr__(self) -> str:
        return f"<lease queue: {len(self)} open, {len(self._results)} wait for the settler>"
