"""`Settler`: between the end of an exchange and the end of its lease.

1. A lease is settled only when its records are durable, and its line in the crawl's log (`storage.crawllog`): append, commit,
   then settle, never another way round. What somebody else makes of pages comes before (`before`).
2. An open archive file is sealed when it is due, also while nothing is appended to it (`crawler.rotation`). A line is durable
   no later than its record: what is archived is in the log.
3. Batches: every tenth of a second, or at once when many wait. Appending, compressing and fsync happen in a
   thread of their own, one batch at a time; the event loop goes on.
4. A worker that may have been given up appends and settles nothing (`crawler.pulse`): another has sealed its file, perhaps
   without what was appended last. The frontier refuses it too.
5. What would be no WARC (`storage.validator`), or makes the writing of its record raise, costs its page: it has failed, and is
   logged. What the disk or the store refuses ends the worker: what was not settled stays leased, and what was archived of it is found
   again by `crawler.replay`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

from core import Capture, Conflict, CorruptData, Failure, RecordRef, reading
from crawler.gate import Gate
from crawler.logline import of_exchange
from crawler.outcome import UNFIT
from crawler.page import settled
from crawler.pulse import Pulse
from crawler.recent import Recent
from crawler.render.keep import keep
from crawler.rendered import Rendered
from crawler.robots import AskAgain, Ruling, as_before
from crawler.rotation import Rotation
from crawler.wire import utc_ms
from frontier import Frontier, GivenUp, Lease, Settlement
from storage.archive import Archive
from storage.dropped import Dropped
from storage.logwriter import CrawlLog
from storage.notes import Notes
from storage.revisit import Revisit

T = TypeVar("T")
LOGGER = logging.getLogger(__name__)
INTERVAL_S = 0.1
BATCH = 32
KNOWN_AT_MOST = 100_000
"""URLs that a worker remembers to have told the frontier: some 20 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One lease whose exchange has ended: what to archive, and how to settle."""

    lease: Lease
    records: tuple[tuple[Capture, UUID], ...] = ()
    dropped: Dropped | None = None
    """What is archived in place of the records, where the page is not."""
    notes: Notes | None = None
    """What is archived beside the records."""
    revisit: Revisit | None = None
    """What the exchange came to again."""
    rendered: Rendered | None = None
    """What a browser made of the page, where one did."""
    error: str = ""
    """Traceback of the exception that its reading raised, for the log."""
    robots: tuple[str, ...] = ()
    """What the page, or its server, asks of robots (`extract.rights`), as far as its reading came to it."""
    answer: Settlement | Ruling | AskAgain
    """A page's settlement; or what a robots.txt came to."""


class Settler:
    """Archives and settles what is handed to it; `settled` is called with the leases that have ended."""

    def __init__(
        self,
        archive: Archive,
        frontier: Frontier,
        settled: Callable[[Sequence[Lease]], None],
        *,
        log: CrawlLog,
        gate: Gate,
        pulse: Pulse,
        rotation: Rotation,
        clock_ms: Callable[[], int] = utc_ms,
        before: Callable[[], None] | None = None,
    ) -> None:
        """`clock_ms` is the one that dates the captures. `before` is called with every batch, in the thread that archives:
        it returns when what was made of the pages is durable.
        """
        self._archive, self._frontier, self._settled = archive, frontier, settled
        self._log, self._gate, self._pulse = log, gate, pulse
        self._rotation, self._clock_ms = rotation, clock_ms
        self._before = before
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive")
        self._waiting: list[Finished] = []
        self._many = asyncio.Event()
        self._closing = False
        self.known = Recent(KNOWN_AT_MOST)
        """URLs that the frontier certainly has."""

    def add(self, finished: Finished) -> None:
        """Take it into the next batch."""
        self._waiting.append(finished)
        if len(self._waiting) >= BATCH:
            self._many.set()

    def close(self) -> None:
        """Let `run` settle what waits, and return."""
        self._closing = True
        self._many.set()

    async def run(self) -> None:
        """Settle batch after batch until closed, then seal the archive and the log."""
        while not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL_S):
                    await self._many.wait()
            self._many.clear()
            await self._flush()
            if self._is_due():
                await self._seal(self._archive)
            if self._log.is_due:
                await self._seal(self._log)
        await self._flush()
        await self._seal(self._archive)
        await self._seal(self._log)

    async def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        # What is logged now is older than whatever others do after this worker was given up, however long it stands still from here.
        now_ms = self._clock_ms()
        self._pulse.check()
        before = self._archive.appended
        kept = await self._in_thread(lambda: self._store(batch, now_ms))
        self._pulse.check()
        await end(
            self._frontier,
            kept,
            self.known,
            archived=self._archive.appended - before,
            clock_ms=self._clock_ms,
        )
        self._settled([finished.lease for finished in batch])

    async def _seal(self, written: Archive | CrawlLog) -> None:
        self._pulse.check()
        await self._in_thread(written.seal)

    def _is_due(self) -> bool:
        growing = self._archive.growing
        return growing is not None and self._rotation.is_due(
            size=growing.bytes, age_ms=self._clock_ms() - growing.since_ms, flow=self._gate.flow
        )

    def _store(self, batch: Sequence[Finished], now_ms: int) -> list[Finished]:
        if self._before is not None:
            self._before()
        kept = [self._stored(finished, now_ms) for finished in batch]
        self._log.commit()
        self._archive.commit()
        return kept

    def _stored(self, finished: Finished, now_ms: int) -> Finished:
        ref = None
        try:
            with reading("record"):
                for capture, record_id in finished.records:
                    ref = self._append(finished, capture, record_id)
        except (CorruptData, Failure) as error:
            LOGGER.exception("%s is not archived", finished.lease.url)
            if isinstance(error, Failure):
                finished = replace(finished, error=error.traceback)
            if isinstance(finished.answer, Settlement):
                finished = replace(finished, answer=settled(finished.lease, UNFIT))
        self._log.append(
            of_exchange(finished.lease, finished.answer, finished.records, ref, now_ms, finished.error)
        )
        return finished

    def _append(self, finished: Finished, capture: Capture, record_id: UUID) -> RecordRef:
        if finished.dropped is not None:
            return self._archive.drop(capture, record_id, finished.dropped)
        if finished.rendered is not None:
            keep(self._archive, finished.rendered, capture, record_id)
        notes, revisit = finished.notes, finished.revisit
        whole = finished.lease.interval_s > 0
        return self._archive.append(capture, record_id, notes=notes, revisit=revisit, whole=whole)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except Conflict as error:  # another has recovered a file of this worker's
            raise GivenUp(f"{error}; its writer was given up, and stops") from error

    def __repr__(self) -> str:
        return f"<settler: {len(self._waiting)} waiting>"


async def end(
    frontier: Frontier,
    batch: Sequence[Finished],
    known: Recent,
    *,
    archived: int = 0,
    died: bool = False,
    clock_ms: Callable[[], int] = utc_ms,
) -> None:
    """End leases whose records are durable; what the frontier was told of is `known` from then on.

    `archived` are the bytes of the records, for who follows the crawl. What a dead worker left is not counted
    again: a follower finds it sealed. `died` says that they are those of a dead worker (`Frontier.settle`).
    """
    pages = [finished.answer for finished in batch if isinstance(finished.answer, Settlement)]
    for finished in batch:
        await _end_robots(frontier, finished, clock_ms(), died=died)
    # A stale lease adds nothing; which one it was is not said, so nothing of such a batch counts as known.
    if await frontier.settle(pages, archived=archived, died=died) == len(pages):
        for page in pages:
            for found in page.discoveries:
                known.add(found.url.text)


async def _end_robots(frontier: Frontier, finished: Finished, now_ms: int, *, died: bool) -> None:
    lease, answer = finished.lease, finished.answer
    if isinstance(answer, AskAgain):
        record = await frontier.robots(lease.url.origin) if lease.robots_version else None
        answer = as_before(answer, record, now_ms)
    match answer:
        case Ruling():
            await frontier.settle_robots(
                lease,
                rule=answer.rule,
                body=answer.body,
                ttl_ms=answer.ttl_ms,
                delay_ms=answer.delay_ms,
                fault=answer.fault,
                reason=answer.reason,
                hold_ms=answer.hold_ms,
                died=died,
            )
        case AskAgain(failed=False, after_ms=after_ms):
            await frontier.postpone(lease, after_ms or 0, asked=True, died=died)
        case AskAgain(after_ms=after_ms, fault=fault, reason=reason):
            await frontier.retry_robots(lease, after_ms=after_ms, fault=fault, reason=reason, died=died)
