"""`threshold_columns`: the columns that thresholds name, found and checked before anything is judged."""

from collections.abc import Sequence

from thresher.core import InputError
from thresher.pipeline.steps.columns.known_columns import Column, KnownColumns
from thresher.pipeline.steps.records.column_thresholds import column_thresholds
from thresher.pipeline.steps.records.rule_set import COLUMNS_PREFIX, RuleSet
from thresher.storage.store import Store


def threshold_columns(
    store: Store, sources: Sequence[str], chosen: RuleSet, *, annotated: bool
) -> tuple[Column, ...]:
    """Return the columns that thresholds name: those of inputs and, if `annotated`, of annotations. Raise `InputError`
    if no source has one, or if it holds no numbers.
    """
    thresholds = column_thresholds(chosen)
    known = KnownColumns(store, sources)
    found: dict[str, Column] = {}
    for threshold in thresholds:
        where = f"filters.thresholds: {COLUMNS_PREFIX}{threshold.reason}"
        column = known.find_beside(threshold.name, where)
        if column.origin != "input" and not annotated:
            raise InputError(
                f"{where}: {threshold.name} is a column of an annotation, which comes after `process`; set the"
                " threshold with `thresher judge`"
            )
        if not column.is_number:
            raise InputError(f"{where}: {threshold.name} holds {column.described}, and no numbers")
        found[threshold.name] = column
    return tuple(found.values())
