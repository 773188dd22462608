"""`PolitenessAudit`: reports when this worker's requests truly were, and logs every one that came too early.

1. The client says when it sent a request and when the answer was complete. The audit turns these times into times of
   the frontier's clock and sends them once a second. The frontier compares them with those of all other workers
   (`Politeness.check_exchanges`). Neither the scheduler nor anything else that plans turns is asked.
2. Clocks: the audit measures the frontier's clock against its own with every call, and uses the measurement with the
   shortest round trip. Half of that round trip is how far a time may be wrong; a violation must be larger.
3. A rendered page may send a burst to its own host under its lease, whose delays are paid afterwards. The burst
   prolongs the exchange of the page; each request in it is not checked on its own.
4. Exchanges of a crawl without a delay are not checked. Those of a worker that is killed within the second are lost.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from thresher.core import ThresherError, Unavailable
from thresher.crawler.machine.worker_counters import WorkerCounters
from thresher.crawler.wire import SentExchange
from thresher.frontier import ExchangeTimes, Frontier

PERIOD_S = 1.0
"""Seconds between two reports."""
MAX_PENDING = 10_000
"""Exchanges that wait for a report, at most. The oldest are dropped while the frontier cannot be reached."""
MAX_BATCH = 250
"""Exchanges of one call, so that no call holds the server for a millisecond."""
SAMPLES = 8
"""Measurements of the clock that are remembered."""
RESOLUTION_MS = 1.0
"""The frontier's clock shows whole milliseconds."""
LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClockSample:
    offset_ms: float
    """The frontier's clock minus this machine's."""
    error_ms: float


class PolitenessAudit:
    """The exchanges of one worker."""

    def __init__(
        self,
        frontier: Frontier,
        counters: WorkerCounters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` is the client's, in seconds."""
        self._frontier, self._counters, self._clock = frontier, counters, clock
        self._pending: deque[tuple[SentExchange, int]] = deque(maxlen=MAX_PENDING)
        self._batch: list[ExchangeTimes] = []
        """The exchanges of the call in progress. Their times are computed once: if the call is repeated, the frontier
        must see the same."""
        self._latest: dict[str, int] = {}
        self._clock_name = ""
        self._samples: deque[_ClockSample] = deque(maxlen=SAMPLES)

    def add_exchange(self, exchange: SentExchange) -> None:
        """Take an exchange that is over."""
        delay_ms = self._frontier.crawl.settings.min_delay_ms
        if delay_ms:
            self._pending.append((exchange, delay_ms))

    async def run(self) -> None:
        """Report exchanges until cancelled."""
        while True:
            await asyncio.sleep(PERIOD_S)
            with suppress(Unavailable):
                await self.report_exchanges()

    async def close(self) -> None:
        """Report what is left, if the frontier can be reached."""
        with suppress(ThresherError):
            await self.report_exchanges()

    async def report_exchanges(self) -> None:
        """Report the exchanges so far, and log and count the violations among them. Raise `Unavailable` if the frontier
        cannot be reached; then the exchanges stay for the next call.
        """
        while self._batch or self._pending:
            if not self._samples:
                await self._check()
            if not self._batch:
                number = min(MAX_BATCH, len(self._pending))
                self._batch = [self._times(*self._pending.popleft()) for _ in range(number)]
            await self._check()
            self._batch = []

    async def _check(self) -> None:
        sent_at = self._clock()
        found = await self._frontier.politeness.check_exchanges(self._clock_name, self._batch)
        self._measure_clock(found.clock, found.now_ms, sent_at, self._clock())
        if found.violations:
            self._counters.politeness_violations += len(found.violations)
            for each in found.violations:
                LOGGER.warning(
                    "politeness violated: %s was requested %d ms after the end of the last request, and its delay is "
                    "%d ms; report this as a defect",
                    each.host,
                    each.gap_ms,
                    each.delay_ms,
                )

    def _times(self, exchange: SentExchange, delay_ms: int) -> ExchangeTimes:
        best = min(self._samples, key=lambda sample: sample.error_ms)
        started_ms = round(exchange.started_at * 1000 + best.offset_ms)
        if exchange.in_burst:
            started_ms = self._latest.get(exchange.host, started_ms)
        elif len(self._latest) > MAX_PENDING:
            self._latest.clear()
        self._latest[exchange.host] = started_ms
        return ExchangeTimes(
            host=exchange.host,
            started_ms=started_ms,
            ended_ms=round(exchange.ended_at * 1000 + best.offset_ms),
            delay_ms=delay_ms,
            error_ms=round(best.error_ms + 0.5),
        )

    def _measure_clock(self, name: str, now_ms: int, sent_at: float, received_at: float) -> None:
        sample = _ClockSample(
            offset_ms=now_ms - (sent_at + received_at) / 2 * 1000,
            error_ms=(received_at - sent_at) / 2 * 1000 + RESOLUTION_MS,
        )
        if name != self._clock_name or self._has_leapt(sample):
            self._samples.clear()
            self._latest.clear()
        self._clock_name = name
        self._samples.append(sample)

    def _has_leapt(self, sample: _ClockSample) -> bool:
        return any(
            abs(sample.offset_ms - other.offset_ms) > sample.error_ms + other.error_ms
            for other in self._samples
        )

    def __repr__(self) -> str:
        return f"<politeness audit: {len(self._pending)} exchanges to report>"
