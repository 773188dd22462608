"""The ids of the documents that deduplication removed, and which documents are among them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.core import CorruptData
from thresher.storage import sealed_reading, tables
from thresher.storage.manifest import Output
from thresher.storage.store import Store

ID_BYTES = 32

Ids = npt.NDArray[np.bytes_]


@contextmanager
def removed_ids(store: Store, table: Output) -> Iterator[Ids]:
    """Yield the ids of the removed documents in order. Raise `CorruptData` if the table is not as it was sealed.

    They lie in a temporary file, 32 bytes each, which is mapped into memory.
    """
    sealed_reading.check_sealed(store, table)
    if not table.rows:
        yield np.zeros(0, f"S{ID_BYTES}")
        return
    with tempfile.TemporaryFile() as file:
        for rows in tables.row_groups(store, table, tables.columns(tables.REMOVALS, "id")):
            file.write(ids_of(rows["id"], table.name).tobytes())
        file.flush()
        ids: Ids = np.memmap(file, dtype=f"S{ID_BYTES}", mode="r+", shape=(table.rows,))
        ids.sort()
        yield ids


def find_ids(ids: Ids, ordered: Ids) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return which ids are among the ordered ones, and where."""
    at = np.searchsorted(ordered, ids)
    found = at < len(ordered)
    found[found] = ordered[at[found]] == ids[found]
    return found, at


def ids_of(column: "pa.ChunkedArray[pa.StringScalar]", where: str) -> Ids:
    """Return ids as an array. Raise `CorruptData`, which names `where`, if one does not have 32 characters."""
    try:
        fixed = column.cast(pa.binary()).cast(pa.binary(ID_BYTES))
    except pa.ArrowException as error:
        raise CorruptData(f"{where}: an id does not have {ID_BYTES} digits; make it again") from error
    return column_values(fixed, f"S{ID_BYTES}")


def column_values(column: "pa.ChunkedArray[Any]", kind: str) -> npt.NDArray[Any]:
    """Return a column of fixed width without nulls as an array of the NumPy type `kind`. Arrow's own `to_numpy` imports
    pandas, if it is installed, and that takes longer than the rest of a small export.
    """
    width = np.dtype(kind).itemsize
    return np.concatenate(
        [
            np.zeros(0, kind),
            *(
                np.frombuffer(
                    cast("memoryview", chunk.buffers()[1]),
                    kind,
                    count=len(chunk),
                    offset=chunk.offset * width,
                )
                for chunk in column.chunks
                if len(chunk)
            ),
        ]
    )
