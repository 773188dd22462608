"""Read Arrow IPC streams and files, among them Feather version 2, one record batch at a time.

An IPC file is a stream between two marks (Arrow columnar format, IPC file format). It is read as a stream: forward
only, and up to the point where it is cut off.
"""

from collections.abc import Iterator
from functools import partial
from io import IOBase
from typing import Any, BinaryIO, cast

import pyarrow as pa

from thresher.core import Failure, InputError, failure_boundary
from thresher.storage.columns.row_values import BatchRow
from thresher.storage.inputs.entry import InputRecord, UnusableRecord, guard
from thresher.storage.inputs.table_files.columns import (
    DEFAULT_COLUMNS,
    Columns,
    Keep,
    RowLocation,
    record_of_row,
    require_columns,
    used_columns,
)
from thresher.storage.warc.members import CUT_OFF

FILE_MARK = b"ARROW1\0\0"
ROWS = 64
"""Rows that are converted to Python values at a time."""


def read(
    file: BinaryIO, name: str, first: int = 0, *, columns: Columns = DEFAULT_COLUMNS, marked: bool = False
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield an item for each row of a stream, or of a file if `marked` is set.

    Raise `InputError` if the schema cannot be read or lacks the requested columns.
    """
    begin = 0
    try:
        file.read(len(FILE_MARK) if marked else 0)
        batches = pa.ipc.open_stream(pa.PythonFile(cast("IOBase", file), "r"))
        names = batches.schema.names
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        raise InputError(
            f"{name}: no Arrow schema can be read ({one_line(error)}); get the file again"
        ) from None
    require_columns(names, columns, name)
    while True:
        try:
            batch = batches.read_next_batch()
            batch.validate(full=True)
        except StopIteration:
            return
        except (pa.ArrowException, OSError, EOFError, ValueError) as error:
            detail = f"behind row {begin}: {one_line(error)}"
            if begin >= first:
                yield UnusableRecord(place=begin, reason=CUT_OFF, detail=detail)
            return
        yield from rows(batch, name, begin, first, columns)
        begin += batch.num_rows


def rows(
    batch: pa.RecordBatch, name: str, begin: int, first: int, columns: Columns
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield an item for each row of a batch, from row `first` of the input on. The batch starts at row `begin`."""
    whole, batch = batch, batch.select(used_columns(batch.schema.names, columns))
    # One value of a dictionary or a run may be as long as a text, and every row may repeat it.
    step = ROWS if all(map(_is_flat, batch.schema.types)) else 1
    for start in range(max(0, first - begin), batch.num_rows, step):
        for number, row in enumerate(_values(batch.slice(start, step)), begin + start):
            spot = RowLocation(name=name, place=number, fragment=f"row={number + 1}")
            if isinstance(row, str):
                yield UnusableRecord(place=number, reason=row, detail=f"{spot.fragment}: {row}")
            else:
                keep = _columns_of(whole, number - begin)
                yield guard(number, spot.fragment, partial(record_of_row, row, columns, spot, keep))


def _columns_of(batch: pa.RecordBatch, row: int) -> Keep:
    return lambda held: BatchRow(batch, row, held)


def _is_flat(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds one separate value per row."""
    return not (pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) or pa.types.is_nested(kind))


def _values(batch: pa.RecordBatch) -> Iterator[dict[str, Any] | str]:
    """Yield the rows of a batch; for a row that cannot be read, yield the reason code."""
    try:
        with failure_boundary("row"):
            found = batch.to_pylist()
    except Failure as failure:
        if batch.num_rows == 1:
            yield "not_utf8" if isinstance(failure.__cause__, UnicodeDecodeError) else failure.reason
        else:  # some of the rows fail: read them one by one
            for number in range(batch.num_rows):
                yield from _values(batch.slice(number, 1))
    else:
        yield from found


def one_line(error: Exception) -> str:
    """Return the text of a library's error on one line, for a message."""
    return " ".join(str(error).split()) or type(error).__name__
