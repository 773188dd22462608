"""`RowGroups`: divide a stream of rows into groups that depend on the rows alone, not on how they arrive."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MAX_ROWS = 4096
MAX_BYTES = 32 << 20
"""A group holds at most so many bytes of Arrow data, and at least one row."""

INTEGER_BYTES = OFFSET_BYTES = 4
TEXT_BYTES = 36
"""Bytes of an id of 32 digits in a list, with its offset."""


class RowGroups:
    """Collects rows and gives them back as groups."""

    def __init__(self, schema: pa.Schema, *, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES) -> None:
        self._schema, self._max_rows, self._max_bytes = schema, max_rows, max_bytes
        self._waiting: list[pa.Table] = []
        self._rows = self._bytes = 0

    def add(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Take rows, and yield the groups that are complete."""
        rows = rows.select(self._schema.names).cast(self._schema)
        sizes = row_bytes(rows)
        start = 0
        for end, size in enumerate(sizes.tolist()):
            if self._rows and (self._rows >= self._max_rows or self._bytes + size > self._max_bytes):
                self._waiting.append(rows.slice(start, end - start))
                yield from self.rest()
                start = end
            self._rows += 1
            self._bytes += size
        self._waiting.append(rows.slice(start))

    def rest(self) -> Iterator[pa.Table]:
        """Yield the rows that wait, if there are any."""
        if self._rows:
            yield pa.concat_tables(self._waiting).combine_chunks()
        self._waiting, self._rows, self._bytes = [], 0, 0


def data_bytes(rows: pa.Table) -> int:
    """Return the bytes of rows as Arrow holds them: texts and lists with an offset each, and other values."""
    return int(row_bytes(rows).sum()) + rows.num_rows * sum(map(_width, rows.schema.types))


def row_bytes(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return the bytes of each row's texts, lists and structures."""
    sizes = np.zeros(rows.num_rows, dtype=np.int64)
    for column in rows.columns:
        if pa.types.is_list(column.type) and _is_flat(column.type.value_type):
            item = INTEGER_BYTES if pa.types.is_integer(column.type.value_type) else TEXT_BYTES
            lengths = pc.list_value_length(column)
        elif pa.types.is_string(column.type):
            item, lengths = 1, pc.binary_length(column)
        elif pa.types.is_nested(column.type) or _is_binary(column.type):
            sizes += np.concatenate([np.zeros(0, np.int64), *map(_value_bytes, column.chunks)])
            continue
        else:
            continue
        sizes += item * lengths.fill_null(0).to_numpy().astype(np.int64)
    return sizes


def _is_flat(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_string(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _value_bytes(values: Any) -> npt.NDArray[np.int64]:
    """Return the bytes of each value, those within it included."""
    kind = values.type
    if pa.types.is_struct(kind):
        sizes = np.zeros(len(values), np.int64)
        for field in values.flatten():
            sizes += _value_bytes(field)
        return sizes
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        within = np.concatenate([[0], np.cumsum(_value_bytes(pc.list_flatten(values)))])
        lengths = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        ends = np.cumsum(lengths)
        bytes_of: npt.NDArray[np.int64] = within[ends] - within[ends - lengths] + OFFSET_BYTES
        return bytes_of
    if pa.types.is_string(kind) or _is_binary(kind):
        lengths = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        texts: npt.NDArray[np.int64] = lengths + OFFSET_BYTES
        return texts
    return np.full(len(values), _width(kind), dtype=np.int64)


def _width(kind: Any) -> int:
    """Return the bytes of a value besides those that `row_bytes` counts."""
    try:
        return int(kind.bit_width // 8)
    except ValueError:  # it has no fixed width
        return OFFSET_BYTES
