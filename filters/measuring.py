"""Measure a text with all rules, so that a later decision needs no text.

Every rule measures, also those behind a rule that drops the document, and in place of its thresholds it has limits that
no measurement reaches (`thresholds.relaxed`). A rule sees the text as the rules before it edited it. One kind of text
is not measured further: that in a language that nobody wants, because every later decision drops it too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thresher.core import Edit, InputError
from thresher.filters.edits import compose
from thresher.filters.models.language import LanguageRule
from thresher.filters.text import AnalyzedText, Rule
from thresher.filters.thresholds import OTHER_LANGUAGE, relaxed, spaced_column, thresholds_of

RESERVED_COLUMNS = ("id", "language", "payload_bytes", "text_bytes", "edits")
"""Columns of the table of measurements that are no measurements (`storage.tables.MEASUREMENTS`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What rules measured of a text, and how they edited it."""

    measurements: Mapping[str, float]
    reasons: Mapping[str, str]
    """By rule: a reason to drop the document that depends on no threshold."""
    edits: tuple[Edit, ...]
    """How the rules changed the text, in order and without overlaps."""
    editors: tuple[str, ...]
    """Names of the rules that changed it."""
    text: str
    """The edited text."""
    is_wanted: bool = True
    """Whether its language is wanted. If not, nothing else was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measure:
    rule: Rule
    """Without thresholds."""
    reasons: frozenset[str]
    """Reasons of its thresholds."""
    spaced: str
    """Name of the measurement of spaces between words, if a threshold needs it."""


class Measurer:
    """Rules, made ready to measure texts."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._measures = tuple(map(_measure, rules))
        self._language_rules = [rule for rule in rules if isinstance(rule, LanguageRule)]

    def measure(self, text: AnalyzedText) -> Measured:
        """Return everything that the rules measure. Raise `ValueError` if the edits of a rule do not fit the text."""
        for rule in self._language_rules:
            finding = rule(text)
            if finding.reason == OTHER_LANGUAGE:
                return Measured(
                    measurements=finding.measurements,
                    reasons={},
                    edits=(),
                    editors=(),
                    text=text.text,
                    is_wanted=False,
                )
        measurements: dict[str, float] = {}
        reasons: dict[str, str] = {}
        edits: tuple[Edit, ...] = ()
        editors: list[str] = []
        for each in self._measures:
            finding = each.rule(text)
            measurements |= finding.measurements
            if each.spaced:
                measurements[each.spaced] = float(text.is_spaced)
            if finding.reason is not None and finding.reason not in each.reasons:
                reasons[each.rule.name] = finding.reason
            if finding.edits:
                text = text.edited(finding.edits)
                edits = compose(edits, finding.edits)
                editors.append(each.rule.name)
        return Measured(
            measurements=measurements, reasons=reasons, edits=edits, editors=tuple(editors), text=text.text
        )


def _measure(rule: Rule) -> _Measure:
    thresholds = thresholds_of(rule)
    needs_spaces = any(each.is_for_spaced for each in thresholds)
    return _Measure(
        rule=relaxed(rule),
        reasons=frozenset(each.reason for each in thresholds),
        spaced=spaced_column(rule.name) if needs_spaces else "",
    )


def measured_columns(rules: Sequence[Rule]) -> list[str]:
    """Return the names of all measurements that `Measurer` makes with `rules`, sorted."""
    names = {name for rule in rules for name in rule.measures}
    spaced = {spaced_column(rule.name) for rule in rules if any(t.is_for_spaced for t in thresholds_of(rule))}
    return sorted(names | spaced)


def require_own_columns(rules: Sequence[Rule]) -> None:
    """Raise `InputError` if two rules measure something under one name, or one measures something under the name of
    another column, because only one column can have a name.
    """
    owners = dict.fromkeys(RESERVED_COLUMNS, "the table of measurements")
    for rule in rules:
        for name in measured_columns([rule]):
            if owners.setdefault(name, rule.name) != rule.name:
                raise InputError(
                    f"filters.rules: {rule.name} and {owners[name]} both have the column {name!r}; give one of the"
                    " measurements another name"
                )
