"""Read Parquet files row group by row group, some rows at a time.

If a part of a row group cannot be read, the rest of that row group is passed over.
"""

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from thresher.core import InputError
from thresher.storage.inputs.entry import InputRecord, UnusableRecord
from thresher.storage.inputs.table_files.arrow import ROWS, one_line, rows
from thresher.storage.inputs.table_files.columns import (
    DEFAULT_COLUMNS,
    Columns,
    require_columns,
)

READ_AHEAD = 1 << 20
"""Bytes of each column that are read at once."""


def read(
    file: BinaryIO, name: str, first: int = 0, *, columns: Columns = DEFAULT_COLUMNS
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield an item for each row of a seekable file.

    Raise `InputError` if the footer, which describes the file, cannot be read, or if the file lacks the requested
    columns.
    """
    table = opened(file, name)
    names = table.schema_arrow.names
    require_columns(names, columns, name)
    begin = 0
    for number, size in enumerate(group.num_rows for group in row_groups(table)):
        if begin + size > first:
            yield from _group(table, number, name, begin, first, columns)
        begin += size


def opened(file: BinaryIO, name: str) -> pq.ParquetFile:
    """Return an open Parquet file. Raise `InputError` if its footer cannot be read."""
    try:
        table = pq.ParquetFile(
            file, buffer_size=READ_AHEAD, pre_buffer=False, page_checksum_verification=True
        )
        row_groups(table)
        _ = table.schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{name}: no Parquet that can be read ({one_line(error)}); get the file again"
        ) from None
    return table


def row_groups(table: pq.ParquetFile) -> list[pq.RowGroupMetaData]:
    """Return the description of each row group."""
    return [table.metadata.row_group(number) for number in range(table.num_row_groups)]


def _group(
    table: pq.ParquetFile, number: int, name: str, begin: int, first: int, columns: Columns
) -> Iterator[InputRecord | UnusableRecord]:
    end, problem = begin + table.metadata.row_group(number).num_rows, "rows are missing"
    try:
        for batch in table.iter_batches(ROWS, row_groups=[number], use_threads=False):
            yield from rows(batch, name, begin, first, columns)
            begin += batch.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        problem = one_line(error)
    if first <= begin < end:
        detail = f"row group {number + 1}, behind row {begin}: {problem}"
        yield UnusableRecord(place=begin, reason="broken_row_group", detail=detail)
