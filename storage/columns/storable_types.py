"""Make values storable: Parquet has no runs, no unions and no structures without fields."""

import io
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thresher.storage.columns.united_types import TypedColumn, json_field, json_texts

Array = Any
"""An Arrow array of any type."""


def storable(name: str, values: Array) -> TypedColumn | None:
    """Return a column in a type that Parquet can store: dictionaries and runs as plain values, and JSON text for what
    it cannot store. Return None if its values cannot be written as JSON either.
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_run_end_encoded(values.type):
        values = pc.call_function("run_end_decode", [values])
    if is_storable(values.type):
        return TypedColumn(pa.field(name, values.type), values)
    try:
        return TypedColumn(json_field(name), json_texts(pa.chunked_array([values])).combine_chunks())
    except (pa.ArrowException, TypeError, ValueError):
        return None


@lru_cache(1024)
def is_storable(kind: pa.DataType) -> bool:
    """Return whether Parquet can store a column of this type."""
    return is_written(pa.schema([pa.field("column", kind)]).empty_table())


def is_written(table: pa.Table) -> bool:
    """Return whether a table can be written as Parquet."""
    try:
        pq.write_table(table, io.BytesIO())
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return True
