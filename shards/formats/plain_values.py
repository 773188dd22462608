"""Rows as values that JSON holds: numbers, texts, lists, objects; times in ISO 8601, bytes in Base64, NaN as null."""

from typing import Any, cast

import pyarrow as pa


def plain_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Return rows as objects whose values `msgspec.json` encodes."""
    return plain_table(rows).to_pylist()


def plain_table(rows: pa.Table) -> pa.Table:
    """Return rows without times that are finer than a microsecond, because Python has none."""
    schema = pa.schema([field.with_type(_plain(field.type)) for field in rows.schema])
    return rows if schema == rows.schema else rows.cast(schema, safe=False)


def _plain(kind: Any) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", cast("str | None", kind.tz))
    if pa.types.is_time64(kind) and kind.unit == "ns":
        return pa.time64("us")
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    return cast("pa.DataType", kind)
