"""`OutboxRelay`: what the frontier settled by itself goes into the crawl's log.

1. The frontier keeps it until it is told that it is durable (`Frontier.unlogged_batch`), so nothing is lost, whoever is
   killed.
2. Each batch is a sealed file of its own. So that these are few, a batch is taken when there is much, or when some has
   waited for `PATIENCE_S`; `empty` takes all that is left.
"""

import asyncio
import math

from crawler.log_entry import conclusion_line
from crawler.machine.system import REAL_SYSTEM, System
from frontier import Frontier
from frontier.verbs.queue_tail import QueueTail
from storage.crawllog import log_writer
from storage.store import Store

BATCH_PAGES = 4_096
"""Pages of a file, of each partition: some 2 MB, a tenth of that compressed."""
MAX_WAIT_S = 30.0
LOOK_S = 1.0


class OutboxRelay:
    """The way into the log, for one command. Two at once may write a line twice."""

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
        """Log a batch if it is time; returns how many pages."""
        now = self._clock()
        if now < self._next:
            return 0
        self._next = now + LOOK_S
        there = (await self._frontier.stats()).unlogged
        self._since = min(self._since, now) if there else math.inf
        return await self._drain() if there >= BATCH_PAGES or now - self._since >= MAX_WAIT_S else 0

    async def log_all(self) -> int:
        """Log all there is; returns how many pages."""
        logged = 0
        while True:
            dug = await self._tail.refill_outbox()
            taken = await self._drain()
            logged += taken
            if not dug and not taken:
                return logged

    async def _drain(self) -> int:
        """Log a batch; returns how many pages."""
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
        return f"<what the frontier of {self._crawl} settled by itself>"
