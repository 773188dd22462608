"""Read CSV with a header line, quoted by RFC 4180, in UTF-8. The header decides which delimiter the file has."""

import csv
from collections.abc import Iterator, Mapping
from functools import partial
from typing import BinaryIO

from thresher.core import InputError
from thresher.storage.columns.row_values import TextCells
from thresher.storage.inputs.bounded_lines import lines
from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES, InputRecord, UnusableRecord, guard
from thresher.storage.inputs.table_files.columns import (
    DEFAULT_COLUMNS,
    Columns,
    RowLocation,
    record_of_row,
    require_columns,
)

DELIMITERS = ",;\t"


def read(
    file: BinaryIO, name: str, first: int = 0, *, columns: Columns = DEFAULT_COLUMNS
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield an item for each row after the header. Raise `InputError` if the header lacks the requested columns."""
    csv.field_size_limit(MAX_PAYLOAD_BYTES)  # applies to the whole process: `csv` has no other limit
    open_quotes = [0]
    texts = _counted((_text(line) for _, line in lines(file)), open_quotes)
    header = next(texts, "")
    delimiter = max(DELIMITERS, key=header.count)
    names = _names(header, delimiter, name)
    require_columns(names, columns, f"{name}, line 1")
    if len(set(names)) < len(names):
        raise InputError(f"{name}, line 1 names a column twice; rename one of them")
    rows = csv.reader(texts, delimiter=delimiter)
    place = -1
    while True:
        line = rows.line_num + 2
        open_quotes[0] = 0
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            row, broken = [], str(error)
        else:
            if not row:
                continue
            unclosed = open_quotes[0] % 2 and rows.line_num + 1 > line
            broken = _broken(row, names) if not unclosed else "a quote that is not closed on its line"
        place += 1
        if place < first:
            continue
        if broken:
            yield UnusableRecord(place=place, reason="broken_row", detail=f"line {line}: {broken}")
        elif not _is_utf8(row):
            yield UnusableRecord(place=place, reason="not_utf8", detail=f"line {line}: not UTF-8")
        else:
            spot = RowLocation(name=name, place=place, fragment=f"line={line}")
            cells = dict(zip(names, row, strict=True))
            keep = partial(_cells_beside, cells)
            yield guard(place, spot.fragment, partial(record_of_row, cells, columns, spot, keep))


def _cells_beside(cells: Mapping[str, str], held: frozenset[str]) -> TextCells:
    """Return the cells that a record does not hold."""
    rest = {name: cell for name, cell in cells.items() if name.lower() not in held}
    return TextCells(rest, sum(map(len, rest.values())))


def _broken(row: list[str], names: list[str]) -> str:
    return "" if len(row) == len(names) else f"{len(row)} columns, the header has {len(names)}"


def _counted(texts: Iterator[str], quotes: list[int]) -> Iterator[str]:
    """Yield the lines unchanged and count their quotation marks in `quotes`."""
    for text in texts:
        quotes[0] += text.count('"')
        yield text


def _names(header: str, delimiter: str, name: str) -> list[str]:
    try:
        return [column.strip() for column in next(csv.reader([header], delimiter=delimiter), ())]
    except csv.Error as error:
        raise InputError(f"{name}, line 1 is no header of a CSV: {error}") from None


def _text(line: bytes | None) -> str:
    # A line over the limit becomes a field over the limit, which `csv` refuses.
    return "x" * (MAX_PAYLOAD_BYTES + 1) if line is None else line.decode(errors="surrogateescape")


def _is_utf8(row: list[str]) -> bool:
    try:
        "".join(row).encode()
    except UnicodeEncodeError:
        return False
    return True
