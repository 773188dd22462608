"""A batch: the rows whose records become one archive file of ours, and that file.

1. Rows come in the order of the index and are cut into batches by number and bytes; within one they go by file and offset, so that
   neighbours become one read. The same rows make the same batches, and these the same files, byte for byte.
2. The file: a warcinfo record that says where the others come from; then of each row what the index says of it, and its record as it
   lies at Common Crawl, byte for byte. What is not what its row says is left out, with a reason.
3. Nothing of a batch is in memory but its rows and what is asked for ahead.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from storage.archive.archive_writer import CONFORMS_TO
from storage.commoncrawl import index_facts
from storage.commoncrawl.index.range_read import RangeRead, range_reads
from storage.commoncrawl.index.row import CrawlIndexRow
from storage.commoncrawl.record_check import read_member
from storage.commoncrawl.row_results import RowResult
from storage.commoncrawl.transport.response_kind import ResponseError
from storage.commoncrawl.transport.source_client import RangeRequest, SourceClient
from storage.warc import cdxj
from storage.warc.compression import gzip_member
from storage.warc.exchange_records import EPOCH, warcinfo
from storage.warc.index_lines import IndexLines
from storage.warc.records import ArchivedRecord

ROWS = 10_000
"""Records of one file at most."""
BYTES = 256 << 20
"""Stored bytes of one file, exceeded by one record at most."""
NOT_THERE = "not_there"
"""The file or the range that the index names is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """What came of a batch."""

    results: tuple[RowResult, ...]
    """One for each row, in the order of the file."""
    counts: Counter[str]
    """Records in the file, by type."""
    lines: IndexLines
    """Its index."""


def batches(
    rows: Iterable[CrawlIndexRow], most_rows: int = ROWS, most_bytes: int = BYTES
) -> Iterator[tuple[CrawlIndexRow, ...]]:
    """The rows in batches, each in the order of files and offsets."""
    held: list[CrawlIndexRow] = []
    size = 0
    for row in rows:
        held.append(row)
        size += row.length
        if len(held) >= most_rows or size >= most_bytes:
            yield _in_order(held)
            held, size = [], 0
    if held:
        yield _in_order(held)


def batch_digest(batch: Sequence[CrawlIndexRow]) -> str:
    """SHA-256 of the ranges of a batch, in hexadecimal digits."""
    digest = hashlib.sha256()
    for row in batch:
        digest.update(f"{row.filename} {row.offset} {row.length}\n".encode())
    return digest.hexdigest()


def fetch_batch(
    client: SourceClient, batch: Sequence[CrawlIndexRow], path: Path, name: str, crawl: str
) -> BatchResult:
    """Write the file of a batch; `name` is what it will be called in the storage. Raises `Unavailable` where Common Crawl does not
    answer for long.
    """
    taken: list[RowResult] = []
    counts: Counter[str] = Counter()
    lines = IndexLines()
    asks = (RangeRequest(reach.filename, reach.first, reach.length, reach) for reach in range_reads(batch))
    with path.open("wb") as file:
        file.write(gzip_member(_info(name, crawl, batch)))
        counts["warcinfo"] += 1
        for row, data in _arrived(client, asks):
            found = read_member(data, row) if data is not None else NOT_THERE
            if isinstance(found, str):
                taken.append(RowResult(row=row, reason=found))
                continue
            counts["metadata"] += _append_facts(file, found, row)
            offset = file.tell()
            file.write(data or b"")
            counts[found.type] += 1
            entry = cdxj.row_of(found, replace(found.ref, file=name, offset=offset))
            assert entry is not None  # only what can be looked up is taken
            lines.append(cdxj.format_line(entry))
            taken.append(RowResult(row=row, offset=offset))
    return BatchResult(results=tuple(taken), counts=counts, lines=lines)


def _arrived(
    client: SourceClient, asks: Iterable[RangeRequest]
) -> Iterator[tuple[CrawlIndexRow, bytes | None]]:
    """Each row with its bytes; with None where there are none."""
    for ask, came in client.fetch_ahead(asks):
        reach: RangeRead = ask.context
        error = came.exception()
        if not (isinstance(error, ResponseError) and error.is_missing):
            data = client.result(ask.key, came)
            yield from ((row, reach.cut(data, row)) for row in reach.rows)
        elif len(reach.rows) == 1:
            yield reach.rows[0], None
        else:
            # One row of several may name what lies behind the end: each is asked for alone.
            yield from _arrived(client, map(_alone, reach.rows))


def _alone(row: CrawlIndexRow) -> RangeRequest:
    reach = RangeRead(filename=row.filename, first=row.offset, rows=(row,))
    return RangeRequest(row.filename, row.offset, row.length, reach)


def _append_facts(file: BinaryIO, found: ArchivedRecord, row: CrawlIndexRow) -> int:
    """Write what the index says of a record that has an id to refer to; returns how many records that were."""
    try:
        response_id = UUID(found.record_id)
    except ValueError:
        return 0
    file.write(gzip_member(index_facts.facts_record(row, date_ms=found.date_ms, response_id=response_id)))
    return 1


def _info(name: str, crawl: str, batch: Sequence[CrawlIndexRow]) -> bytes:
    """No clock, and no name of a mirror: its date is the first fetch of the batch."""
    first = min(batch, key=lambda row: row.timestamp)
    fields = {
        "software": "thresher",
        "format": "WARC File Format 1.1",
        "conformsTo": CONFORMS_TO,
        "isPartOf": crawl,
        "description": f"single records of {crawl} by Common Crawl, byte for byte; the metadata record in front of each names its "
        "file and range there",
    }
    return warcinfo(name.rpartition("/")[2], date_ms=_date_ms(first.timestamp), fields=fields)


def _in_order(rows: list[CrawlIndexRow]) -> tuple[CrawlIndexRow, ...]:
    return tuple(sorted(rows, key=lambda row: (row.filename, row.offset)))


def _date_ms(timestamp: str) -> int:
    """Milliseconds since the epoch of 14 digits; 0 where they are no time."""
    try:
        moment = datetime.strptime(timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return 0
    return (moment - EPOCH) // timedelta(milliseconds=1)
