"""Infer the types of columns of Python values and of texts.

1. Values of one type, and integers beside other numbers that all are exact as floats, give a column of that type;
   structures have the fields of all rows. Anything else becomes JSON text: nothing is lost.
2. Texts of CSV are numbers if all of them are written as such and none of their digits would be lost; `007` stays text.
3. A value of more than `MAX_VALUE_BYTES`, or one nested deeper than `MAX_DEPTH`, is not kept, and counted.
"""

from collections import Counter
from collections.abc import Sequence
from types import NoneType
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from thresher.storage.columns.storable_types import is_storable
from thresher.storage.columns.united_types import TypedColumn, json_field, json_text

MAX_VALUE_BYTES = 1 << 20
"""A longer value is no property of a document; the text itself is not among the columns."""
MAX_DEPTH = 32
MAX_FIELDS = 256
"""Fields of the structures of one column. Keys that are data, such as a key for each user, would make a field each."""
EXACT = 1 << 53
"""All integers up to this one are exact as floats."""
TOO_LONG, TOO_DEEP = "too_long", "too_deep"
INTEGER = r"^-?(0|[1-9][0-9]{0,17})$"
NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?$"
NUMBER_CHARACTERS = 16
"""Characters of a number that a float holds without losing one of its digits."""
TRUTHS = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"))


def column_of_values(name: str, values: list[Any], losses: Counter[str]) -> TypedColumn:
    """Return the column of some Python values. Count values that are not kept, by reason."""
    kinds = set(map(type, values)) - {NoneType}
    if kinds == {str}:
        if len(max((value for value in values if value is not None), key=len)) * 4 > MAX_VALUE_BYTES:
            values = [_bounded(value, losses) for value in values]
        return TypedColumn(pa.field(name, pa.string()), _texts(values))
    if kinds & {dict, list}:
        walk = _Walk()
        values = [walk.kept(value, losses) for value in values]
        if len(kinds) > 1 or len(walk.paths) > MAX_FIELDS:
            return _json_column(name, values, losses)
    elif len(kinds) > 1 and (
        kinds != {int, float} or any(type(value) is int and abs(value) > EXACT for value in values)
    ):
        return _json_column(name, values, losses)
    try:
        array: Any = pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError):
        return _json_column(name, values, losses)
    if not is_storable(array.type):
        return _json_column(name, values, losses)
    return TypedColumn(pa.field(name, array.type), array)


def column_of_texts(name: str, texts: Any) -> TypedColumn:
    """Return a column of CSV with its type. An empty cell is null in a column of numbers, or of true and false."""
    filled: Any = texts.filter(pc.not_equal(texts, cast("Any", "")))
    kind: pa.DataType = pa.string()
    if len(filled):
        if _all(pc.match_substring_regex(filled, INTEGER)):
            kind = pa.int64()
        elif _all(pc.match_substring_regex(filled, NUMBER)) and _all(
            pc.less_equal(pc.utf8_length(filled), pa.scalar(NUMBER_CHARACTERS, pa.int32()))
        ):
            kind = pa.float64()
        elif any(_all(pc.is_in(filled, value_set=pa.array(words))) for words in TRUTHS):
            kind = pa.bool_()
    values = texts
    if not pa.types.is_string(kind):
        values = pc.if_else(pc.equal(texts, cast("Any", "")), pa.scalar(None, pa.string()), texts).cast(kind)
    return TypedColumn(pa.field(name, kind), values.combine_chunks())


def _json_column(name: str, values: list[Any], losses: Counter[str]) -> TypedColumn:
    texts = [None if value is None else _bounded(json_text(value), losses) for value in values]
    return TypedColumn(json_field(name), _texts(texts))


def _texts(values: Sequence[str | None]) -> "pa.Array[Any]":
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # a lone surrogate, which JSON can express
        whole = [
            None if value is None else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            for value in values
        ]
        return pa.array(whole, pa.string())


def _bounded(text: str | None, losses: Counter[str]) -> str | None:
    if text is not None and len(text.encode(errors="surrogatepass")) > MAX_VALUE_BYTES:
        losses[TOO_LONG] += 1
        return None
    return text


def _all(found: Any) -> bool:
    return bool(pc.all(found).as_py())


class _Walk:
    """Walks through nested values: how deep they are, how large, and which fields they have."""

    def __init__(self) -> None:
        self.paths: set[tuple[str, ...]] = set()
        self._size = 0

    def kept(self, value: Any, losses: Counter[str]) -> Any:
        """Return a value, or None if it is too long or too deep."""
        self._size = 0
        if not self._goes(value, (), MAX_DEPTH):
            losses[TOO_DEEP] += 1
            return None
        if self._size > MAX_VALUE_BYTES:
            losses[TOO_LONG] += 1
            return None
        return value

    def _goes(self, value: Any, path: tuple[str, ...], depth: int) -> bool:
        self._size += len(value) if isinstance(value, str) else 8
        if not isinstance(value, dict | list):
            return True
        if not depth:
            return False
        if isinstance(value, list):
            within = (*path, "[]")
            return all(self._goes(each, within, depth - 1) for each in value)
        for key, each in value.items():
            inner = (*path, key)
            self._size += len(key)
            if len(self.paths) <= MAX_FIELDS:
                self.paths.add(inner)
            if not self._goes(each, inner, depth - 1):
                return False
        return True
