"""Read JSON lines: one object a line, in UTF-8."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from thresher.core import InputError
from thresher.storage.inputs.bounded_lines import MAX_LINE_LENGTH, lines
from thresher.storage.inputs.entry import InputRecord, UnusableRecord, guard
from thresher.storage.inputs.table_files.columns import (
    DEFAULT_COLUMNS,
    Columns,
    RowLocation,
    record_of_row,
    require_columns,
    values_of_row,
)


def read(
    file: BinaryIO,
    name: str,
    first: int = 0,
    *,
    columns: Columns = DEFAULT_COLUMNS,
    place: int = 0,
    line: int = 1,
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield an item for each line that is not blank. The file begins with row `place` and line `line` of its input.

    Raise `InputError` if the first line is not an object with the requested columns.
    """
    place -= 1
    for number, text in lines(file, begin=line):
        if text is not None and not text.strip():
            continue
        place += 1
        if place and place < first:
            continue
        found = _row(text)
        if place == 0:
            _check(found, columns, f"{name}, line {number}")
        if place < first:
            continue
        if isinstance(found, _Broken):
            yield UnusableRecord(place=place, reason=found.reason, detail=f"line {number}: {found.detail}")
        else:
            spot = RowLocation(name=name, place=place, fragment=f"line={number}")
            keep = partial(values_of_row, found, len(text or b""))
            yield guard(place, spot.fragment, partial(record_of_row, found, columns, spot, keep))


class _Broken:
    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail


def _row(line: bytes | None) -> Mapping[str, Any] | _Broken:
    if line is None:
        return _Broken("too_long", f"more than {MAX_LINE_LENGTH:,} bytes")
    try:
        found = json.loads(line.decode())
    except UnicodeDecodeError as error:
        return _Broken("not_utf8", f"byte {error.start} is not UTF-8")
    except (ValueError, RecursionError) as error:
        return _Broken("broken_json", str(error))
    return (
        found if isinstance(found, dict) else _Broken("no_object", f"a {type(found).__name__} and no object")
    )


def _check(found: Mapping[str, Any] | _Broken, columns: Columns, where: str) -> None:
    if isinstance(found, _Broken):
        remedy = "give an object a line, as `jq -c '.[]'` makes them of an array"
        raise InputError(f"{where} is no JSON object ({found.detail}); {remedy}")
    require_columns(found.keys(), columns, where)
