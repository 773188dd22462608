"""Split a large table into slices, one for each archive file, so that several processes can read them at once.

1. JSON lines are split behind a line and Parquet behind a row. A slice has `VolumeSize.records` rows, or some
   `SLICE_BYTES` unpacked, and only the last one has fewer. So the slices follow from the input alone.
2. Lines are unpacked once, in order, and each slice goes into a file of its own, which is deleted when the caller asks
   for the next slice but `AHEAD`. So every compression is split alike.
3. Rows of Parquet stay where they are: a slice names them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from thresher.storage.inputs.bounded_lines import MAX_LINE_LENGTH, lines
from thresher.storage.inputs.decompression import DecompressedStream, decompress
from thresher.storage.inputs.entry import Item, UnusableRecord
from thresher.storage.inputs.table_files import jsonl_rows, parquet_rows
from thresher.storage.inputs.table_files.columns import Columns

SLICE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some rows of a table that lie together."""

    path: Path
    """A file of these lines alone, or the Parquet file."""
    kind: str
    """`jsonl` or `parquet`."""
    first: int
    """Number of the first row in the input."""
    end: int
    """Number after the last row."""
    line: int = 1
    """Line of the input in which the first row stands."""
    is_last: bool = False
    problem: str = ""
    """Reason code of what is wrong with the input behind the slice, if it is the last one."""

    def items(self, file: BinaryIO, name: str, columns: Columns) -> Iterator[Item]:
        """Yield the items of the slice from its open file. `name` is the name of the input."""
        if self.kind == "parquet":
            rows = parquet_rows.read(file, name, self.first, columns=columns)
            yield from takewhile(lambda item: item.place < self.end, rows)
        else:
            yield from jsonl_rows.read(file, name, columns=columns, place=self.first, line=self.line)
        if self.problem:
            yield UnusableRecord(place=self.end, reason=self.problem, detail="everything after this point")


TableSlices: TypeAlias = Callable[[int, Callable[[], Path]], Iterator[Slice]]
"""`slices(first, new_file)` yields the slices of a table from row `first` on; `new_file` returns the path of a new
file.
"""


def line_slices(
    stream: BinaryIO,
    unpacked: DecompressedStream | None,
    first: int,
    records: int,
    new_file: Callable[[], Path],
) -> Iterator[Slice]:
    """Yield the slices of JSON lines from row `first` on. `unpacked` is what `stream` reads from, if it is compressed,
    and `new_file` returns the path of a new file for a slice.
    """
    place, following = 0, lines(stream)
    ahead = _row(following)
    while place < first and ahead is not None:
        place, ahead = place + 1, _row(following)
    while ahead is not None:
        begin, line, size, path = place, ahead[0], 0, new_file()
        with path.open("wb") as file:
            number = line
            while ahead is not None and place - begin < records and size < SLICE_BYTES:
                file.write(b"\n" * (ahead[0] - number))  # blank lines, so that lines keep their numbers
                data = b"x" * (MAX_LINE_LENGTH + 1) if ahead[1] is None else ahead[1]
                size += file.write(data if data.endswith(b"\n") else data + b"\n")
                number = ahead[0] + 1
                place, ahead = place + 1, _row(following)
        problem = unpacked.problem if unpacked is not None and ahead is None else None
        yield Slice(
            path=path,
            kind="jsonl",
            first=begin,
            end=place,
            line=line,
            is_last=ahead is None,
            problem=problem or "",
        )


def row_slices(path: Path, name: str, first: int, records: int) -> Iterator[Slice]:
    """Yield the slices of a Parquet file from row `first` on. Raise `InputError` if its footer cannot be read."""
    with path.open("rb") as file:
        groups = parquet_rows.row_groups(parquet_rows.opened(file, name))
    total = sum(group.num_rows for group in groups)
    size = sum(group.total_byte_size for group in groups)
    rows = max(1, min(records, SLICE_BYTES * total // max(1, size)))
    for begin in range(first, total, rows):
        end = min(begin + rows, total)
        yield Slice(path=path, kind="parquet", first=begin, end=end, is_last=end == total)


def _row(following: Iterator[tuple[int, bytes | None]]) -> tuple[int, bytes | None] | None:
    """Return the next line that is not blank, with its number."""
    return next(((number, line) for number, line in following if line is None or line.strip()), None)


def table_slices(file: BinaryIO, path: Path, name: str, kind: str, records: int) -> TableSlices | None:
    """Return the function that yields the slices of a file from a row on; None if it cannot be split."""
    unpacked = decompress(file, name=name)
    if kind == "jsonl":
        file.seek(0)
        stream = file if unpacked is None else cast("BinaryIO", BufferedReader(unpacked))
        return lambda first, new_file: line_slices(stream, unpacked, first, records, new_file)
    if kind == "parquet" and unpacked is None:
        return lambda first, _: row_slices(path, name, first, records)
    return None
