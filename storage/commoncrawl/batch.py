"""Group index rows into batches, and write the archive file of a batch.

1. Rows arrive in the order of the index and are grouped by number and bytes. Within a batch they are sorted by file and
   offset, so that records which lie close together become one read. The same rows make the same batches, and the same
   batches make the same files, byte for byte.
2. The file holds a warcinfo record that names the source of the others. For each row follow a metadata record with the
   facts of the index, and the record of Common Crawl, byte for byte. A record that differs from its row is left out,
   with a reason.
3. Memory holds only the rows of a batch and the bytes that are read ahead.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from thresher.storage.archive.archive_writer import CONFORMS_TO
from thresher.storage.commoncrawl import index_facts
from thresher.storage.commoncrawl.index.range_read import RangeRead, range_reads
from thresher.storage.commoncrawl.index.row import CrawlIndexRow
from thresher.storage.commoncrawl.record_check import read_member
from thresher.storage.commoncrawl.row_results import RowResult
from thresher.storage.commoncrawl.transport.response_kind import ResponseError
from thresher.storage.commoncrawl.transport.source_client import RangeRequest, SourceClient
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.exchange_records import EPOCH, warcinfo
from thresher.storage.warc.index_lines import IndexLines
from thresher.storage.warc.records import ArchivedRecord

ROWS = 10_000
"""Records of one file at most."""
BYTES = 256 << 20
"""Stored bytes of one file; the last record may exceed them."""
NOT_THERE = "not_there"
"""Reason code: the file or the range that the index names does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """The result of fetching a batch."""

    results: tuple[RowResult, ...]
    """One result for each row, in the order of the file."""
    counts: Counter[str]
    """Records in the file, by type."""
    lines: IndexLines
    """Index of the file."""


def batches(
    rows: Iterable[CrawlIndexRow], most_rows: int = ROWS, most_bytes: int = BYTES
) -> Iterator[tuple[CrawlIndexRow, ...]]:
    """Yield the rows in batches; each batch is sorted by file and offset."""
    batch: list[CrawlIndexRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += row.length
        if len(batch) >= most_rows or size >= most_bytes:
            yield _in_order(batch)
            batch, size = [], 0
    if batch:
        yield _in_order(batch)


def batch_digest(batch: Sequence[CrawlIndexRow]) -> str:
    """Return the SHA-256 of the ranges of a batch, in hexadecimal digits."""
    digest = hashlib.sha256()
    for row in batch:
        digest.update(f"{row.filename} {row.offset} {row.length}\n".encode())
    return digest.hexdigest()


def fetch_batch(
    client: SourceClient, batch: Sequence[CrawlIndexRow], path: Path, name: str, crawl: str
) -> BatchResult:
    """Fetch a batch and write its file to `path`; `name` is the file's name in the store.

    Raise `Unavailable` if Common Crawl does not respond for longer than the retry policy allows.
    """
    results: list[RowResult] = []
    counts: Counter[str] = Counter()
    lines = IndexLines()
    requests = (RangeRequest(read.filename, read.first, read.length, read) for read in range_reads(batch))
    with path.open("wb") as file:
        file.write(gzip_member(_info(name, crawl, batch)))
        counts["warcinfo"] += 1
        for row, data in _fetch_rows(client, requests):
            found = read_member(data, row) if data is not None else NOT_THERE
            if isinstance(found, str):
                results.append(RowResult(row=row, reason=found))
                continue
            counts["metadata"] += _append_facts(file, found, row)
            offset = file.tell()
            file.write(data or b"")
            counts[found.type] += 1
            entry = cdxj.row_of(found, replace(found.ref, file=name, offset=offset))
            assert entry is not None  # `read_member` accepts only types that the index covers
            lines.append(cdxj.format_line(entry))
            results.append(RowResult(row=row, offset=offset))
    return BatchResult(results=tuple(results), counts=counts, lines=lines)


def _fetch_rows(
    client: SourceClient, requests: Iterable[RangeRequest]
) -> Iterator[tuple[CrawlIndexRow, bytes | None]]:
    """Yield each row with its bytes; with None if they do not exist."""
    for request, response in client.fetch_ahead(requests):
        read: RangeRead = request.context
        error = response.exception()
        if not (isinstance(error, ResponseError) and error.is_missing):
            data = client.result(request.key, response)
            yield from ((row, read.cut(data, row)) for row in read.rows)
        elif len(read.rows) == 1:
            yield read.rows[0], None
        else:
            # One of the rows may point beyond the end of the file: request each row alone.
            yield from _fetch_rows(client, map(_single_request, read.rows))


def _single_request(row: CrawlIndexRow) -> RangeRequest:
    read = RangeRead(filename=row.filename, first=row.offset, rows=(row,))
    return RangeRequest(row.filename, row.offset, row.length, read)


def _append_facts(file: BinaryIO, found: ArchivedRecord, row: CrawlIndexRow) -> int:
    """Write the facts of the index as a record. Return the number of records written: 0 if `found` has no valid id."""
    try:
        response_id = UUID(found.record_id)
    except ValueError:
        return 0
    file.write(gzip_member(index_facts.facts_record(row, date_ms=found.date_ms, response_id=response_id)))
    return 1


def _info(name: str, crawl: str, batch: Sequence[CrawlIndexRow]) -> bytes:
    """Return the warcinfo record. Its date is the first fetch of the batch; no clock and no mirror's name go in."""
    first = min(batch, key=lambda row: row.timestamp)
    fields = {
        "software": "thresher",
        "format": "WARC File Format 1.1",
        "conformsTo": CONFORMS_TO,
        "isPartOf": crawl,
        "description": f"single records of {crawl} by Common Crawl, byte for byte; the metadata record in front of "
        "each names its file and range there",
    }
    return warcinfo(name.rpartition("/")[2], date_ms=_date_ms(first.timestamp), fields=fields)


def _in_order(rows: list[CrawlIndexRow]) -> tuple[CrawlIndexRow, ...]:
    return tuple(sorted(rows, key=lambda row: (row.filename, row.offset)))


def _date_ms(timestamp: str) -> int:
    """Return milliseconds since the epoch for a time of 14 digits; return 0 if it is not a valid time."""
    try:
        moment = datetime.strptime(timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return 0
    return (moment - EPOCH) // timedelta(milliseconds=1)
