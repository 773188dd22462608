"""The columns of the rows that become shards. One row is a document, or a packed sequence of several documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def _column(name: str, kind: pa.DataType) -> "pa.Field[pa.DataType]":
    return pa.field(name, kind, nullable=False)


REFERENCE = pa.schema(
    [
        _column("id", pa.string()),
        _column("url", pa.string()),
        _column("source", pa.string()),
        _column("record_file", pa.string()),
        _column("record_offset", pa.int64()),
    ]
)
"""The columns that lead from a document back to its archived record."""

EXACT_REFERENCE = pa.schema(
    [*REFERENCE, _column("record_length", pa.int64()), _column("record_digest", pa.string())]
)
"""The same, with what a reader needs to fetch and check the record alone."""

DOCUMENT_ROW = pa.schema(
    [_column("input_ids", pa.list_(pa.int32())), *REFERENCE, _column("text", pa.string())]
)
"""A row that is a document."""

EXACT_ROW = pa.schema([DOCUMENT_ROW.field("input_ids"), *EXACT_REFERENCE, DOCUMENT_ROW.field("text")])
"""The columns from which every format takes its own."""

PACKED_ROW = pa.schema(
    [
        _column("input_ids", pa.list_(pa.int32())),
        _column("positions", pa.list_(pa.int32())),
        _column("segments", pa.list_(pa.int32())),
        _column("ids", pa.string()),
    ]
)
"""A row that is a packed sequence: for each token its place in its document and the number of its document in the
sequence (from 1; 0 is padding), and the ids of the documents in this order, with spaces between them. So all rows have
the same shape, and PyTorch's default collate makes batches of them.
"""

LABELS = "labels"
"""The column that says which tokens bear loss: the id of each that does, and -100 for every other. PyTorch's cross
entropy leaves out -100, and trainers take a column of this name as it is.
"""

IdType = Literal["int32", "int64"]
"""The type of token ids that a user asks for. Without one, ids take as few bytes as a format allows."""

NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """The columns of rows that are documents."""

    has_ids: bool = True
    """Whether a row has token ids. Without a tokenizer it has none."""
    has_text: bool = True
    has_labels: bool = False
    """Whether token ids have labels beside them."""
    id_type: IdType | None = None
    chosen: pa.Schema = NO_COLUMNS
    """Further columns that the user named; none of them is a column of `DOCUMENT_ROW`."""

    @property
    def document(self) -> pa.Schema:
        """The columns that a reader gets."""
        return self._tokens(pa.schema([*filter(self._has, DOCUMENT_ROW), *self.chosen]))

    @property
    def packed(self) -> pa.Schema:
        """The columns of a row that is a packed sequence."""
        return self._tokens(PACKED_ROW)

    @property
    def exact(self) -> pa.Schema:
        """The columns from which every format takes its own."""
        more = (field for field in self.chosen if field.name not in EXACT_ROW.names)
        return pa.schema([*filter(self._has, EXACT_ROW), *more])

    def _tokens(self, schema: pa.Schema) -> pa.Schema:
        """Return columns with the labels, if there are any, and ids and labels of the wanted type."""
        if self.has_labels:
            schema = schema.insert(1, _column(LABELS, pa.list_(pa.int32())))
        return with_id_type(schema, self.id_type)

    def _has(self, field: "pa.Field[Any]") -> bool:
        return {"input_ids": self.has_ids, "text": self.has_text}.get(field.name, True)


def with_id_type(schema: pa.Schema, id_type: IdType | None) -> pa.Schema:
    """Return the columns with 64-bit token ids if the user asks for them. All other ids are 32-bit in rows."""
    if id_type == "int64":
        for name in ("input_ids", LABELS):
            if name in schema.names:
                schema = schema.set(schema.get_field_index(name), _column(name, pa.list_(pa.int64())))
    return schema


def id_kind(schema: pa.Schema, id_bytes: int) -> str:
    """Return NumPy's name of the type of ids where rows have arrays: uint16 or int32, or the one of the columns."""
    if pa.types.is_int64(schema.field("input_ids").type.value_type):
        return "int64"
    return "uint16" if id_bytes == 2 else "int32"


def schema_body(schema: pa.Schema) -> tuple[Mapping[str, Any], ...]:
    """Return name, type and nullability of each column as plain JSON."""
    return tuple(
        {"name": field.name, "type": str(field.type), "nullable": field.nullable} for field in schema
    )


def flat_ids(lists: "pa.ChunkedArray[Any]") -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return the token ids of all rows in one array, and the end of each row in it."""
    lengths = [pc.list_value_length(chunk).to_numpy() for chunk in lists.chunks]
    ids = [pc.list_flatten(chunk).to_numpy() for chunk in lists.chunks]
    ends = np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]), dtype=np.int64)
    return np.concatenate([np.zeros(0, np.int32), *ids]), ends
