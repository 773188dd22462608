"""Runs: the files of the index. A run holds signed rows of one type, sorted by the fields that identify them.

1. A run is a Parquet file: any reader opens it. Numbers are stored as they are, because hashes do not compress.
2. The statistics of a row group say which keys it has, so a reader takes only the groups that its keys touch. Pages
   carry checksums, and whoever names a run (`RunRef`) knows the digest of its footer, which holds the statistics.
3. Rows of several runs add up (`filters.dedup.zsets`).
"""

import hashlib
from collections.abc import Iterable
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from core import CorruptData
from filters.dedup.zsets import Rows, total
from storage.store import Readable

GROUP_BYTES = 256 << 10
"""Bytes of a row group: what a reader takes for one key."""
TAIL = 8
"""Bytes behind the footer of a Parquet file: its length, and the magic number."""
KEY_RANGE = range(1 << 64)

Keys = npt.NDArray[np.uint64]


class RunRef(NamedTuple):
    """A run as its reader knows it."""

    name: str
    rows: int
    first: int
    """The smallest first word of a key; 0 if there are no rows."""
    last: int
    footer: str
    """SHA-256 of the footer, in hexadecimal digits."""


def write_rows(file: BinaryIO, rows: Rows) -> None:
    """Write sorted rows as a run."""
    schema = _schema(rows.dtype)
    group = max(1, GROUP_BYTES // rows.dtype.itemsize)
    with pq.ParquetWriter(
        file,
        schema,
        compression="none",
        use_dictionary=False,
        write_statistics=[schema.names[0]],
        write_page_checksum=True,
        store_schema=False,
    ) as writer:
        for start in range(0, len(rows), group):
            part = rows[start : start + group]
            writer.write_table(_table(part, schema), row_group_size=len(part))


def run_ref(store: Readable, name: str, rows: int) -> RunRef:
    """Return the reference to a run that was just sealed. Raise `CorruptData` if it is no run."""
    with store.open(name) as file:
        footer = _footer(file, name)
        groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
        edges = [_edges(group) for group in groups]
        digest = _footer_digest(file)
    first, last = (edges[0][0], edges[-1][1]) if edges else (0, 0)
    return RunRef(name=name, rows=rows, first=first, last=last, footer=digest)


def rows_of_keys(store: Readable, runs: Iterable[RunRef], keys: Keys, dtype: np.dtype[Any]) -> Rows:
    """Return the sum of the rows whose first word is among sorted `keys`, with the columns that `dtype` has. Raise
    `CorruptData` if a run is damaged.
    """
    found = [np.empty(0, dtype)]
    for run in runs:
        if len(keys) and run.rows and _meets(keys, run.first, run.last):
            found.extend(_read(store, run, dtype, keys))
    return total(*found)


def rows_of_range(store: Readable, runs: Iterable[RunRef], keys: range, dtype: np.dtype[Any]) -> Rows:
    """Return the sum of the rows whose first word is in a range. Raise `CorruptData` if a run is damaged."""
    found = [np.empty(0, dtype)]
    edges = np.array([keys.start, keys.stop - 1], np.uint64)
    for run in runs:
        if run.rows and run.first <= int(edges[1]) and run.last >= int(edges[0]):
            for rows in _read(store, run, dtype, None, edges):
                first = rows[dtype.names[0]] if dtype.names else rows
                found.append(rows[(first >= edges[0]) & (first <= edges[1])])
    return total(*found)


def _read(
    store: Readable, run: RunRef, dtype: np.dtype[Any], keys: Keys | None, edges: Keys | None = None
) -> Iterable[Rows]:
    """Yield the rows of the groups that are touched; only rows of `keys` if these are given."""
    try:
        with store.open(run.name) as file:
            if _footer_digest(file) != run.footer:
                raise _damage(run.name, "its footer was changed")
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            if parquet.metadata.num_rows != run.rows:
                raise _damage(run.name, f"it has {parquet.metadata.num_rows} rows and not {run.rows}")
            names = list(dtype.names or ())
            if not set(names) <= set(parquet.schema_arrow.names):
                raise _damage(run.name, "it has other columns")
            for at in range(parquet.num_row_groups):
                first, last = _edges(parquet.metadata.row_group(at))
                wanted = keys if keys is not None else edges
                assert wanted is not None
                touched = (
                    _meets(wanted, first, last)
                    if keys is not None
                    else first <= int(wanted[1]) and last >= int(wanted[0])
                )
                if not touched:
                    continue
                table = parquet.read_row_group(at, columns=names, use_threads=False)
                if keys is None:
                    yield _rows(table, dtype, slice(None))
                else:
                    start, stop = np.searchsorted(keys, np.array([first, last], np.uint64))
                    is_wanted = _among(table.column(0).to_numpy(), keys[start : stop + 1])
                    yield _rows(table, dtype, np.flatnonzero(is_wanted))
    except (pa.ArrowException, OSError, ValueError, KeyError, AttributeError) as error:
        raise _damage(run.name, str(error).splitlines()[0] if str(error) else type(error).__name__) from error


def _schema(dtype: np.dtype[Any]) -> pa.Schema:
    fields = []
    for name in dtype.names or ():
        type_ = pa.from_numpy_dtype(dtype[name].base)
        if dtype[name].shape:
            type_ = pa.binary(dtype[name].itemsize)  # a list takes ten times as long to read
        fields.append(pa.field(name, type_, nullable=False))
    return pa.schema(fields)


def _table(rows: Rows, schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        values = np.ascontiguousarray(rows[field.name])
        columns.append(
            pa.Array.from_buffers(field.type, len(values), [None, pa.py_buffer(values.tobytes())])
            if values.ndim > 1
            else pa.array(values)
        )
    return pa.Table.from_arrays(columns, schema=schema)


def _rows(table: pa.Table, dtype: np.dtype[Any], chosen: slice | npt.NDArray[np.intp]) -> Rows:
    """Return the chosen rows of a table."""
    rows = np.empty(table.num_rows if isinstance(chosen, slice) else len(chosen), dtype)
    for field in table.schema.names:
        column: Any = table[field].combine_chunks()
        if dtype[field].shape:
            data = np.frombuffer(column.buffers()[1], dtype[field].base)
            first = column.offset * dtype[field].shape[0]
            rows[field] = data[first:].reshape(-1, *dtype[field].shape)[: table.num_rows][chosen]
        else:
            rows[field] = column.to_numpy()[chosen]
    return rows


def _edges(group: Any) -> tuple[int, int]:
    statistics = group.column(0).statistics
    return int(statistics.min), int(statistics.max)


def _meets(keys: Keys, first: int, last: int) -> bool:
    """Return whether one of sorted keys lies between two numbers, both included."""
    at = int(np.searchsorted(keys, np.uint64(first)))
    return at < len(keys) and int(keys[at]) <= last


def _among(values: Keys, keys: Keys) -> npt.NDArray[np.bool_]:
    at = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
    found: npt.NDArray[np.bool_] = keys[at] == values
    return found


def _footer(file: Any, name: str) -> Any:
    try:
        return pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        raise _damage(name, str(error).splitlines()[0]) from error


def _footer_digest(file: Any) -> str:
    file.seek(0, 2)
    size = file.tell()
    file.seek(max(0, size - TAIL))
    length = int.from_bytes(file.read(TAIL)[:4], "little")
    file.seek(max(0, size - TAIL - length))
    digest = hashlib.sha256(file.read(length + TAIL)).hexdigest()
    file.seek(0)
    return digest


def _damage(name: str, detail: str) -> CorruptData:
    return CorruptData(
        f"the index of deduplication is damaged: {name}: {detail}; run `thresher verify --repair`, then the same "
        "command"
    )
