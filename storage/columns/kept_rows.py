"""`KeptRows`: collects the columns of the records of one archive file, or of one input in it.

Rows become typed Arrow columns some thousand at a time, so memory holds them in the size of their values. When they
have `MAX_BYTES`, `is_full` says that the archive file should end.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.storage.columns.inferred_types import (
    MAX_FIELDS,
    MAX_VALUE_BYTES,
    TOO_LONG,
    column_of_texts,
    column_of_values,
)
from thresher.storage.columns.row_values import BatchRow, InputColumns, RowValues, TextCells
from thresher.storage.columns.storable_types import storable
from thresher.storage.columns.united_types import (
    Field,
    TypedColumn,
    Values,
    cast_from,
    json_field,
    leaves,
    united_schema,
)

RECORD_OFFSET = "record_offset"
NOT_KEPT = b"not_kept"
"""Key of the metadata of a table that says what is not in it: JSON, values by reason and column."""
MAX_BYTES = 64 << 20
MAX_COLUMNS = 1000
MAX_NAME_BYTES = 1000
PENDING_ROWS, PENDING_BYTES = 4096, 16 << 20
NESTED_ROWS = 64
"""Rows of a dictionary or a run: one value in memory may stand for all of them."""

Losses = dict[str, Counter[str]]
"""Values that are not kept, by reason and by column."""


class KeptRows:
    """The rows of one archive file, or of one input in it."""

    __slots__ = ("_losses", "_offsets", "_pending", "_pending_bytes", "_pieces", "_texts", "bytes")

    def __init__(self) -> None:
        self._pieces: list[pa.Table] = []
        self._texts: list[pa.Table] = []
        self._pending: list[InputColumns] = []
        self._offsets: list[int] = []
        self._pending_bytes = 0
        self._losses: Losses = {}
        self.bytes = 0
        """Bytes of the values that are typed."""

    @property
    def is_full(self) -> bool:
        """Whether the archive file should end, because memory holds much."""
        return self.bytes >= MAX_BYTES

    def add(self, offset: int, row: InputColumns | None) -> None:
        """Add the columns of the record at `offset`, which is larger than those before; None if it has no columns."""
        if row is None:
            return
        if self._pending and not self._goes_with(row):
            self._flush()
        self._pending.append(row)
        self._offsets.append(offset)
        self._pending_bytes += 0 if isinstance(row, BatchRow) else row.bytes
        if len(self._pending) >= PENDING_ROWS or self._pending_bytes >= PENDING_BYTES:
            self._flush()

    def finish(self) -> pa.Table | None:
        """Return all rows as one table with storable types, or None if there are no rows. Its metadata says what it
        lacks.
        """
        self._flush()
        pieces = self._pieces
        if self._texts:
            texts = pa.concat_tables(self._texts, promote_options="default")
            typed = [column_of_texts(name, texts[name]) for name in texts.schema.names[1:]]
            pieces = [
                pa.table(
                    [texts[RECORD_OFFSET], *(column.values for column in typed)],
                    schema=pa.schema([texts.schema.field(0), *(column.field for column in typed)]),
                )
            ]
        if pieces and self._losses:
            pieces = [_with_losses(pieces[0], self._losses), *pieces[1:]]
        return united_rows(pieces)

    def _goes_with(self, row: InputColumns) -> bool:
        last = self._pending[-1]
        if isinstance(row, BatchRow) and isinstance(last, BatchRow):
            return row.batch is last.batch and (
                len(self._pending) < NESTED_ROWS or all(map(_is_plain, row.batch.schema.types))
            )
        return type(row) is type(last)

    def _flush(self) -> None:
        if not self._pending:
            return
        rows, offsets = self._pending, pa.array(self._offsets, pa.int64())
        self._pending, self._offsets, self._pending_bytes = [], [], 0
        first = rows[0]
        if isinstance(first, BatchRow):
            columns = self._of_batch([row for row in rows if isinstance(row, BatchRow)])
        elif isinstance(first, TextCells):
            columns = self._of_texts([row for row in rows if isinstance(row, TextCells)])
        else:
            columns = self._of_values([row for row in rows if isinstance(row, RowValues)])
        fields = [pa.field(RECORD_OFFSET, pa.int64()), *(field for field, _ in columns)]
        table = pa.table([offsets, *(values for _, values in columns)], schema=pa.schema(fields))
        (self._texts if isinstance(first, TextCells) else self._pieces).append(table)
        self.bytes += table.nbytes

    def _of_values(self, rows: list[RowValues]) -> list[TypedColumn]:
        every = [row.values for row in rows]
        found = []
        for name in self._names(every):
            losses = Counter[str]()
            values = [row.get(name) for row in every]
            found.append(column_of_values(name, values, losses))
            self._lose_all(name, losses)
        return found

    def _of_texts(self, rows: list[TextCells]) -> list[TypedColumn]:
        found = []
        for name in self._names([row.values for row in rows]):
            texts = [row.values.get(name) for row in rows]
            long = sum(text is not None and len(text) > MAX_VALUE_BYTES for text in texts)
            if long:
                self._lose(TOO_LONG, name, long)
                texts = [None if text is None or len(text) > MAX_VALUE_BYTES else text for text in texts]
            found.append(TypedColumn(pa.field(name, pa.string()), pa.array(texts, pa.string())))
        return found

    def _of_batch(self, rows: list[BatchRow]) -> list[TypedColumn]:
        batch = rows[0].batch
        at = [row.row for row in rows]
        together = at[-1] - at[0] + 1 == len(at)
        picked = batch.slice(at[0], len(at)) if together else batch.take(pa.array(at))
        used = {row.used for row in rows}
        names = Counter(picked.schema.names)
        found = []
        for name in self._names([dict.fromkeys(picked.schema.names)] * len(rows)):
            if names[name] > 1:
                self._lose("duplicate_name", name, len(rows))
                continue
            if all(name.lower() in each for each in used):
                continue
            typed = storable(name, picked.column(name))
            if typed is None:
                self._lose("unknown_type", name, len(rows))
                continue
            field, values = typed
            if any(name.lower() in each for each in used):
                values = _without(values, np.array([name.lower() in row.used for row in rows]))
            if values.nbytes > MAX_VALUE_BYTES:
                long = np.array([values.slice(row, 1).nbytes > MAX_VALUE_BYTES for row in range(len(values))])
                if long.any():
                    self._lose(TOO_LONG, name, int(long.sum()))
                    values = _without(values, long)
            found.append(TypedColumn(field, values))
        return found

    def _names(self, rows: Sequence[Mapping[str, object]]) -> list[str]:
        """Return the names of columns that can be kept, each once, in their order."""
        found: list[str] = []
        for name in dict.fromkeys(chain.from_iterable(rows)):
            reason = _fault(name) or ("too_many_columns" if len(found) >= MAX_COLUMNS else "")
            if reason:
                self._lose(reason, name, sum(name in row for row in rows))
            else:
                found.append(name)
        return found

    def _lose_all(self, name: str, losses: Mapping[str, int]) -> None:
        for reason, count in losses.items():
            self._lose(reason, name, count)

    def _lose(self, reason: str, name: str, count: int) -> None:
        by_name = self._losses.setdefault(reason, Counter())
        name = name.encode(errors="replace")[:MAX_NAME_BYTES].decode(errors="ignore")
        by_name[name if name in by_name or len(by_name) < MAX_COLUMNS else "..."] += count


class KeptTables:
    """The tables of inputs that lie in one archive file, one behind another."""

    __slots__ = ("_bytes", "_names", "_tables")

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._names: set[str] = set()
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the archive file should end, because memory holds much, or because its inputs have many columns."""
        return self._bytes >= MAX_BYTES or len(self._names) > MAX_COLUMNS

    def add(self, table: pa.Table | None) -> None:
        """Add the table of one input; None if it has none."""
        if table is not None:
            self._tables.append(table)
            self._names.update(table.schema.names)
            self._bytes += table.nbytes

    def finish(self, distance: int) -> pa.Table | None:
        """Return all of them as one table, each record `distance` bytes behind the place that its row has."""
        return united_rows([moved(table, distance) for table in self._tables])


def united_rows(pieces: Sequence[pa.Table]) -> pa.Table | None:
    """Return tables, one after another, as one table with united types, and with what each of them lacks; None if they
    have no columns and lack nothing.
    """
    schema = united_schema(piece.schema for piece in pieces)
    schema = pa.schema(
        [json_field(field.name) if leaves(field.type) > MAX_FIELDS else field for field in schema]
    )
    total: Losses = {}
    for piece in pieces:
        for reason, by_name in losses_of(piece.schema).items():
            total.setdefault(reason, Counter()).update(by_name)
    for field in list(schema)[MAX_COLUMNS + 1 :]:
        total.setdefault("too_many_columns", Counter())[field.name] += 1
    if len(schema) <= 1 and not total:
        return None
    columns = [_united_column(pieces, field) for field in list(schema)[: MAX_COLUMNS + 1]]
    table = pa.table([values for _, values in columns], schema=pa.schema([field for field, _ in columns]))
    return _with_losses(table, total)


def moved(table: pa.Table, distance: int) -> pa.Table:
    """Return a table whose records lie behind `distance` more bytes."""
    return table.set_column(0, table.schema.field(0), pc.add(table[RECORD_OFFSET], distance))


def _with_losses(table: pa.Table, losses: Losses) -> pa.Table:
    if not losses:
        return table
    ordered = {reason: dict(sorted(by_name.items())) for reason, by_name in sorted(losses.items())}
    return table.replace_schema_metadata({NOT_KEPT: json.dumps(ordered).encode()})


def _united_column(pieces: Sequence[pa.Table], field: Field) -> tuple[Field, Values]:
    try:
        chunks = [chunk for piece in pieces for chunk in cast_from(piece, field).chunks]
    except pa.ArrowException:  # a value that the wider type has no room for
        field = json_field(field.name)
        chunks = [chunk for piece in pieces for chunk in cast_from(piece, field).chunks]
    return field, pa.chunked_array(chunks, field.type)


def losses_of(schema: pa.Schema) -> Losses:
    """Return what a table does not hold, from its metadata."""
    found = json.loads((schema.metadata or {}).get(NOT_KEPT, b"{}"))
    return {reason: Counter(by_name) for reason, by_name in found.items()}


def _fault(name: str) -> str:
    """Return why no column can have a name, or an empty text."""
    if name.lower() == RECORD_OFFSET:
        return "taken_name"
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "broken_name"
    return "broken_name" if not 0 < size <= MAX_NAME_BYTES else ""


def _is_plain(kind: pa.DataType) -> bool:
    return not (pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) or pa.types.is_nested(kind))


def _without(values: Any, left_out: Any) -> Any:
    """Return values with null where `left_out` is set."""
    at = np.arange(len(values), dtype=np.int64)
    return values.take(pa.array(at, mask=left_out))
