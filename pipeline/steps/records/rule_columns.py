"""`RuleColumns`: the columns of an input that the rules of a part want, record by record."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thresher.storage.columns.column_paths import input_values
from thresher.storage.columns.kept_table import kept_offsets
from thresher.storage.manifest import Input
from thresher.storage.store import Readable


class RuleColumns:
    """The values of some columns for the records of one part. Nothing is read if no rule wants a column."""

    __slots__ = ("_rows",)

    def __init__(self, store: Readable, span: Input, beside: Input | None, names: Sequence[str]) -> None:
        self._rows: dict[int, dict[str, Any]] = {}
        if beside is not None and names:
            end = np.iinfo(np.int64).max if span.end is None else span.end
            offsets = kept_offsets(store, beside, span.first, end)
            rows = input_values(store, beside, offsets, names).to_pylist()
            self._rows = dict(zip(offsets.tolist(), rows, strict=True))

    def of_record(self, offset: int) -> Mapping[str, object]:
        """Return the values of the record at an offset, by name; none that it lacks."""
        return {name: value for name, value in self._rows.get(offset, {}).items() if value is not None}
