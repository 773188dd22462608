"""`RowGroups`: divide a stream of rows into groups that depend on the rows alone, not on how they arrive."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

MAX_ROWS = 4096
MAX_BYTES = 32 << 20
"""A group holds at most so many bytes of Arrow data, and at least one row."""


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


def row_bytes(rows: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the bytes of each row's texts and lists."""
    sizes = np.zeros(rows.num_rows, dtype=np.int64)
    for column in rows.columns:
        if pa.types.is_list(column.type):
            width = 4 if pa.types.is_integer(column.type.value_type) else 36
        elif pa.types.is_string(column.type):
            width = 1
        else:
            continue
        lengths = [np.diff(chunk.offsets.to_numpy()) if width > 1 else _string_lengths(chunk) for chunk in column.chunks]
        if lengths:
            sizes += width * np.concatenate(lengths).astype(np.int64)
    return sizes


def _string_lengths(chunk: "pa.Array[pa.StringScalar]") -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
    offsets = np.frombuffer(chunk.buffers()[1] or b"", dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return np.diff(offsets) if len(chunk) else np.zeros(0, np.int32)
