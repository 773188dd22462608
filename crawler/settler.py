"""`Settler`: archives the results of leases and settles the leases.

1. A lease is settled only when its records and its line in the crawl's log (`storage.crawllog.log_line`) are durable:
   append, commit, then settle, in this order. The output of a user's spider is durable before that (`before_batch`).
2. An open archive file is sealed when it is due, also while nothing is appended to it (`crawler.rotation`). A line is
   durable no later than its record, so the log has a line for everything in the archive.
3. Results come in batches (`crawler.scheduling.lease_queue`). A thread appends, compresses and syncs one batch at a
   time; the event loop goes on.
4. A worker that may have been taken over appends and settles nothing (`crawler.machine.heartbeat`): another worker has
   sealed its file, perhaps without the last records. The frontier refuses it too.
5. If an exchange would make an invalid WARC record (`storage.warc.validator`), or the writing of its record raises, its
   page fails and is logged. If the disk or the store refuses a write, the worker ends: leases that are not settled stay
   open, and `crawler.replay.replay` finds their records in the archive.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from thresher.core import Capture, Conflict, CorruptData, Failure, RecordRef, failure_boundary
from thresher.crawler.gate_monitor import GateMonitor
from thresher.crawler.lease_result import LeaseResult, settlement_for
from thresher.crawler.log_entry import exchange_line
from thresher.crawler.machine.heartbeat import Heartbeat
from thresher.crawler.reading.outcome import NO_RECORD
from thresher.crawler.reading.page_parts import PageParts
from thresher.crawler.render.rendering_archive import archive_rendering
from thresher.crawler.robots.robots_txt import RobotsRetry, RobotsRuling, use_stale_rules
from thresher.crawler.rotation import Rotation
from thresher.crawler.scheduling.lease_queue import LeaseQueue
from thresher.crawler.subresources.parts_archive import archive_parts
from thresher.crawler.wire import utc_ms
from thresher.frontier import Frontier, Lease, Settlement, TakeoverError
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.crawllog.log_writer import CrawlLogWriter
from thresher.storage.warc.capture_metadata import CaptureMetadata

T = TypeVar("T")
LOGGER = logging.getLogger(__name__)


class Settler:
    """Archives and settles the results of a lease queue, and closes their leases."""

    def __init__(  # noqa: PLR0913 - the parts of a worker that settling needs
        self,
        archive: ArchiveWriter,
        frontier: Frontier,
        queue: LeaseQueue,
        *,
        log: CrawlLogWriter,
        gate: GateMonitor,
        heartbeat: Heartbeat,
        rotation: Rotation,
        clock_ms: Callable[[], int] = utc_ms,
        before_batch: Callable[[], None] | None = None,
    ) -> None:
        """`clock_ms` is the clock that dates the captures. `before_batch` is called before each batch, in the thread
        that archives: it returns when the output of a user's spider is durable.
        """
        self._archive, self._frontier, self._queue = archive, frontier, queue
        self._log, self._gate, self._heartbeat = log, gate, heartbeat
        self._rotation, self._clock_ms = rotation, clock_ms
        self._before_batch = before_batch
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive")

    async def run(self) -> None:
        """Settle batch after batch until the queue is finished, then seal the archive and the log."""
        is_last = False
        while not is_last:
            is_last = self._queue.is_finished
            if batch := await self._queue.next_batch():
                # If this worker hangs from here on and another one takes over, the other one's lines have a later time.
                now_ms = self._clock_ms()
                self._heartbeat.check()
                await self._settle(batch, now_ms)
            if self._is_due():
                await self._seal(self._archive)
            if self._log.is_due:
                await self._seal(self._log)
        await self._seal(self._archive)
        await self._seal(self._log)

    async def _settle(self, batch: Sequence[LeaseResult], now_ms: int) -> None:
        before = self._archive.appended
        archived = await self._in_thread(lambda: self._store(batch, now_ms))
        self._heartbeat.check()
        is_accepted = await settle_leases(
            self._frontier,
            archived,
            archived_bytes=self._archive.appended - before,
            clock_ms=self._clock_ms,
        )
        # A stale lease adds nothing. The frontier does not say which one is stale: then no URL of the batch is known.
        self._queue.close_leases(archived, are_urls_known=is_accepted)

    async def _seal(self, written: ArchiveWriter | CrawlLogWriter) -> None:
        self._heartbeat.check()
        await self._in_thread(written.seal)

    def _is_due(self) -> bool:
        open_file = self._archive.open_file
        return open_file is not None and self._rotation.is_due(
            size=open_file.bytes, age_ms=self._clock_ms() - open_file.since_ms, gate_state=self._gate.state
        )

    def _store(self, batch: Sequence[LeaseResult], now_ms: int) -> list[LeaseResult]:
        if self._before_batch is not None:
            self._before_batch()
        archived = [self._store_result(result, now_ms) for result in batch]
        self._log.commit()
        self._archive.commit()
        return archived

    def _store_result(self, result: LeaseResult, now_ms: int) -> LeaseResult:
        ref = None
        try:
            with failure_boundary("record"):
                for capture, record_id in result.records:
                    ref = self._append(result, capture, record_id)
        except (CorruptData, Failure) as error:
            LOGGER.exception("%s is not archived", result.lease.url)
            if isinstance(error, Failure):
                result = replace(result, error=error.traceback)
            if isinstance(result.decision, Settlement):
                result = replace(result, decision=settlement_for(result.lease, NO_RECORD))
        self._log.append(
            exchange_line(result.lease, result.decision, result.records, ref, now_ms, result.error)
        )
        return result

    def _append(self, result: LeaseResult, capture: Capture, record_id: UUID) -> RecordRef:
        if result.dropped is not None:
            return self._archive.drop(capture, record_id, result.dropped)
        if result.rendered is not None:
            archive_rendering(self._archive, result.rendered, capture, record_id)
        elif result.parts is not None:
            archive_parts(self._archive, result.parts, capture, record_id)
        return self._archive.append(
            capture,
            record_id,
            metadata=_with_parts(result.metadata, result.parts),
            revisit=result.revisit,
            whole=result.lease.interval_s > 0,
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except Conflict as error:  # another has recovered a file of this worker's
            raise TakeoverError(f"{error}; its writer was given up, and stops") from error

    def __repr__(self) -> str:
        return f"<settler of {self._queue}>"


def _with_parts(metadata: CaptureMetadata | None, parts: PageParts | None) -> CaptureMetadata | None:
    if metadata is None or parts is None:
        return metadata
    return replace(metadata, facts=(*metadata.facts, *parts.facts()))


async def settle_leases(
    frontier: Frontier,
    batch: Sequence[LeaseResult],
    *,
    archived_bytes: int = 0,
    is_worker_dead: bool = False,
    clock_ms: Callable[[], int] = utc_ms,
) -> bool:
    """Settle leases whose records are durable. Return False if a lease was stale.

    `archived_bytes` is the size of the records, for the back-pressure gate. Records of a dead worker are not counted
    again, because processing finds them sealed. `is_worker_dead` is as for `Frontier.settle`.
    """
    pages = [result.decision for result in batch if isinstance(result.decision, Settlement)]
    for result in batch:
        if not isinstance(result.decision, Settlement):
            await _settle_robots(
                frontier, result.lease, result.decision, clock_ms(), is_worker_dead=is_worker_dead
            )
    return await frontier.settle(pages, archived=archived_bytes, is_worker_dead=is_worker_dead) == len(pages)


async def _settle_robots(
    frontier: Frontier, lease: Lease, answer: RobotsRuling | RobotsRetry, now_ms: int, *, is_worker_dead: bool
) -> None:
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
                is_worker_dead=is_worker_dead,
            )
        case RobotsRetry(is_failure=False, retry_after_ms=after_ms):
            await frontier.postpone(
                lease, after_ms or 0, has_sent_request=True, is_worker_dead=is_worker_dead
            )
        case RobotsRetry(retry_after_ms=after_ms, fault=fault, reason=reason):
            await frontier.origins.retry_robots(
                lease, after_ms=after_ms, fault=fault, reason=reason, is_worker_dead=is_worker_dead
            )
