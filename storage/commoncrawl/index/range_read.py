"""`Reach`: one ranged read for records that lie near one another. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from storage.commoncrawl.index.row import CrawlIndexRow

GAP = 32 << 10
"""Bytes between two records that are read and thrown away: less than what a request costs in time on most networks."""
LONGEST = 8 << 20
"""Bytes of a read of several records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRead:
    """Bytes of one file that hold some rows' records, in their order."""

    filename: str
    first: int
    rows: tuple[CrawlIndexRow, ...]

    @property
    def length(self) -> int:
        """Bytes to be read."""
        return max(row.offset + row.length for row in self.rows) - self.first

    def cut(self, data: bytes, row: CrawlIndexRow) -> bytes:
        """The record of a row among the bytes read."""
        return data[row.offset - self.first :][: row.length]


def range_reads(rows: Iterable[CrawlIndexRow], gap: int = GAP, longest: int = LONGEST) -> Iterator[RangeRead]:
    """The reads for rows that come in the order of their files and offsets. Each row is in exactly one."""
    near: list[CrawlIndexRow] = []
    end = 0
    for row in rows:
        after = row.offset + row.length
        joins = near and row.filename == near[0].filename and row.offset <= end + gap
        if near and not (joins and max(end, after) - near[0].offset <= longest):
            yield _reach(near)
            near, end = [], 0
        near.append(row)
        end = max(end, after)
    if near:
        yield _reach(near)


def _reach(near: list[CrawlIndexRow]) -> RangeRead:
    return RangeRead(filename=near[0].filename, first=near[0].offset, rows=tuple(near))
