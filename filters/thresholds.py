"""Thresholds: the values at which a rule drops a document, apart from what the rule measures.

`thresholds_of` names, for each published rule, which parameter limits which measurement and with what reason. From it
follow a verdict without any text (`filters.decision`), the change of a threshold by its name (`with_thresholds`), and
the rule without thresholds, which measures everything and drops nothing for a measurement (`relaxed`).

A rule that is not registered here has no thresholds: the reason that it gave is stored and applies as it is. That holds
for rules of users, for words in URLs and for `dclm_urls`.
"""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Literal

from thresher.core import InputError
from thresher.filters.models.language import LanguageRule
from thresher.filters.rules.boilerplate import Boilerplate
from thresher.filters.rules.c4 import C4
from thresher.filters.rules.code_lines import CodeLines
from thresher.filters.rules.dclm import DclmQuality, DclmRepetition
from thresher.filters.rules.fineweb import UNPUNCTUATED_LANGUAGES, FineWeb
from thresher.filters.rules.fineweb2 import BY_LANGUAGE, ByLanguage
from thresher.filters.rules.gopher import GopherQuality, GopherRepetition
from thresher.filters.rules.lengths import Length
from thresher.filters.rules.refinedweb import RefinedWebLines
from thresher.filters.text import Rule

OTHER_LANGUAGE = "other_language"
"""Reason of `LanguageRule` for a text in a language that is not wanted."""
Comparison = Literal["<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Drop a document if `measurement` compares with `value` as `drops` says."""

    reason: str
    measurement: str
    drops: Comparison
    value: float
    parameter: str = ""
    """Parameter of the rule that holds the value: a field, or `field.n` for the entry of `n` in a field of pairs. If
    the rule has limits by language, the code of a language stands before it: `de.top.3`."""
    is_for_spaced: bool = False
    """Whether it applies only to scripts that put spaces between words."""
    languages: frozenset[str] | None = None
    """Languages to which it applies; None for all."""
    except_languages: frozenset[str] = frozenset()
    """Languages to which it does not apply."""

    @property
    def is_of_one_language(self) -> bool:
        """Whether the parameter belongs to the limits of one language."""
        return self.parameter.partition(".")[0] in (self.languages or ())

    def applies_to(self, language: str) -> bool:
        """Return whether it applies to texts in `language`."""
        return (
            self.languages is None or language in self.languages
        ) and language not in self.except_languages


def spaced_column(rule: str) -> str:
    """Return the name of the measurement that is 1 if the text that a rule saw has spaces between its words."""
    return f"{rule}_spaced"


@singledispatch
def thresholds_of(rule: Any) -> tuple[Threshold, ...]:  # noqa: ARG001 - the default of a dispatch
    """Return the thresholds of a rule in the order in which they are compared; none for a rule of a user."""
    return ()


@thresholds_of.register
def _(rule: LanguageRule) -> tuple[Threshold, ...]:
    wanted = frozenset(rule.languages)
    return (
        Threshold(
            reason=OTHER_LANGUAGE,
            measurement="language_score",
            drops=">=",
            value=-math.inf,
            except_languages=wanted,
        ),
        *(
            Threshold(
                reason="unsure",
                measurement="language_score",
                drops="<",
                value=score,
                parameter=f"thresholds.{code}",
                languages=frozenset({code}),
            )
            for code, score in rule.thresholds
        ),
        _minimum(rule, "mixed", "language_share", "min_share"),
    )


@thresholds_of.register
def _(rule: GopherQuality) -> tuple[Threshold, ...]:
    languages = frozenset({rule.stop_words_language} | ({""} if rule.unknown_is_english else set()))
    return (
        _minimum(rule, "too_few_words", "words", "fewest_words"),
        _maximum(rule, "too_many_words", "words", "most_words"),
        replace(_minimum(rule, "short_words", "mean_word_length", "shortest_mean"), is_for_spaced=True),
        replace(_maximum(rule, "long_words", "mean_word_length", "longest_mean"), is_for_spaced=True),
        _maximum(rule, "too_many_hashes", "hashes_per_word", "most_symbols"),
        _maximum(rule, "too_many_ellipses", "ellipses_per_word", "most_symbols"),
        _maximum(rule, "too_many_bullets", "bullet_lines", "most_bullets"),
        _maximum(rule, "too_many_cut_lines", "ellipsis_lines", "most_ellipses"),
        _minimum(rule, "too_few_letters", "words_with_letter", "fewest_with_letter"),
        replace(_minimum(rule, "too_few_stop_words", "stop_words", "fewest_stop_words"), languages=languages),
    )


@thresholds_of.register
def _(rule: GopherRepetition) -> tuple[Threshold, ...]:
    return _repetition(rule, ("paragraph", "line"))


@thresholds_of.register
def _(rule: DclmRepetition) -> tuple[Threshold, ...]:
    return _repetition(rule, ("line", "paragraph"), "dclm_")


def _repetition(
    rule: GopherRepetition | DclmRepetition, units: tuple[str, ...], prefix: str = ""
) -> tuple[Threshold, ...]:
    limits = [
        limit
        for unit in units
        for limit in (
            (f"repeated_{unit}s", f"{unit}s"),
            (f"repeated_{unit}_characters", f"{unit}_characters"),
        )
    ]
    return (
        *(_maximum(rule, reason, f"{prefix}{reason}", parameter) for reason, parameter in limits),
        *(
            Threshold(
                reason=f"{name}_{n}_gram{plural}",
                measurement=f"{prefix}{name}_{n}_gram_characters",
                drops=">",
                value=most,
                parameter=f"{name}.{n}",
            )
            for name, pairs, plural in (("top", rule.top, ""), ("repeated", rule.repeated, "s"))
            for n, most in pairs
        ),
    )


@thresholds_of.register
def _(rule: DclmQuality) -> tuple[Threshold, ...]:
    length = "dclm_mean_word_length"
    return (
        _minimum(rule, "too_few_words", "dclm_words", "fewest_words"),
        _maximum(rule, "too_many_words", "dclm_words", "most_words"),
        replace(_minimum(rule, "short_words", length, "shortest_mean"), is_for_spaced=True),
        replace(_maximum(rule, "long_words", length, "longest_mean"), is_for_spaced=True),
        _maximum(rule, "too_many_symbols", "dclm_symbols_per_word", "most_symbols"),
        _maximum(rule, "too_many_bullets", "dclm_bullet_lines", "most_bullets"),
        _maximum(rule, "too_many_cut_lines", "dclm_ellipsis_lines", "most_ellipses"),
        _maximum(rule, "too_few_letters", "dclm_words_without_letter", "most_without_letter"),
        replace(
            _minimum(rule, "too_few_stop_words", "dclm_stop_words", "fewest_stop_words"),
            languages=frozenset({"en"}),
        ),
    )


@thresholds_of.register
def _(rule: RefinedWebLines) -> tuple[Threshold, ...]:
    return (_maximum(rule, "too_many_lines_removed", "refinedweb_removed_words", "most_removed_words"),)


@thresholds_of.register
def _(rule: Length) -> tuple[Threshold, ...]:
    limits = (
        _minimum(rule, "too_few_characters", "characters", "fewest_characters"),
        _maximum(rule, "too_many_characters", "characters", "most_characters"),
        _minimum(rule, "too_few_words", "length_words", "fewest_words"),
        _maximum(rule, "too_many_words", "length_words", "most_words"),
    )
    # A maximum of 0 is none. It stays a threshold, so that `judge` can set it.
    return tuple(
        each if each.value > 0 or each.drops == "<" else replace(each, value=math.inf) for each in limits
    )


@thresholds_of.register
def _(rule: CodeLines) -> tuple[Threshold, ...]:
    return (
        _maximum(rule, "too_much_code", "code_characters", "most"),
        _minimum(rule, "too_little_code", "code_characters", "least"),
    )


@thresholds_of.register
def _(rule: Boilerplate) -> tuple[Threshold, ...]:
    return (_maximum(rule, "too_much_boilerplate", "boilerplate_lines", "most"),)


@thresholds_of.register
def _(rule: C4) -> tuple[Threshold, ...]:
    return (_minimum(rule, "too_few_sentences", "sentences", "fewest_sentences"),)


@thresholds_of.register
def _(rule: FineWeb) -> tuple[Threshold, ...]:
    return (
        replace(
            _minimum(rule, "too_few_ended_lines", "ended_lines", "fewest_ended_lines"),
            except_languages=UNPUNCTUATED_LANGUAGES,
        ),
        replace(
            _maximum(rule, "too_many_short_lines", "short_lines", "most_short_lines"), is_for_spaced=True
        ),
        _maximum(rule, "repeated_lines", "repeated_characters", "most_repeated_characters"),
        _maximum(rule, "too_many_lines", "lines_per_word", "most_lines_per_word"),
    )


@thresholds_of.register
def _(rule: ByLanguage) -> tuple[Threshold, ...]:
    own = frozenset(rule.by_language)
    found = [
        replace(each, except_languages=each.except_languages | own) for each in thresholds_of(rule.default)
    ]
    for code, of_language in rule.by_language.items():
        found += [
            replace(each, languages=frozenset({code}), parameter=f"{code}.{each.parameter}")
            for each in thresholds_of(of_language)
            if each.applies_to(code)
        ]
    return tuple(found)


def _minimum(rule: Rule, reason: str, measurement: str, parameter: str) -> Threshold:
    value = getattr(rule, parameter)
    return Threshold(reason=reason, measurement=measurement, drops="<", value=value, parameter=parameter)


def _maximum(rule: Rule, reason: str, measurement: str, parameter: str) -> Threshold:
    value = getattr(rule, parameter)
    return Threshold(reason=reason, measurement=measurement, drops=">", value=value, parameter=parameter)


def relaxed(rule: Rule) -> Rule:
    """Return the rule with thresholds that no measurement reaches: it measures everything before it gives a reason."""
    if isinstance(rule, ByLanguage):
        return rule.each(lambda _, of_language: relaxed(of_language))
    for threshold in thresholds_of(rule):
        if threshold.parameter:
            limit = -math.inf if threshold.drops[0] == "<" else math.inf
            rule = _with_parameter(rule, threshold.parameter, limit)
    return rule


def measuring_recipe(rule: Rule) -> dict[str, Any]:
    """Return every parameter of a rule that a measurement or an edit depends on: all but its thresholds.

    The languages of the rule on languages are thresholds too, because the language of each document is stored.
    """
    if isinstance(rule, ByLanguage):
        by_language = {code: measuring_recipe(each) for code, each in rule.by_language.items()}
        return {**measuring_recipe(rule.default), BY_LANGUAGE: by_language}
    recipe = dict(rule.recipe)
    for threshold in thresholds_of(rule):
        recipe.pop(threshold.parameter.partition(".")[0], None)
    if isinstance(rule, LanguageRule):
        recipe.pop("languages", None)
    if isinstance(rule, GopherQuality):
        recipe.pop("unknown_is_english", None)
    return recipe


def with_thresholds(rules: Sequence[Rule], values: Mapping[str, float]) -> tuple[Rule, ...]:
    """Return the rules with other thresholds. A key is `rule.parameter`, such as `gopher_quality.fewest_words`, or
    `rule.parameter.n` for n-grams of `n` words. If the rule has limits by language, such a key sets those of all
    languages, and `rule.de.parameter` sets that of one, whatever their order.

    Raise `InputError` if there is no such rule or threshold, or if a number that must be whole is not.
    """
    by_name = {rule.name: rule for rule in rules}
    known = {
        f"{rule.name}.{threshold.parameter}": threshold.parameter
        for rule in rules
        for threshold in thresholds_of(rule)
        if threshold.parameter
    }
    for key, value in sorted(values.items(), key=lambda each: each[0].count(".")):
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            hint = f"; did you mean {near[0]!r}?" if near else "; its rules have no thresholds"
            raise InputError(f"filters.thresholds: no rule of this project has the threshold {key!r}{hint}")
        name = key.partition(".")[0]
        try:
            by_name[name] = _with_parameter(by_name[name], known[key], value)
        except ValueError as error:
            raise InputError(f"filters.thresholds: {key} {error}") from None
    return tuple(by_name[rule.name] for rule in rules)


def _with_parameter(rule: Any, parameter: str, value: float) -> Rule:
    """Return the rule with another value. Raise `ValueError` if it must be whole and is not."""
    field, _, n = parameter.partition(".")
    if isinstance(rule, ByLanguage):
        if field in rule.by_language:
            return rule.each(lambda code, each: _with_parameter(each, n, value) if code == field else each)
        return rule.each(lambda _, each: _with_parameter(each, parameter, value))
    if n:
        pairs = getattr(rule, field)
        return _replaced(
            rule, field, tuple((each, value if str(each) == n else most) for each, most in pairs)
        )
    if isinstance(getattr(rule, field), int) and math.isfinite(value):
        if value != int(value):
            raise ValueError(f"must be a whole number, not {value}")
        value = int(value)
    return _replaced(rule, field, value)


def _replaced(rule: Any, field: str, value: Any) -> Rule:
    changed: Rule = replace(rule, **{field: value})
    return changed


def restored(rule: Any, recipe: Mapping[str, Any]) -> Any:
    """Return the rule with the thresholds of a recipe that was read from JSON."""
    if isinstance(rule, ByLanguage):
        limits = recipe[BY_LANGUAGE]
        return rule.each(lambda code, each: restored(each, limits[code] if code else recipe))
    for field in {each.parameter.partition(".")[0] for each in thresholds_of(rule)} - {""}:
        rule = replace(rule, **{field: _pairs(recipe[field])})
    return rule


def _pairs(value: Any) -> Any:
    """Return a list or an object of JSON as the pairs that a rule holds, and any other value as it is."""
    if isinstance(value, dict):
        return tuple(value.items())
    return tuple(map(tuple, value)) if isinstance(value, list) else value
