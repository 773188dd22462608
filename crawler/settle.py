"""`Settler`: between the end of an exchange and the end of its lease.

1. A lease is settled only when its records are durable: append, commit, then settle, never another way round.
2. Batches: every tenth of a second, or at once when many wait. Appending, compressing and fsync happen in a
   thread, one batch at a time; the event loop goes on.
3. Whatever fails here ends the worker: what was not settled stays leased, and what was archived of it is found
   again by `crawler.replay`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from core import Capture
from crawler.robots import AskAgain, Ruling
from frontier import Frontier, Lease, Settlement
from storage.archive import Archive

INTERVAL_S = 0.1
BATCH = 32
ROBOTS_RETRY_MS = 30_000
"""How long a host waits whose robots.txt could not be had; doubles with every attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One lease whose exchange has ended: what to archive, and how to settle."""

    lease: Lease
    records: tuple[tuple[Capture, UUID], ...]
    answer: Settlement | Ruling | AskAgain
    """A page's settlement; or what a robots.txt came to."""


class Settler:
    """Archives and settles what is handed to it; `settled` is told of every lease that has ended."""

    def __init__(
        self, archive: Archive, frontier: Frontier, settled: Callable[[Sequence[Finished]], None]
    ) -> None:
        self._archive, self._frontier, self._settled = archive, frontier, settled
        self._waiting: list[Finished] = []
        self._many = asyncio.Event()

    def add(self, finished: Finished) -> None:
        """Take it into the next batch."""
        self._waiting.append(finished)
        if len(self._waiting) >= BATCH:
            self._many.set()

    async def run(self) -> None:
        """Settle batch after batch until cancelled between two of them."""
        while True:
            try:
                async with asyncio.timeout(INTERVAL_S):
                    await self._many.wait()
            except TimeoutError:
                pass
            self._many.clear()
            await asyncio.shield(self.flush())

    async def flush(self) -> None:
        """Make everything that waits durable, and settle it."""
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        if any(finished.records for finished in batch):
            await asyncio.to_thread(self._store, batch)
        await end(self._frontier, [(finished.lease, finished.answer) for finished in batch])
        self._settled(batch)

    def _store(self, batch: Sequence[Finished]) -> None:
        for finished in batch:
            for capture, record_id in finished.records:
                self._archive.append(capture, record_id)
        self._archive.commit()

    def __repr__(self) -> str:
        return f"<settler: {len(self._waiting)} waiting>"


async def end(
    frontier: Frontier, answers: Sequence[tuple[Lease, Settlement | Ruling | AskAgain]]
) -> None:
    """End leases whose records are durable."""
    for lease, answer in answers:
        match answer:
            case Ruling():
                await frontier.settle_robots(
                    lease,
                    rule=answer.rule,
                    body=answer.body,
                    ttl_ms=answer.ttl_ms,
                    delay_ms=answer.delay_ms,
                )
            case AskAgain():
                await frontier.retry_robots(lease, after_ms=answer.after_ms)
    await frontier.settle([answer for _, answer in answers if isinstance(answer, Settlement)])
