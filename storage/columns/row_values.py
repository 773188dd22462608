"""What a reader hands on of a row besides its record: the columns that the record does not hold."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa


class RowValues(NamedTuple):
    """A row of Python values, as JSON has them."""

    values: Mapping[str, object]
    bytes: int
    """Bytes that the row takes in its input: a measure of the memory that its values take."""


class TextCells(NamedTuple):
    """A row of texts, as CSV has them: their types are inferred from all rows together."""

    values: Mapping[str, str]
    bytes: int


class BatchRow(NamedTuple):
    """A row of a record batch."""

    batch: "pa.RecordBatch"
    row: int
    used: frozenset[str]
    """Columns that the record holds in this row, in lower case."""


InputColumns: TypeAlias = RowValues | TextCells | BatchRow
