"""The table of an archive file's input columns: `columns/SOURCE/NAME.parquet` beside `warc/SOURCE/NAME.warc.gz`.

It has a row for each record of an input with columns, in the order of the records. The first column is the record's
offset in the archive file, and the input's columns follow under their own names.
"""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thresher.core import CorruptData
from thresher.storage import tables
from thresher.storage.columns.kept_names import kept_table_name
from thresher.storage.columns.kept_rows import RECORD_OFFSET
from thresher.storage.columns.storable_types import is_written
from thresher.storage.columns.united_types import cast_from, json_field, json_texts
from thresher.storage.manifest import Output, put_output, stored_digest
from thresher.storage.sealed_reading import SealedObject, check_sealed
from thresher.storage.store import Readable, Store


def put_kept(store: Store, part: str, table: pa.Table | None) -> Output | None:
    """Put the table of an archive part that is not sealed yet, before its archive file: a file that lost its seal then
    has its table beside it. Without a table, delete what an earlier attempt with another input left.
    """
    name = kept_table_name(part)
    if table is None:
        store.delete(name)
        return None
    if not is_written(
        table
    ):  # a type can be stored, and one of its values cannot, such as a time of the year 300000
        for at, field in enumerate(table.schema):
            if not is_written(table.select([at])):
                table = table.set_column(at, json_field(field.name), json_texts(table[field.name]))
    return put_output(store, name, table.num_rows, partial(tables.write, table=table))


def stored_kept(store: Store, part: str) -> Output | None:
    """Return the table that lies beside an archive file without a seal; None if there is none that can be read."""
    name = kept_table_name(part)
    if not store.exists(name):
        return None
    try:
        with store.open(name) as file:
            rows = pq.read_metadata(file).num_rows
    except (pa.ArrowException, OSError):
        return None
    return Output(name=name, bytes=store.size(name), sha256=stored_digest(store, name), rows=rows)


def kept_schema(store: Readable, name: str) -> pa.Schema:
    """Return the schema of a table. Raise `CorruptData` if it cannot be read."""
    try:
        with store.open(name) as file:
            return pq.read_schema(file)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(name, error) from error


def kept_values(
    store: Readable, sealed: SealedObject, offsets: npt.NDArray[np.int64], schema: pa.Schema
) -> pa.Table:
    """Return the columns of a united schema for the records at `offsets`, in that order; null for a record without a
    row, and in a column that the table lacks.

    Only the row groups with these records are decoded. Raise `CorruptData` if the table is not as it was sealed.
    """
    check_sealed(store, sealed)
    try:
        with store.open(sealed.name) as file:
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            names = [name for name in schema.names if name in parquet.schema_arrow.names]
            groups = _groups(parquet.metadata, offsets)
            rows = parquet.read_row_groups(groups, columns=[RECORD_OFFSET, *names], use_threads=False)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _unreadable(sealed.name, error) from error
    at = pc.index_in(pa.array(offsets), value_set=rows[RECORD_OFFSET].combine_chunks())
    found = rows.take(at)
    return pa.Table.from_arrays([cast_from(found, field) for field in schema], schema=schema)


def kept_offsets(store: Readable, sealed: SealedObject, first: int, end: int) -> npt.NDArray[np.int64]:
    """Return the offsets of the records that have a row and begin in the bytes from `first` to `end`. Raise
    `CorruptData` if the table is not as it was sealed.
    """
    check_sealed(store, sealed)
    try:
        with store.open(sealed.name) as file:
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            rows = parquet.read(columns=[RECORD_OFFSET], use_threads=False)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _unreadable(sealed.name, error) from error
    offsets = np.array(rows[RECORD_OFFSET].to_pylist(), np.int64)
    return offsets[(offsets >= first) & (offsets < end)]


def _groups(metadata: Any, offsets: npt.NDArray[np.int64]) -> list[int]:
    """Return the row groups whose range of offsets has one of `offsets`."""
    found = []
    for number in range(metadata.num_row_groups):
        range_ = metadata.row_group(number).column(0).statistics
        if ((offsets >= range_.min) & (offsets <= range_.max)).any():
            found.append(number)
    return found


def _unreadable(name: str, error: Exception) -> CorruptData:
    detail = str(error).splitlines()[0] if str(error) else type(error).__name__
    return CorruptData(f"{name} cannot be read as a table of columns: {detail}; copy it back from a backup")
