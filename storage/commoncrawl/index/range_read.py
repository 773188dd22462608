"""Plan ranged reads: records that lie close together in a file become one read. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thresher.storage.commoncrawl.index.row import CrawlIndexRow

MAX_GAP_BYTES = 32 << 10
"""Bytes between two records that are read and dropped at most: on most networks they take less time than a request."""
MAX_READ_BYTES = 8 << 20
"""Bytes of one read of several records at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRead:
    """A range of one file that holds the records of `rows`, in their order."""

    filename: str
    first: int
    rows: tuple[CrawlIndexRow, ...]

    @property
    def length(self) -> int:
        """Number of bytes to read."""
        return max(row.offset + row.length for row in self.rows) - self.first

    def cut(self, data: bytes, row: CrawlIndexRow) -> bytes:
        """Return the record of a row from `data`, the bytes of this read."""
        return data[row.offset - self.first :][: row.length]


def range_reads(
    rows: Iterable[CrawlIndexRow], max_gap: int = MAX_GAP_BYTES, max_bytes: int = MAX_READ_BYTES
) -> Iterator[RangeRead]:
    """Yield the reads for rows that are sorted by file and offset. Each row is in exactly one read."""
    near: list[CrawlIndexRow] = []
    end = 0
    for row in rows:
        after = row.offset + row.length
        joins = near and row.filename == near[0].filename and row.offset <= end + max_gap
        if near and not (joins and max(end, after) - near[0].offset <= max_bytes):
            yield _range_read(near)
            near, end = [], 0
        near.append(row)
        end = max(end, after)
    if near:
        yield _range_read(near)


def _range_read(near: list[CrawlIndexRow]) -> RangeRead:
    return RangeRead(filename=near[0].filename, first=near[0].offset, rows=tuple(near))
