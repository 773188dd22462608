"""One scan of measurements and verdicts: the funnel by language, source, domain and any column, what only one rule
removes, and how each measurement lies beside its thresholds.

No text is read. Memory holds one part, a histogram for each threshold, and the counts of each domain.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.core import InputError
from thresher.filters.decision import MeasuredRows, reasons_of
from thresher.filters.thresholds import Threshold, thresholds_of
from thresher.pipeline.domains import domain_of
from thresher.pipeline.steps.columns.column_values import column_tables, column_values
from thresher.pipeline.steps.columns.known_columns import Column, KnownColumns
from thresher.pipeline.steps.records.measured_rows import measured_rows
from thresher.pipeline.steps.records.rule_set import rules_in
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart, judged_parts
from thresher.storage import tables
from thresher.storage.store import Store

GroupKind = Literal["language", "source", "domain"]
GROUP_KINDS: tuple[GroupKind, ...] = ("language", "source", "domain")
BINS_A_DECADE = 10
SHARE_BINS = 50
MIN_VALUE, MAX_VALUE = 0.1, 1e6
"""Ends of the scale of measurements that are no shares; smaller and larger ones count in the first and the last bin."""
MAX_NAME = 200
"""Characters of the name of a group."""
_DOCUMENTS = tables.columns(tables.DOCUMENTS, "id", "url", "language")


@dataclass(slots=True, kw_only=True)
class GroupCounts:
    """What became of the documents of one language, source or domain."""

    documents: int = 0
    text_bytes: int = 0
    duplicates: int = 0
    kept: int = 0
    kept_bytes: int = 0
    """Bytes of the kept documents before edits."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Documents by the rule that decided."""


@dataclass(slots=True, kw_only=True)
class RuleCounts:
    """What one rule drops of the measured documents, whatever its place among the rules."""

    rule: str
    decided: int = 0
    """Documents that it drops as the first rule to do so."""
    drops: int = 0
    """Documents that it would drop if it were the only rule."""
    only: int = 0
    """Documents that it drops and no other rule does: they would be kept without it."""
    only_bytes: int = 0
    shared: Counter[str] = field(default_factory=Counter)
    """Documents that another rule drops too, by that rule."""


@dataclass(slots=True, kw_only=True)
class Histogram:
    """How many documents have a measurement in each bin, beside one threshold."""

    rule: str
    threshold: Threshold
    edges: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    beyond: int = 0
    """Documents that cross the threshold."""

    @property
    def is_share(self) -> bool:
        """Whether the scale is linear from 0 to 1; otherwise it is logarithmic."""
        return bool(self.edges[0] == 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleScan:
    """The result of a scan."""

    measured: int
    """Documents that all rules measured."""
    groups: dict[str, dict[str, GroupCounts]]
    """By kind, or by the name of a column."""
    rules: tuple[RuleCounts, ...]
    histograms: tuple[Histogram, ...]


def scan_rules(
    store: Store,
    sources: Sequence[str],
    duplicates: frozenset[str] = frozenset(),
    verdict_set: str = "",
    *,
    kinds: Sequence[GroupKind] = GROUP_KINDS,
    columns: Sequence[Column] = (),
) -> RuleScan:
    """Scan the parts of some sources. `duplicates` are the ids of documents that deduplication removed. Documents are
    counted by groups of these `kinds`, and by the values of `columns`, only.
    """
    groups: dict[str, dict[str, GroupCounts]] = {
        name: {} for name in (*kinds, *(column.name for column in columns))
    }
    rules: dict[str, RuleCounts] = {}
    histograms: dict[tuple[str, str, float], Histogram] = {}
    measured = 0
    for source in sources:
        for part in judged_parts(store, source, verdict_set):
            table = tables.read(store, part.measurements, None)
            rows = measured_rows(table)
            sizes = np.array(table["text_bytes"].to_pylist(), dtype=np.int64)
            measured += len(rows)
            chosen = rules_in(part.recipe)
            _count_rules(chosen, rows, sizes, rules)
            _count_values(chosen, rows, histograms)
            by_id = dict(zip(table["id"].to_pylist(), sizes.tolist(), strict=True))
            for group, verdict, size in _documents(store, source, part, by_id, _Groups(kinds, columns)):
                for kind, name in group.items():
                    counts = groups[kind].setdefault(name, GroupCounts())
                    _count_document(counts, verdict, size, is_duplicate=verdict["id"] in duplicates)
    return RuleScan(
        measured=measured,
        groups=groups,
        rules=tuple(rules.values()),
        histograms=tuple(histograms.values()),
    )


class _Groups(NamedTuple):
    """What documents are grouped by."""

    kinds: Sequence[GroupKind]
    columns: Sequence[Column]


def report_columns(store: Store, sources: Sequence[str], names: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns that `report --by` names. Raise `InputError` if there is no such column, or if its values are
    no groups.
    """
    columns = KnownColumns(store, sources).find_all(names, "report --by")
    for column in columns:
        is_group = column.is_text or pa.types.is_boolean(column.type) or pa.types.is_integer(column.type)
        if not is_group or column.origin == "cluster" or column.name == "text":
            raise InputError(
                f"report --by: {column.name} holds {column.described}; give a column of texts, integers or true and"
                " false"
            )
    return columns


def _documents(
    store: Store, source: str, part: JudgedPart, sizes: dict[Any, int], by: _Groups
) -> Iterator[tuple[dict[str, str], dict[str, Any], int]]:
    """Yield the groups, the verdict and the bytes of text of each document. Columns with text are not read."""
    schema = tables.columns(tables.VERDICTS, "id", "keep", "rule")
    verdicts = {row["id"]: row for row in tables.read(store, part.verdicts, schema).to_pylist()}
    values = _values(store, part, by.columns)
    for rows in tables.row_groups(store, part.documents, _DOCUMENTS):
        for row in rows.to_pylist():
            group: dict[str, str] = {kind: _group(kind, row, source) for kind in by.kinds}
            yield group | next(values), verdicts[row["id"]], sizes.get(row["id"], 0)


def _values(store: Store, part: JudgedPart, columns: Sequence[Column]) -> Iterator[dict[str, str]]:
    """Yield the values of columns for each document of a part, as names of groups."""
    if not columns:
        yield from repeat({})
        return
    for row in column_values(store, column_tables(store, part, columns), columns).to_pylist():
        yield {name: _name_of(value) for name, value in row.items()}


def _name_of(value: Any) -> str:
    """Return the name of the group of a value."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "unknown"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)[:MAX_NAME] if value not in (None, "") else "unknown"


def _group(kind: GroupKind, row: dict[str, Any], source: str) -> str:
    """Return the group of a document. Domains take longest: the list of public suffixes must be loaded."""
    if kind == "domain":
        return domain_of(row["url"])
    return source if kind == "source" else row["language"] or "unknown"


def _count_document(counts: GroupCounts, verdict: dict[str, Any], size: int, *, is_duplicate: bool) -> None:
    counts.documents += 1
    counts.text_bytes += size
    if not verdict["keep"]:
        counts.dropped[verdict["rule"]] += 1
    elif is_duplicate:
        counts.duplicates += 1
    else:
        counts.kept += 1
        counts.kept_bytes += size


def _count_rules(
    chosen: Sequence[Any], rows: MeasuredRows, sizes: npt.NDArray[np.int64], found: dict[str, RuleCounts]
) -> None:
    masks = {rule.name: reasons_of(rule, rows) != "" for rule in chosen}
    many = np.sum(list(masks.values()), axis=0) if masks else np.zeros(len(rows))
    before = np.zeros(len(rows), dtype=np.bool_)
    for name, mask in masks.items():
        counts = found.setdefault(name, RuleCounts(rule=name))
        only = mask & (many == 1)
        counts.drops += int(mask.sum())
        counts.decided += int((mask & ~before).sum())
        counts.only += int(only.sum())
        counts.only_bytes += int(sizes[only].sum())
        counts.shared.update(
            {other: int((mask & also).sum()) for other, also in masks.items() if other != name}
        )
        before |= mask


def _count_values(
    chosen: Sequence[Any], rows: MeasuredRows, found: dict[tuple[str, str, float], Histogram]
) -> None:
    for rule in chosen:
        for threshold in thresholds_of(rule):
            values = rows.measurements.get(threshold.measurement)
            is_drawn = threshold.parameter and not threshold.is_of_one_language
            if not is_drawn or values is None or math.isinf(threshold.value):
                continue
            key = (rule.name, threshold.reason, threshold.value)
            histogram = found.get(key) or found.setdefault(key, _empty(rule.name, threshold))
            known = values[~np.isnan(values)]
            inside = np.clip(known, histogram.edges[0], np.nextafter(histogram.edges[-1], 0))
            histogram.counts += np.histogram(inside, histogram.edges)[0]
            histogram.beyond += int(_compare(threshold, known).sum())


def _compare(threshold: Threshold, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    compared = {
        "<": values < threshold.value,
        "<=": values <= threshold.value,
        ">": values > threshold.value,
        ">=": values >= threshold.value,
    }
    return np.asarray(compared[threshold.drops], dtype=np.bool_)


def _empty(rule: str, threshold: Threshold) -> Histogram:
    if 0 <= threshold.value <= 1:
        edges = np.linspace(0, 1, SHARE_BINS + 1)
    else:
        decades = round(math.log10(MAX_VALUE / MIN_VALUE))
        edges = np.geomspace(MIN_VALUE, MAX_VALUE, decades * BINS_A_DECADE + 1)
    return Histogram(
        rule=rule, threshold=threshold, edges=edges, counts=np.zeros(len(edges) - 1, dtype=np.int64)
    )
