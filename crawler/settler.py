"""`Settler`: between the end of an exchange and the end of its lease.

1. A lease is settled only when its records are durable, and its line in the crawl's log
   (`storage.crawllog.log_line`): append, commit, then settle, never another way round. What somebody else makes of
   pages comes before (`before`).
2. An open archive file is sealed when it is due, also while nothing is appended to it (`crawler.rotation`). A line is
   durable no later than its record: what is archived is in the log.
3. Batches: every tenth of a second, or at once when many wait. Appending, compressing and fsync happen in a
   thread of their own, one batch at a time; the event loop goes on.
4. A worker that may have been given up appends and settles nothing (`crawler.machine.heartbeat`): another has sealed
   its file, perhaps without what was appended last. The frontier refuses it too.
5. What would be no WARC (`storage.warc.validator`), or makes the writing of its record raise, costs its page: it has
   failed, and is logged. What the disk or the store refuses ends the worker: what was not settled stays leased, and
   what was archived of it is found again by `crawler.replay.replay`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

from core import Capture, Conflict, CorruptData, Failure, RecordRef, failure_boundary
from crawler.gate_monitor import GateMonitor
from crawler.log_entry import exchange_line
from crawler.machine.heartbeat import Heartbeat
from crawler.reading.outcome import NO_RECORD
from crawler.reading.page_reading import settlement_for
from crawler.reading.rendered_page import RenderedPage
from crawler.recent_set import RecentSet
from crawler.render.rendering_archive import archive_rendering
from crawler.robots.robots_txt import RobotsRetry, RobotsRuling, use_stale_rules
from crawler.rotation import Rotation
from crawler.wire import utc_ms
from frontier import Frontier, Lease, Settlement, TakeoverError
from storage.archive.archive_writer import ArchiveWriter
from storage.crawllog.log_writer import CrawlLogWriter
from storage.warc.capture_metadata import CaptureMetadata
from storage.warc.dropped import DroppedPage
from storage.warc.revisit import Revisit

T = TypeVar("T")
LOGGER = logging.getLogger(__name__)
INTERVAL_S = 0.1
BATCH = 32
MAX_KNOWN_URLS = 100_000
"""URLs that a worker remembers to have told the frontier: some 20 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseResult:
    """One lease whose exchange has ended: what to archive, and how to settle."""

    lease: Lease
    records: tuple[tuple[Capture, UUID], ...] = ()
    dropped: DroppedPage | None = None
    """What is archived in place of the records, where the page is not."""
    metadata: CaptureMetadata | None = None
    """What is archived beside the records."""
    revisit: Revisit | None = None
    """What the exchange came to again."""
    rendered: RenderedPage | None = None
    """What a browser made of the page, where one did."""
    error: str = ""
    """Traceback of the exception that its reading raised, for the log."""
    robots: tuple[str, ...] = ()
    """What the page, or its server, asks of robots (`extract.rights`), as far as its reading came to it."""
    decision: Settlement | RobotsRuling | RobotsRetry
    """A page's settlement; or what a robots.txt came to."""


class Settler:
    """Archives and settles what is handed to it; `on_settled` is called with the leases that have ended."""

    def __init__(
        self,
        archive: ArchiveWriter,
        frontier: Frontier,
        on_settled: Callable[[Sequence[Lease]], None],
        *,
        log: CrawlLogWriter,
        gate: GateMonitor,
        heartbeat: Heartbeat,
        rotation: Rotation,
        clock_ms: Callable[[], int] = utc_ms,
        before_batch: Callable[[], None] | None = None,
    ) -> None:
        """`clock_ms` is the one that dates the captures. `before` is called with every batch, in the thread that
        archives: it returns when what was made of the pages is durable.
        """
        self._archive, self._frontier, self._on_settled = archive, frontier, on_settled
        self._log, self._gate, self._heartbeat = log, gate, heartbeat
        self._rotation, self._clock_ms = rotation, clock_ms
        self._before_batch = before_batch
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive")
        self._waiting: list[LeaseResult] = []
        self._is_batch_full = asyncio.Event()
        self._closing = False
        self.known_urls = RecentSet(MAX_KNOWN_URLS)
        """URLs that the frontier certainly has."""

    def add(self, finished: LeaseResult) -> None:
        """Take it into the next batch."""
        self._waiting.append(finished)
        if len(self._waiting) >= BATCH:
            self._is_batch_full.set()

    def close(self) -> None:
        """Let `run` settle what waits, and return."""
        self._closing = True
        self._is_batch_full.set()

    async def run(self) -> None:
        """Settle batch after batch until closed, then seal the archive and the log."""
        while not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL_S):
                    await self._is_batch_full.wait()
            self._is_batch_full.clear()
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
        # If this worker stands still from here on and another takes over, the other's lines are younger than this time.
        now_ms = self._clock_ms()
        self._heartbeat.check()
        before = self._archive.appended
        kept = await self._in_thread(lambda: self._store(batch, now_ms))
        self._heartbeat.check()
        await settle_leases(
            self._frontier,
            kept,
            self.known_urls,
            archived_bytes=self._archive.appended - before,
            clock_ms=self._clock_ms,
        )
        self._on_settled([finished.lease for finished in batch])

    async def _seal(self, written: ArchiveWriter | CrawlLogWriter) -> None:
        self._heartbeat.check()
        await self._in_thread(written.seal)

    def _is_due(self) -> bool:
        growing = self._archive.open_file
        return growing is not None and self._rotation.is_due(
            size=growing.bytes, age_ms=self._clock_ms() - growing.since_ms, flow=self._gate.state
        )

    def _store(self, batch: Sequence[LeaseResult], now_ms: int) -> list[LeaseResult]:
        if self._before_batch is not None:
            self._before_batch()
        kept = [self._store_result(finished, now_ms) for finished in batch]
        self._log.commit()
        self._archive.commit()
        return kept

    def _store_result(self, finished: LeaseResult, now_ms: int) -> LeaseResult:
        ref = None
        try:
            with failure_boundary("record"):
                for capture, record_id in finished.records:
                    ref = self._append(finished, capture, record_id)
        except (CorruptData, Failure) as error:
            LOGGER.exception("%s is not archived", finished.lease.url)
            if isinstance(error, Failure):
                finished = replace(finished, error=error.traceback)
            if isinstance(finished.decision, Settlement):
                finished = replace(finished, decision=settlement_for(finished.lease, NO_RECORD))
        self._log.append(
            exchange_line(finished.lease, finished.decision, finished.records, ref, now_ms, finished.error)
        )
        return finished

    def _append(self, finished: LeaseResult, capture: Capture, record_id: UUID) -> RecordRef:
        if finished.dropped is not None:
            return self._archive.drop(capture, record_id, finished.dropped)
        if finished.rendered is not None:
            archive_rendering(self._archive, finished.rendered, capture, record_id)
        notes, revisit = finished.metadata, finished.revisit
        whole = finished.lease.interval_s > 0
        return self._archive.append(capture, record_id, metadata=notes, revisit=revisit, whole=whole)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except Conflict as error:  # another has recovered a file of this worker's
            raise TakeoverError(f"{error}; its writer was given up, and stops") from error

    def __repr__(self) -> str:
        return f"<settler: {len(self._waiting)} waiting>"


async def settle_leases(
    frontier: Frontier,
    batch: Sequence[LeaseResult],
    known: RecentSet,
    *,
    archived_bytes: int = 0,
    is_worker_dead: bool = False,
    clock_ms: Callable[[], int] = utc_ms,
) -> None:
    """End leases whose records are durable; what the frontier was told of is `known` from then on.

    `archived` are the bytes of the records, for who follows the crawl. What a dead worker left is not counted
    again: a follower finds it sealed. `died` says that they are those of a dead worker (`Frontier.settle`).
    """
    pages = [finished.decision for finished in batch if isinstance(finished.decision, Settlement)]
    for finished in batch:
        await _settle_robots(frontier, finished, clock_ms(), died=is_worker_dead)
    # A stale lease adds nothing; which one it was is not said, so nothing of such a batch counts as known.
    if await frontier.settle(pages, archived=archived_bytes, is_worker_dead=is_worker_dead) == len(pages):
        for page in pages:
            for found in page.discoveries:
                known.add(found.url.text)


async def _settle_robots(frontier: Frontier, finished: LeaseResult, now_ms: int, *, died: bool) -> None:
    lease, answer = finished.lease, finished.decision
    if isinstance(answer, RobotsRetry):
        record = await frontier.origins.robots(lease.url.origin) if lease.robots_version else None
        answer = use_stale_rules(answer, record, now_ms)
    match answer:
        case RobotsRuling():
            await frontier.origins.settle_robots(
                lease,
                rule=answer.rule,
                body=answer.body,
                ttl_ms=answer.ttl_ms,
                delay_ms=answer.delay_ms,
                fault=answer.fault,
                reason=answer.reason,
                hold_ms=answer.hold_ms,
                is_worker_dead=died,
            )
        case RobotsRetry(is_failure=False, retry_after_ms=after_ms):
            await frontier.postpone(lease, after_ms or 0, has_sent_request=True, is_worker_dead=died)
        case RobotsRetry(retry_after_ms=after_ms, fault=fault, reason=reason):
            await frontier.origins.retry_robots(
                lease, after_ms=after_ms, fault=fault, reason=reason, is_worker_dead=died
            )
