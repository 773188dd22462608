"""`recover`: what dead workers archived is settled, so that nothing archived is fetched again.

1. Their names are taken over (`Workers.take_over`): should one live after all, nothing that it asks for is granted
   or settled from then on. Whatever it settled before was durable before, so it is in the files that are read now.
2. Their open archive files, and their open files of the crawl's log, are sealed first
   (`storage.archive.recovery`, `storage.crawllog.log_writer.recover_log`).
3. A lease that a dead worker still holds names the record it would have made (`identity.record_id`). Where that
   record is in the archive, it is read, understood by the same rules as a fresh answer, and settled. A revisit record
   has the payload of the record that it refers to; where that is not to be had, the page is fetched again. Payloads
   are held for one lease at a time: a worker has dozens, and each payload may have 64 MiB. It is read aside
   (`crawler.page_process`), for it may be what its worker died of. One whose reading raises has failed. Its line is
   in the log before it is settled: perhaps once more, for its worker may have written it.
4. The leases that are left were never archived: they go back to the frontier at once, as orphans: whoever gets them
   reads what they are for aside. So a page that kills what reads it kills one worker, and has failed. A page that
   kills workers otherwise has failed when five have crashed while they held it (`Workers.reclaim`).

May be killed at any moment and run again, also by several at a time: a record is there or not, and settling twice
changes nothing. Sealed files are looked through as well, the newest first: a file may have been sealed, by its
writer or by a recovery that was killed, before its last leases were settled.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import cast
from uuid import UUID

from core import Failure, RecordRef, failure_boundary
from core.capture import Truncation
from crawler.identifiers import record_id
from crawler.log_entry import record_line
from crawler.machine.system import REAL_SYSTEM, System
from crawler.page_process import PageProcess, crashed_settlement
from crawler.reading.outcome import READING_FAILED, READING_STEP, retry_after_ms
from crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from crawler.reading.page_reading import page_settlement, settlement_for, settlement_of_dropped
from crawler.reading.page_response import PageResponse, with_dom
from crawler.reading.plausibility import plausible
from crawler.reading.rendered_page import decode_report as read_note
from crawler.reading.rendered_page import dom_id, report_id
from crawler.recent_set import RecentSet
from crawler.render.rendering_archive import RENDERING_TYPES
from crawler.robots.robots_txt import (
    DEADLY,
    MAX_REDIRECTS,
    UNREADABLE,
    Meaning,
    decide_response,
    redirect_target,
)
from crawler.settler import BATCH, LeaseResult, settle_leases
from frontier import Frontier, Kind, Lease, Settlement
from storage.archive.archive_writer import recover_archives as seal_unfinished
from storage.archive.open_files import open_archive_files as open_files
from storage.archive.open_files import writer_and_serial
from storage.archive.originals import find_originals
from storage.crawllog import log_writer
from storage.crawllog.log_line import LogLine
from storage.store import Store
from storage.warc.compression import compression_of
from storage.warc.dropped import DROPPED, decode
from storage.warc.records import ArchivedRecord, read_records, record_at
from storage.warc.revisit import REVISIT

FindDead = Callable[[set[str]], Awaitable[set[str]]]
"""Those of some workers that are dead."""
RecordsById = Mapping[str, ArchivedRecord]
RESPONSE_TYPES = frozenset({"response", REVISIT, DROPPED, *RENDERING_TYPES})


async def recover(
    store: Store,
    frontier: Frontier,
    find_dead: FindDead,
    *,
    crawl: str,
    options: PageOptions = DEFAULT_OPTIONS,
    crashed_workers: Container[str] = frozenset(),
    system: System = REAL_SYSTEM,
) -> int:
    """Take up what the dead workers of a crawl left; returns how many leases were settled from the archive.

    `options` are those of the crawl's workers; `crashed_workers` are those that died without a word. Workers are
    known by their open archive files and by the leases that they hold. A worker is asked after only when it is known
    by one of these, so one that says that it lives before it has either is never taken for dead.
    """
    left = await asyncio.to_thread(_writers, store, crawl)
    holders = await frontier.workers.holders()
    gone = await find_dead(left | holders)
    await frontier.workers.take_over(gone)
    await asyncio.to_thread(seal_unfinished, store, crawl, gone.__contains__)
    await asyncio.to_thread(log_writer.recover_log, store, crawl, gone.__contains__)
    sealed = await asyncio.to_thread(_sealed_files, store, crawl) if gone & holders else {}
    settled = 0
    for writer in sorted(gone & holders):
        settled += await _replay(store, frontier, crawl, writer, sealed, options, system)
        await frontier.workers.reclaim(writer, is_worker_dead=True, has_crashed=writer in crashed_workers)
    return settled


def _writers(store: Store, crawl: str) -> set[str]:
    """Who has an open file."""
    return {
        *(writer_and_serial(crawl, name)[0] for name in open_files(store, crawl)),
        *log_writer.open_writers(store, crawl),
    }


async def _replay(
    store: Store,
    frontier: Frontier,
    crawl: str,
    writer: str,
    sealed: Mapping[str, list[str]],
    options: PageOptions,
    system: System,
) -> int:
    leases = await frontier.workers.leases(writer)
    wanted = {urn for lease in leases for urn in _urns(crawl, lease)}
    own = sealed.get(writer, [])
    others = (name for worker, names in sealed.items() if worker != writer for name in names)
    heads = await asyncio.to_thread(_find, store, own, wanted)
    payloads = await asyncio.to_thread(_payloads, store, [*own, *others], heads)
    batch: list[LeaseResult] = []
    lines: list[LogLine] = []
    ended = 0
    aside = system.page_process()
    try:
        for lease in leases:
            records = await asyncio.to_thread(_whole, store, crawl, lease, heads, payloads)
            finished = await _lease_result(crawl, lease, records, options, aside)
            if finished is not None:
                batch.append(finished)
                last = _last_record(crawl, lease, records)
                lines.append(record_line(lease, finished.decision, last, finished.error))
        stem = f"{crawl}-recovery-{system.unique_name()}-00000"
        await asyncio.to_thread(log_writer.put, store, crawl, stem, lines)
        for first in range(0, len(batch), BATCH):
            some = batch[first : first + BATCH]
            await settle_leases(frontier, some, RecentSet(0), is_worker_dead=True, clock_ms=system.clock_ms)
            ended += len(some)
    finally:
        aside.close()
    return ended


def _last_record(crawl: str, lease: Lease, records: RecordsById) -> ArchivedRecord:
    """The last record that a lease has in the archive."""
    hops = (record_id(crawl, lease.worker, lease.token, hop).urn for hop in range(MAX_REDIRECTS + 1))
    return next(record for urn in reversed(list(hops)) if (record := records.get(urn)) is not None)


def _sealed_files(store: Store, crawl: str) -> Mapping[str, list[str]]:
    """Every writer's archive files, newest first."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in store.list(f"warc/{crawl}/"):
        if compression_of(name):
            found[writer_and_serial(crawl, name.rpartition("/")[2])[0]].append(name)
    return {writer: names[::-1] for writer, names in found.items()}


def _urns(crawl: str, lease: Lease) -> list[str]:
    """The ids that the records of a lease would have."""
    if lease.kind is Kind.ROBOTS:
        return [record_id(crawl, lease.worker, lease.token, hop).urn for hop in range(MAX_REDIRECTS + 1)]
    page = record_id(crawl, lease.worker, lease.token)
    return [each.urn for each in (page, report_id(page), dom_id(page))]


def _find(store: Store, names: list[str], wanted: set[str]) -> dict[str, ArchivedRecord]:
    """The wanted records of responses, and of what remains of them, without their payloads. Files older than one
    without any are not read.
    """
    found: dict[str, ArchivedRecord] = {}
    for name in names if wanted else ():
        here = {
            record.record_id: replace(record, payload=b"")
            for record in _response_records(store, name)
            if record.record_id in wanted
        }
        if not here and name != names[0]:
            break
        found |= here
    return found


def _payloads(store: Store, names: list[str], found: dict[str, ArchivedRecord]) -> Mapping[str, RecordRef]:
    """Where the payload of each record lies: that of a revisit record in the record that it refers to. Takes those
    out of `found` whose payload is not there.

    A record that the server said is unchanged (304) needs none.
    """
    payloads = {urn: record.ref for urn, record in found.items()}
    same = {
        urn: record.revisit
        for urn, record in found.items()
        if record.type == REVISIT and not (record.revisit and record.revisit.profile == "server-not-modified")
    }
    whole = find_originals(store, names, [revisit for revisit in same.values() if revisit])
    for urn, revisit in same.items():
        original = whole.get(revisit) if revisit else None
        # A revisit is always marked as cut: for what was left out, not for what did not come.
        if original is not None:
            found[urn] = replace(found[urn], truncated=None)
            payloads[urn] = original.ref
        elif revisit and not revisit.refers_to:  # of the page's own last capture: nothing is read of it again
            found[urn] = replace(found[urn], truncated=None)
        else:
            del found[urn]
    return payloads


def _whole(
    store: Store,
    crawl: str,
    lease: Lease,
    heads: Mapping[str, ArchivedRecord],
    payloads: Mapping[str, RecordRef],
) -> RecordsById:
    """The records of one lease, with their payloads."""
    return {
        urn: replace(heads[urn], payload=record_at(store, payloads[urn]).payload)
        for urn in _urns(crawl, lease)
        if urn in heads
    }


def _response_records(store: Store, name: str) -> Iterator[ArchivedRecord]:
    with store.open(name) as file:
        yield from (record for record in read_records(file, name=name) if record.type in RESPONSE_TYPES)


async def _lease_result(
    crawl: str, lease: Lease, records: RecordsById, options: PageOptions, aside: PageProcess
) -> LeaseResult | None:
    try:
        with failure_boundary(READING_STEP):
            return await _read(crawl, lease, records, options, aside)
    except Failure as failure:
        answer = UNREADABLE if lease.kind is Kind.ROBOTS else settlement_for(lease, READING_FAILED)
        return LeaseResult(lease=lease, decision=answer, error=failure.traceback)


async def _read(
    crawl: str, lease: Lease, records: RecordsById, options: PageOptions, aside: PageProcess
) -> LeaseResult | None:
    if lease.kind is Kind.ROBOTS:
        return await _robots(crawl, lease, records, aside)
    identity = record_id(crawl, lease.worker, lease.token)
    record = records.get(identity.urn)
    if record is None:
        return None
    if record.type == DROPPED:
        remains = decode(record.payload)
        if remains is None:
            return None
        return LeaseResult(
            lease=lease, decision=settlement_of_dropped(lease, remains, record.date_ms, options)
        )
    answer = archived_response(record, identity, records)
    if answer is None:
        return None
    ended = await aside.call(
        partial(page_settlement, options=options),
        lease,
        answer,
        returns=Settlement,
        accepts=partial(plausible, lease),
    )
    return LeaseResult(
        lease=lease, decision=crashed_settlement(lease) if ended is None else replace(ended, lease=lease)
    )


def archived_response(
    record: ArchivedRecord, page: UUID, records: Mapping[str, ArchivedRecord]
) -> PageResponse | None:
    """Return what a page answered, of the record of its response, whose id is `page`; None where that has no HTTP head.

    `records` are those beside it, by id: note and DOM of a page that was rendered lie in front of its response
    (`crawler.render.rendering_archive`).
    """
    if record.status is None:
        return None
    answer = PageResponse(
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
    note, dom = records.get(report_id(page).urn), records.get(dom_id(page).urn)
    said = None if note is None else read_note(note.payload)
    return answer if said is None else with_dom(answer, b"" if dom is None else dom.payload, said)


async def _robots(crawl: str, lease: Lease, records: RecordsById, aside: PageProcess) -> LeaseResult | None:
    """None where the chain of redirects was broken off: it is begun anew."""
    for hop in range(MAX_REDIRECTS + 1):
        record = records.get(record_id(crawl, lease.worker, lease.token, hop).urn)
        if record is None or record.status is None:
            return None
        found = await aside.call(_meaning, lease, record, hop < MAX_REDIRECTS, returns=Meaning)
        answer = DEADLY if found is None else found.ruling or found.again
        if answer is not None:
            return LeaseResult(lease=lease, decision=answer)
    return None


def _meaning(lease: Lease, record: ArchivedRecord, follows: bool) -> Meaning:
    assert record.status is not None
    further = redirect_target(record.status, record.header("location"), record.url) if follows else None
    if further is not None:
        return Meaning(further=further)
    return Meaning.last(
        decide_response(
            lease,
            status=record.status,
            body=record.payload,
            truncated=record.truncated,
            retry_after=retry_after_ms(record.header("retry-after"), record.date_ms),
            now_ms=record.date_ms,
        )
    )
