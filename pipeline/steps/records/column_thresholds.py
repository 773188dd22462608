"""Thresholds on columns that came with an input, or that an annotation made: `columns.score.min`, `columns.stars.max`.

They stand among the thresholds of `[filters.thresholds]` and of `judge`, and decide behind all rules: a document whose
value is below `min` or above `max` is dropped by the rule `columns`, with the threshold as its reason. True counts 1
and false 0. A value that is missing, as a missing measurement, crosses no threshold.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.core import InputError
from thresher.pipeline.steps.records.rule_set import COLUMNS_PREFIX, RuleSet

Reasons = npt.NDArray[np.object_]


class ColumnThreshold(NamedTuple):
    """One threshold."""

    name: str
    """Of the column."""
    bound: str
    """`min` or `max`."""
    value: float

    @property
    def reason(self) -> str:
        """The reason of a document that crosses it."""
        return f"{self.name}.{self.bound}"


def column_thresholds(chosen: RuleSet) -> tuple[ColumnThreshold, ...]:
    """Return the thresholds on columns. Raise `InputError` if one has no `min` or `max`."""
    found = []
    for key, value in chosen.thresholds:
        if key.startswith(COLUMNS_PREFIX):
            name, _, bound = key.removeprefix(COLUMNS_PREFIX).rpartition(".")
            if not name or bound not in {"min", "max"}:
                raise InputError(
                    f"filters.thresholds: {key}: write it as columns.NAME.min or columns.NAME.max"
                )
            found.append(ColumnThreshold(name, bound, value))
    return tuple(found)


def crossed(values: pa.Table, thresholds: Sequence[ColumnThreshold]) -> Reasons:
    """Return for each row the reason of the first threshold that it crosses, or an empty text. Thresholds whose column
    the table lacks are crossed by none.
    """
    reasons = np.full(values.num_rows, "", dtype=np.object_)
    for threshold in thresholds:
        if threshold.name in values.schema.names:
            column: Any = values[threshold.name].cast(pa.float64(), safe=False)
            numbers = np.array([np.nan if each is None else each for each in column.to_pylist()], np.float64)
            beyond = numbers < threshold.value if threshold.bound == "min" else numbers > threshold.value
            reasons[beyond & (reasons == "")] = threshold.reason
    return reasons
