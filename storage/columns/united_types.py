"""Unite the types of a column: pieces of one input, or several inputs, may have different types under one name.

1. Numbers widen, a column of nothing but nulls takes any type, and structures unite their fields.
2. Types that exclude each other, such as numbers and texts, become JSON text. The metadata of the field says so.
"""

import base64
import json
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

Field: TypeAlias = "pa.Field[Any]"
Values: TypeAlias = "pa.ChunkedArray[Any]"


class TypedColumn(NamedTuple):
    """A column with its type."""

    field: Field
    values: "pa.Array[Any]"


ENCODING: dict[bytes | str, bytes | str] = {"encoding": "json"}
"""Metadata of a column of JSON text."""


def json_field(name: str) -> Field:
    """Return the field of a column of JSON text: each value is one JSON document, and null stays null."""
    return pa.field(name, pa.string(), metadata=ENCODING)


def is_json(field: Field) -> bool:
    """Return whether a column holds JSON text in place of values of several types."""
    return (field.metadata or {}).get(b"encoding") == b"json"


def united(name: str, fields: Iterable[Field]) -> Field:
    """Return the field, called `name`, that can hold the values of all `fields`. There is at least one."""
    first, *rest = [field.with_name(name).with_nullable(True) for field in fields]
    for field in rest:
        if is_json(first) or is_json(field):
            if not first.equals(field, check_metadata=True):
                first = json_field(name)
            continue
        if first.type == field.type:
            continue
        if {first.type, field.type} >= {pa.uint64(), pa.int64()}:  # no integer holds both
            first = json_field(name)
            continue
        try:
            both = pa.unify_schemas([pa.schema([first]), pa.schema([field])], promote_options="permissive")
        except pa.ArrowException:
            first = json_field(name)
        else:
            first = both.field(0)
    return first


def united_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return the schema with all columns of `schemas`, in the order of their first occurrence."""
    fields: dict[str, list[Field]] = {}
    for schema in schemas:
        for field in schema:
            fields.setdefault(field.name, []).append(field)
    return pa.schema([united(name, found) for name, found in fields.items()])


def cast(values: Values, have: Field, want: Field) -> Values:
    """Return the values of a column `have` as those of the united column `want`."""
    if is_json(want):
        return values if is_json(have) else json_texts(values)
    if have.type == want.type:
        return values
    return values.cast(want.type, safe=not pa.types.is_floating(want.type))


def cast_from(table: pa.Table, want: Field) -> Values:
    """Return the column of a table as that of a united schema; it is null if the table lacks it."""
    if want.name not in table.schema.names:
        return pa.chunked_array([pa.nulls(table.num_rows, want.type)])
    return cast(table[want.name], table.schema.field(want.name), want)


def json_texts(values: Values) -> Values:
    """Return values as JSON text; null stays null."""
    texts = [None if value is None else json_text(value) for value in values.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def json_text(value: object) -> str:
    """Return one value as JSON: times in ISO 8601, bytes in Base64."""
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate: only its escape is valid
        return json.dumps(value, default=_plain)
    return text


def type_in_words(field: Field) -> str:
    """Return the type of a column for people."""
    return "JSON text" if is_json(field) else str(field.type)


def leaves(kind: pa.DataType) -> int:
    """Return the number of columns that Parquet makes of a type."""
    return sum(leaves(kind.field(at).type) for at in range(kind.num_fields)) if kind.num_fields else 1


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, datetime | date) else str(value)
