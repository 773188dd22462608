"""Decide from measurements alone, for many documents at once: which rule drops each of them, and why.

The first rule that drops a document decides, and within a rule the first threshold. A missing measurement crosses no
threshold. The decision is the one that the rules themselves make when they read the text; a test holds the two
together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.filters.text import Rule
from thresher.filters.thresholds import Threshold, spaced_column, thresholds_of

Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRows:
    """Columns of measured documents; the same index stands for the same document in all of them."""

    languages: Texts
    measurements: Mapping[str, npt.NDArray[np.float64]]
    """NaN where a document has no such measurement."""
    reasons: Mapping[str, Texts]
    """By rule: the reason that the rule gave whatever its thresholds; empty if it gave none."""

    def __len__(self) -> int:
        return len(self.languages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """The deciding rule and the reason of each document; both are empty if the document is kept."""

    rules: Texts
    reasons: Texts

    @property
    def keep(self) -> Mask:
        """Which documents are kept."""
        return np.asarray(self.rules == "", dtype=np.bool_)

    def behind(self, rule: str, reasons: Texts) -> "Decisions":
        """Return the decisions with one more rule behind all others, which drops documents for `reasons`."""
        mine = (self.rules == "") & (reasons != "")
        return Decisions(
            rules=np.where(mine, rule, self.rules), reasons=np.where(mine, reasons, self.reasons)
        )


def decide(rules: Sequence[Rule], rows: MeasuredRows) -> Decisions:
    """Return the decision of `rules`, applied in order."""
    names = np.full(len(rows), "", dtype=np.object_)
    reasons = np.full(len(rows), "", dtype=np.object_)
    for rule in rules:
        found = reasons_of(rule, rows)
        mine = (names == "") & (found != "")
        names[mine] = rule.name
        reasons[mine] = found[mine]
    return Decisions(rules=names, reasons=reasons)


def reasons_of(rule: Rule, rows: MeasuredRows) -> Texts:
    """Return for each document why a rule would drop it if it were the only one, or an empty text."""
    found = np.full(len(rows), "", dtype=np.object_)
    if rule.name in rows.reasons:
        found[:] = rows.reasons[rule.name]
    present = set(rows.languages.tolist())
    for threshold in thresholds_of(rule):
        if not any(map(threshold.applies_to, present)):
            continue
        found[crosses(threshold, rule.name, rows) & (found == "")] = threshold.reason
    return found


def crosses(threshold: Threshold, rule: str, rows: MeasuredRows) -> Mask:
    """Return which documents cross a threshold of the rule of that name."""
    values: Any = rows.measurements.get(threshold.measurement)
    if values is None:
        return np.zeros(len(rows), dtype=np.bool_)
    match threshold.drops:
        case "<":
            crossed = values < threshold.value
        case "<=":
            crossed = values <= threshold.value
        case ">":
            crossed = values > threshold.value
        case ">=":
            crossed = values >= threshold.value
    if threshold.is_for_spaced:
        crossed &= rows.measurements[spaced_column(rule)] == 1
    if threshold.languages is not None:
        crossed &= np.isin(rows.languages, sorted(threshold.languages))
    if threshold.except_languages:
        crossed &= ~np.isin(rows.languages, sorted(threshold.except_languages))
    return np.asarray(crossed, dtype=np.bool_)
