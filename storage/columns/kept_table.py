"""The table of an archive file's input columns: `columns/SOURCE/NAME.parquet` beside `warc/SOURCE/NAME.warc.gz`.

It has a row for each record of an input with columns, in the order of the records. The first column is the record's
offset in the archive file, and the input's columns follow under their own names.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thresher.core import CorruptData
from thresher.storage.columns.united_types import cast as cast_values
from thresher.storage.sealed_reading import SealedObject, check_sealed
from thresher.storage.store import Readable

FOLDER = "columns"
RECORD_OFFSET = "record_offset"


def kept_table_name(part: str) -> str:
    """Return the name of the table of an archive part (`source/stem`)."""
    return f"{FOLDER}/{part}.parquet"


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
            have = parquet.schema_arrow
            names = [name for name in schema.names if name in have.names]
            groups = _groups(parquet.metadata, offsets)
            rows = parquet.read_row_groups(groups, columns=[RECORD_OFFSET, *names], use_threads=False)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _unreadable(sealed.name, error) from error
    at = pc.index_in(pa.array(offsets), value_set=rows[RECORD_OFFSET].combine_chunks())
    found = rows.take(at)
    return pa.Table.from_arrays(
        [
            cast_values(found[field.name], have.field(field.name), field)
            if field.name in names
            else pa.chunked_array([pa.nulls(len(offsets), field.type)])
            for field in schema
        ],
        schema=schema,
    )


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
