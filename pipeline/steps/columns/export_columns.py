"""The columns that a user names for the rows of an export."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from thresher.core import InputError
from thresher.pipeline.steps.columns.known_columns import Column, KnownColumns
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.shard_rows import DOCUMENT_ROW

OPTION = "--columns"
MESSAGES_OPTION = "--messages"
ALWAYS_SET = ("document", "cluster")
"""Origins of columns without nulls: every kept document has a row and a signature."""


def export_columns(known: KnownColumns, names: Iterable[str]) -> tuple[Column, ...]:
    """Return the columns that names mean, each once, without those that a row has anyway.

    Raise `InputError` if a name means no column.
    """
    wanted = [name for name in names if name not in DOCUMENT_ROW.names]
    return known.find_all(wanted, OPTION)


def messages_column(known: KnownColumns, name: str) -> Column:
    """Return the column of conversations that a name means. Raise `InputError` if there is none, or if its values
    cannot be lists of messages.
    """
    column = known.find(name, MESSAGES_OPTION)
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_string(kind)):
        raise InputError(f"{MESSAGES_OPTION} {name}: holds {column.described}, and no lists of messages")
    return column


def check_column_formats(names: Sequence[str], formats: Sequence[str], *, packed: bool) -> None:
    """Raise `InputError` if columns are named and a format has no place for them."""
    if not names:
        return
    rows = [name for name in formats if not FORMATS[name].is_by_source and name != "megatron"]
    if packed and rows:
        raise InputError(
            f"{OPTION}: packed rows of {rows[0]} hold the ids of their documents and no columns; "
            f"leave out --pack, or export to --format tokens"
        )
    if set(formats) == {"megatron"}:
        raise InputError(f"{OPTION}: megatron has no place for columns; add another --format")


def column_schema(columns: Iterable[Column]) -> pa.Schema:
    """Return the columns as rows have them: under the names that the user wrote, typed, and dictionaries decoded."""
    fields = []
    for column in columns:
        kind = cast("Any", column.type)
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        metadata = column.field.metadata if len(column.path) == 1 else None
        nullable = column.origin not in ALWAYS_SET
        fields.append(pa.field(column.name, kind, nullable=nullable, metadata=metadata))
    return pa.schema(fields)


def column_recipe(columns: Iterable[Column]) -> list[Mapping[str, str]]:
    """Return name, origin and type of each column, as they stand in the recipe of an export."""
    return [{"name": each.name, "origin": each.origin, "type": each.described} for each in columns]
