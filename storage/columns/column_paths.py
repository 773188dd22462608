"""Name a column of a table, or a field of a structure with dots, and read its values."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thresher.storage.columns.kept_table import kept_schema, kept_values
from thresher.storage.columns.united_types import Field
from thresher.storage.manifest import Input
from thresher.storage.store import Readable


def column_path(schema: pa.Schema, name: str) -> tuple[tuple[str, ...], Field] | None:
    """Return the names that lead to a column or to a field of a structure, and the column's field; None if there is
    none.
    """
    if name in schema.names:
        return (name,), schema.field(name)
    for end in (at for at, character in enumerate(name) if character == "."):
        first, path = name[:end], name[end + 1 :].split(".")
        if first in schema.names and _has_path(schema.field(first).type, path):
            return (first, *path), schema.field(first)
    return None


def value_type(kind: pa.DataType, path: Sequence[str]) -> pa.DataType:
    """Return the type of what `path`, a name in a table and names of fields, leads to."""
    for name in path[1:]:
        kind = _field_type(kind, name)
    return kind


def _field_type(kind: Any, name: str) -> pa.DataType:
    found: pa.DataType = kind.field(name).type
    return found


def _has_path(kind: pa.DataType, path: Sequence[str]) -> bool:
    for name in path:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return False
        kind = _field_type(kind, name)
    return True


def values_within(values: "pa.ChunkedArray[Any]", path: Sequence[str]) -> "pa.ChunkedArray[Any]":
    """Return the field of structures that `path` leads to."""
    for name in path:
        chunks = [pc.struct_field(chunk, name) for chunk in values.chunks]
        values = pa.chunked_array(chunks, cast("Any", values.type).field(name).type)
    return values


def input_values(
    store: Readable, sealed: Input, offsets: npt.NDArray[np.int64], names: Sequence[str]
) -> pa.Table:
    """Return columns of one table of input columns for the records at `offsets`, under the names that the user gave
    them, without those that the table lacks.
    """
    schema = kept_schema(store, sealed.name)
    paths = {name: path for name in names if (path := column_path(schema, name))}
    wanted = pa.schema(list({field.name: field for _, field in paths.values()}.values()))
    rows = kept_values(store, sealed, offsets, wanted)
    found = {name: values_within(rows[path[0]], path[1:]) for name, (path, _) in paths.items()}
    return pa.table(found) if found else rows.select([])
