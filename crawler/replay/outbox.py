"""`OutboxRelay`: write the pages that the frontier settled by itself into the crawl's log.

1. The frontier keeps each page until the relay acknowledges that its line is durable (`Frontier.acknowledge_batch`). So
   no page is lost, whichever process is killed.
2. Each batch is a sealed file of its own. To keep these files few, a batch is written when `BATCH_PAGES` pages wait, or
   when one has waited for `MAX_WAIT_S`. `log_all` writes everything at once.
"""

import asyncio
import math

from thresher.crawler.log_entry import conclusion_line
from thresher.crawler.machine.system import REAL_SYSTEM, System
from thresher.frontier import Frontier
from thresher.frontier.verbs.queue_tail import QueueTail
from thresher.storage.crawllog import log_writer
from thresher.storage.store import Store

BATCH_PAGES = 4_096
"""Pages of one file from each partition: some 2 MB, a tenth of that compressed."""
MAX_WAIT_S = 30.0
POLL_INTERVAL_S = 1.0
"""Seconds between two looks at the number of waiting pages."""


class OutboxRelay:
    """Relays pages for one command. Two relays at once may write a line twice."""

    def __init__(
        self,
        frontier: Frontier,
        tail: QueueTail,
        store: Store,
        crawl: str,
        system: System = REAL_SYSTEM,
    ) -> None:
        self._frontier, self._tail, self._store, self._crawl = frontier, tail, store, crawl
        self._writer, self._serial = f"frontier-{system.unique_name()}", 0
        self._clock, self._since, self._next = system.clock, math.inf, 0.0

    async def log_due(self) -> int:
        """Log a batch if one is due; return how many pages were logged."""
        now = self._clock()
        if now < self._next:
            return 0
        self._next = now + POLL_INTERVAL_S
        unlogged = (await self._frontier.stats()).unlogged
        self._since = min(self._since, now) if unlogged else math.inf
        return await self._drain() if unlogged >= BATCH_PAGES or now - self._since >= MAX_WAIT_S else 0

    async def log_all(self) -> int:
        """Log all pages that wait; return how many were logged."""
        logged = 0
        while True:
            refilled = await self._tail.refill_outbox()
            drained = await self._drain()
            logged += drained
            if not refilled and not drained:
                return logged

    async def _drain(self) -> int:
        """Log a batch; return how many pages were logged."""
        batch = await self._frontier.unlogged_batch(BATCH_PAGES)
        if batch.settlements:
            stem = f"{self._crawl}-{self._writer}-{self._serial:05d}"
            lines = sorted(map(conclusion_line, batch.settlements), key=lambda line: line.time_ms)
            await asyncio.to_thread(log_writer.put, self._store, self._crawl, stem, lines)
            self._serial += 1
            await self._frontier.acknowledge_batch(batch)
        self._since, self._next = math.inf, 0.0
        return len(batch.settlements)

    def __repr__(self) -> str:
        return f"<outbox relay of {self._crawl}>"
