"""`recover`: settle what dead workers archived, so that nothing archived is fetched again.

1. The frontier takes over the names of the dead workers (`Workers.take_over`). If one of them lives after all, the
   frontier grants it nothing and settles nothing for it from then on. Whatever it settled before was durable before, so
   that is in the files that are read now.
2. Their open archive files, and their open files of the crawl's log, are sealed first
   (`storage.archive.archive_writer.recover_archives`, `storage.crawllog.log_writer.recover_log`).
3. A lease that a dead worker still holds determines the id of its record (`storage.archive.record_ids.record_id`). If
   that record is in the archive, it is read by the same rules as a fresh response, and settled.
   - A revisit record has the payload of the record that it refers to. If that record is missing, the page is fetched
     again.
   - Payloads are in memory for one lease at a time, because a worker has dozens of leases, and each payload may have
     64 MiB.
   - The record is read in another process (`crawler.page_process`), because it may have killed its worker. If reading
     it raises, the page fails.
   - The line of a lease is in the log before the lease is settled. The log may then have two lines for it, because its
     worker may have written one as well.
4. All other leases were never archived. They go back to the frontier at once, marked as recovered: the next worker
   reads their pages in another process. So a page that kills its reader kills one worker, and then fails. A page that
   kills workers in another way fails when five have crashed while they held it (`Workers.reclaim`).

A recovery may be killed at any moment and run again, and several may run at the same time: a record is in the archive
or it is not, and settling a lease twice changes nothing. Sealed files are searched as well, the newest first, because a
file may have been sealed before its last leases were settled: by its writer, or by a recovery that was killed.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import cast
from uuid import UUID

from thresher.core import Failure, RecordRef, failure_boundary
from thresher.core.capture import Truncation
from thresher.crawler.lease_result import LeaseResult, page_settlement, settlement_for, settlement_of_dropped
from thresher.crawler.log_entry import record_line
from thresher.crawler.machine.system import REAL_SYSTEM, System
from thresher.crawler.page_process import PageProcess
from thresher.crawler.reading.outcome import PARSER_CRASH, READING_FAILED, READING_STEP, retry_after_ms
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.reading.page_response import PageResponse, with_dom
from thresher.crawler.reading.plausibility import plausible
from thresher.crawler.reading.rendered_page import decode_report, dom_id, report_id
from thresher.crawler.render.rendering_archive import RENDERING_TYPES
from thresher.crawler.robots.robots_txt import (
    DEADLY,
    MAX_REDIRECTS,
    UNREADABLE,
    HopReading,
    decide_response,
    redirect_target,
)
from thresher.crawler.scheduling.lease_queue import BATCH
from thresher.crawler.settler import settle_leases
from thresher.frontier import Frontier, Kind, Lease, Settlement
from thresher.storage.archive.archive_writer import recover_archives
from thresher.storage.archive.open_files import open_archive_files, writer_and_serial
from thresher.storage.archive.originals import find_originals
from thresher.storage.archive.record_ids import record_id
from thresher.storage.crawllog import log_writer
from thresher.storage.crawllog.log_line import LogLine
from thresher.storage.store import Store
from thresher.storage.warc.compression import compression_of
from thresher.storage.warc.dropped import DROPPED, decode
from thresher.storage.warc.records import ArchivedRecord, read_records, record_at
from thresher.storage.warc.revisit import REVISIT

FindDead = Callable[[set[str]], Awaitable[set[str]]]
"""Returns which of the given workers are dead."""
RecordsById = Mapping[str, ArchivedRecord]
RESPONSE_TYPES = frozenset({"response", REVISIT, DROPPED, *RENDERING_TYPES})


async def recover(  # noqa: PLR0913 - options with defaults
    store: Store,
    frontier: Frontier,
    find_dead: FindDead,
    *,
    crawl: str,
    options: PageOptions = DEFAULT_OPTIONS,
    crashed_workers: Container[str] = frozenset(),
    system: System = REAL_SYSTEM,
) -> int:
    """Recover the leases and files of a crawl's dead workers. Return how many leases were settled from the archive.

    `options` are those of the crawl's workers. `crashed_workers` are the dead workers that reported no error. Workers
    are known by their open files and by the leases that they hold. `find_dead` receives only workers that have one of
    these. So a worker that sends its first heartbeat before it has either never counts as dead.
    """
    writers = await asyncio.to_thread(_writers, store, crawl)
    holders = await frontier.workers.holders()
    dead = await find_dead(writers | holders)
    await frontier.workers.take_over(dead)
    await asyncio.to_thread(recover_archives, store, crawl, dead.__contains__)
    await asyncio.to_thread(log_writer.recover_log, store, crawl, dead.__contains__)
    sealed = await asyncio.to_thread(_sealed_files, store, crawl) if dead & holders else {}
    settled = 0
    for writer in sorted(dead & holders):
        settled += await _replay(store, frontier, crawl, writer, sealed, options, system)
        await frontier.workers.reclaim(writer, is_worker_dead=True, has_crashed=writer in crashed_workers)
    return settled


def _writers(store: Store, crawl: str) -> set[str]:
    """Return the workers that have an open file."""
    return {
        *(writer_and_serial(crawl, name)[0] for name in open_archive_files(store, crawl)),
        *log_writer.open_writers(store, crawl),
    }


async def _replay(  # noqa: PLR0913 - the parameters of `recover`
    store: Store,
    frontier: Frontier,
    crawl: str,
    writer: str,
    sealed: Mapping[str, list[str]],
    options: PageOptions,
    system: System,
) -> int:
    leases = await frontier.workers.leases(writer)
    urns = {urn for lease in leases for urn in _record_urns(crawl, lease)}
    own = sealed.get(writer, [])
    others = (name for worker, names in sealed.items() if worker != writer for name in names)
    heads = await asyncio.to_thread(_find_records, store, own, urns)
    payloads = await asyncio.to_thread(_payload_refs, store, [*own, *others], heads)
    batch: list[LeaseResult] = []
    lines: list[LogLine] = []
    settled = 0
    page_process = system.page_process()
    try:
        for lease in leases:
            records = await asyncio.to_thread(_records_with_payloads, store, crawl, lease, heads, payloads)
            result = await _lease_result(crawl, lease, records, options, page_process)
            if result is not None:
                batch.append(result)
                last = _last_record(crawl, lease, records)
                lines.append(record_line(lease, result.decision, last, result.error))
        stem = f"{crawl}-recovery-{system.unique_name()}-00000"
        await asyncio.to_thread(log_writer.put, store, crawl, stem, lines)
        for first in range(0, len(batch), BATCH):
            some = batch[first : first + BATCH]
            await settle_leases(frontier, some, is_worker_dead=True, clock_ms=system.clock_ms)
            settled += len(some)
    finally:
        page_process.close()
    return settled


def _last_record(crawl: str, lease: Lease, records: RecordsById) -> ArchivedRecord:
    """Return the last record that a lease has in the archive."""
    hops = (record_id(crawl, lease.worker, lease.token, hop).urn for hop in range(MAX_REDIRECTS + 1))
    return next(record for urn in reversed(list(hops)) if (record := records.get(urn)) is not None)


def _sealed_files(store: Store, crawl: str) -> Mapping[str, list[str]]:
    """Return every writer's sealed archive files, the newest first."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in store.list(f"warc/{crawl}/"):
        if compression_of(name):
            found[writer_and_serial(crawl, name.rpartition("/")[2])[0]].append(name)
    return {writer: names[::-1] for writer, names in found.items()}


def _record_urns(crawl: str, lease: Lease) -> list[str]:
    """Return the ids that the records of a lease have, if they are archived."""
    if lease.kind is Kind.ROBOTS:
        return [record_id(crawl, lease.worker, lease.token, hop).urn for hop in range(MAX_REDIRECTS + 1)]
    page = record_id(crawl, lease.worker, lease.token)
    return [each.urn for each in (page, report_id(page), dom_id(page))]


def _find_records(store: Store, names: list[str], urns: set[str]) -> dict[str, ArchivedRecord]:
    """Return the records with these ids, without their payloads. Read from the newest file on, and stop at the first
    other file that has none of them.
    """
    found: dict[str, ArchivedRecord] = {}
    for name in names if urns else ():
        here = {
            record.record_id: replace(record, payload=b"")
            for record in _response_records(store, name)
            if record.record_id in urns
        }
        if not here and name != names[0]:
            break
        found |= here
    return found


def _payload_refs(
    store: Store, names: list[str], found: dict[str, ArchivedRecord]
) -> Mapping[str, RecordRef]:
    """Return where the payload of each record is: for a revisit record, in the record that it refers to. Remove the
    records from `found` whose payload is missing.

    The record of a response that says "unchanged" (304) needs no payload.
    """
    payloads = {urn: record.ref for urn, record in found.items()}
    revisits = {
        urn: record.revisit
        for urn, record in found.items()
        if record.type == REVISIT and not (record.revisit and record.revisit.profile == "server-not-modified")
    }
    originals = find_originals(store, names, [revisit for revisit in revisits.values() if revisit])
    for urn, revisit in revisits.items():
        original = originals.get(revisit) if revisit else None
        # A revisit record is always marked as truncated, because its payload was left out, not because bytes are lost.
        if original is not None:
            found[urn] = replace(found[urn], truncated=None)
            payloads[urn] = original.ref
        elif revisit and not revisit.refers_to:  # it repeats the page's last capture, which is not read again
            found[urn] = replace(found[urn], truncated=None)
        else:
            del found[urn]
    return payloads


def _records_with_payloads(
    store: Store,
    crawl: str,
    lease: Lease,
    heads: Mapping[str, ArchivedRecord],
    payloads: Mapping[str, RecordRef],
) -> RecordsById:
    """Return the records of one lease, with their payloads."""
    return {
        urn: replace(heads[urn], payload=record_at(store, payloads[urn]).payload)
        for urn in _record_urns(crawl, lease)
        if urn in heads
    }


def _response_records(store: Store, name: str) -> Iterator[ArchivedRecord]:
    with store.open(name) as file:
        yield from (record for record in read_records(file, name=name) if record.type in RESPONSE_TYPES)


async def _lease_result(
    crawl: str, lease: Lease, records: RecordsById, options: PageOptions, page_process: PageProcess
) -> LeaseResult | None:
    try:
        with failure_boundary(READING_STEP):
            return await _read(crawl, lease, records, options, page_process)
    except Failure as failure:
        decision = UNREADABLE if lease.kind is Kind.ROBOTS else settlement_for(lease, READING_FAILED)
        return LeaseResult(lease=lease, decision=decision, error=failure.traceback)


async def _read(
    crawl: str, lease: Lease, records: RecordsById, options: PageOptions, page_process: PageProcess
) -> LeaseResult | None:
    if lease.kind is Kind.ROBOTS:
        return await _read_robots(crawl, lease, records, page_process)
    identity = record_id(crawl, lease.worker, lease.token)
    record = records.get(identity.urn)
    if record is None:
        return None
    if record.type == DROPPED:
        dropped = decode(record.payload)
        if dropped is None:
            return None
        return LeaseResult(
            lease=lease, decision=settlement_of_dropped(lease, dropped, record.date_ms, options)
        )
    response = archived_response(record, identity, records)
    if response is None:
        return None
    settlement = await archived_settlement(page_process, lease, response, options)
    decision = settlement_for(lease, PARSER_CRASH) if settlement is None else replace(settlement, lease=lease)
    return LeaseResult(lease=lease, decision=decision)


async def archived_settlement(
    page_process: PageProcess, lease: Lease, response: PageResponse, options: PageOptions
) -> Settlement | None:
    """Read an archived page in another process, and return its settlement. Return None and raise as `PageProcess.call`
    does.
    """
    return await page_process.call(
        partial(page_settlement, options=options),
        lease,
        response,
        returns=Settlement,
        accepts=partial(plausible, lease),
    )


def archived_response(
    record: ArchivedRecord, page: UUID, records: Mapping[str, ArchivedRecord]
) -> PageResponse | None:
    """Return the response in a record whose id is `page`; None if the record has no HTTP head.

    `records` are the records beside it, by id: the report and the DOM of a rendered page precede its response
    (`crawler.render.rendering_archive`).
    """
    if record.status is None:
        return None
    response = PageResponse(
        status=record.status,
        headers=record.headers,
        body=record.payload,
        truncated=cast("Truncation | None", record.truncated),
        digest=record.ref.digest,
        sha256=record.sha256,
        record_id=record.record_id,
        started_ms=record.date_ms,
        received_ms=record.date_ms,
    )
    metadata, dom = records.get(report_id(page).urn), records.get(dom_id(page).urn)
    report = None if metadata is None else decode_report(metadata.payload)
    return response if report is None else with_dom(response, b"" if dom is None else dom.payload, report)


async def _read_robots(
    crawl: str, lease: Lease, records: RecordsById, page_process: PageProcess
) -> LeaseResult | None:
    """Return how the lease of a robots.txt ends; None if its chain of redirects is incomplete, and so fetched again."""
    for hop in range(MAX_REDIRECTS + 1):
        record = records.get(record_id(crawl, lease.worker, lease.token, hop).urn)
        if record is None or record.status is None:
            return None
        found = await page_process.call(
            _read_archived_hop, lease, record, hop < MAX_REDIRECTS, returns=HopReading
        )
        decision = DEADLY if found is None else found.ruling or found.retry
        if decision is not None:
            return LeaseResult(lease=lease, decision=decision)
    return None


def _read_archived_hop(lease: Lease, record: ArchivedRecord, follows: bool) -> HopReading:
    assert record.status is not None
    next_url = redirect_target(record.status, record.header("location"), record.url) if follows else None
    if next_url is not None:
        return HopReading(next_url=next_url)
    return HopReading.last(
        decide_response(
            lease,
            status=record.status,
            body=record.payload,
            truncated=record.truncated,
            retry_after=retry_after_ms(record.header("retry-after"), record.date_ms),
            now_ms=record.date_ms,
        )
    )
