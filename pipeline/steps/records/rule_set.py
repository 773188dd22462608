"""`RuleSet`: which rules judge documents, with which thresholds, as the configuration says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from thresher.core import InputError
from thresher.filters.signals.signal_settings import SignalSettings
from thresher.pipeline.configuration import LANGUAGE, FiltersConfig

if TYPE_CHECKING:
    from thresher.filters.models.language import LanguageModel
    from thresher.filters.signals.signal_rules import SignalFiles
    from thresher.filters.text import Rule


COLUMNS_RULE = "columns"
"""Name of the rule that decides by columns of inputs and annotations (`pipeline.steps.records.column_thresholds`)."""
COLUMNS_PREFIX = f"{COLUMNS_RULE}."


class RuleSet(NamedTuple):
    """The names and numbers that rules follow from. It can be sent to a worker and compared."""

    preset: str
    languages: tuple[str, ...]
    own: tuple[str, ...]
    """Names of users' own rules."""
    language_model: LanguageModel = "ensemble"
    language_thresholds: tuple[tuple[str, float], ...] = ()
    """Minimum scores of languages other than the model's own, sorted."""
    thresholds: tuple[tuple[str, float], ...] = ()
    """Thresholds other than the rules' own, by `rule.parameter`, sorted."""
    signals: SignalSettings = SignalSettings()
    """Signals; paths are names in the storage (`pipeline.steps.records.signal_files`)."""


def rule_set(filters: FiltersConfig) -> RuleSet:
    """Return the rules of a configuration."""
    return RuleSet(
        preset=filters.preset,
        languages=filters.languages,
        own=filters.rules,
        language_model=filters.language_model,
        language_thresholds=tuple(sorted(filters.language_thresholds.items())),
        thresholds=tuple(sorted(filters.thresholds.items())),
        signals=filters.signals,
    )


def with_settings(filters: FiltersConfig, settings: Iterable[str]) -> FiltersConfig:
    """Return a configuration with the values that `--set` names. Raise `InputError` if one is not valid."""
    preset: str | None = None
    languages: tuple[str, ...] | None = None
    thresholds: dict[str, float] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError(
                f"--set {setting}: write it as KEY=VALUE, such as gopher_quality.fewest_words=30"
            )
        if key == "preset":
            preset = value
        elif key == "languages":
            languages = tuple(code for code in value.split(",") if code)
        else:
            try:
                thresholds[key] = float(value)
            except ValueError:
                raise InputError(f"--set {setting}: {value!r} is no number") from None
    return with_choices(filters, preset=preset, languages=languages, thresholds=thresholds)


def with_choices(
    filters: FiltersConfig,
    *,
    preset: str | None = None,
    languages: Iterable[str] | None = None,
    thresholds: Mapping[str, float] = MappingProxyType({}),
) -> FiltersConfig:
    """Return a configuration with these values in place of its own; None keeps its own. Raise `InputError` if a
    language is no code, or a threshold no finite number.
    """
    codes = filters.languages if languages is None else tuple(languages)
    for code in codes:
        if not LANGUAGE.fullmatch(code):
            raise InputError(f"languages: {code!r} is no code of ISO 639 such as en or de")
    for name, number in thresholds.items():
        if not isinstance(number, int | float) or not math.isfinite(number):
            raise InputError(f"{name} = {number!r}: the value must be a finite number")
    return replace(
        filters,
        preset=filters.preset if preset is None else preset,
        languages=codes,
        thresholds={**filters.thresholds, **thresholds},
    )


def rules_of(chosen: RuleSet, files: SignalFiles | None = None) -> tuple[Rule, ...]:
    """Return the rules in their order. Rules that measure a text need `files`.

    Raise `InputError` if a preset, a rule or a threshold is not known, or if two rules or two measurements have one
    name.
    """
    from thresher.filters.measuring import require_own_columns
    from thresher.filters.rules.presets import LanguageOptions, preset_rules
    from thresher.filters.signals.signal_rules import signal_rules
    from thresher.filters.thresholds import with_thresholds

    language = LanguageOptions(model=chosen.language_model, thresholds=chosen.language_thresholds)
    first = preset_rules(chosen.preset, chosen.languages, chosen.own, language)
    signals = signal_rules(chosen.signals, files)
    if taken := {rule.name for rule in first} & {rule.name for rule in signals}:
        raise InputError(f"filters.rules: a rule of Thresher has the name {min(taken)!r}; give yours another")
    rules = with_thresholds((*first, *signals), _of_rules(chosen, is_of_columns=False))
    require_own_columns(rules)
    return rules


def named_columns(rule: object) -> tuple[str, ...]:
    """Return the columns of inputs that a rule wants: its attribute `columns`, if it has one."""
    names: tuple[str, ...] = tuple(getattr(rule, "columns", ()))
    return names


def rules_recipe(chosen: RuleSet) -> dict[str, Any]:
    """Return every rule with all its parameters, for fingerprints. Raise `InputError` as `rules_of`."""
    from thresher.filters.models.language import model_recipe

    return {
        "preset": chosen.preset,
        "languages": list(chosen.languages),
        # Every document is measured by it, also if all languages are kept.
        "language": model_recipe(chosen.language_model),
        "rules": [
            *({"rule": rule.name, **rule.recipe} for rule in rules_of(chosen)),
            *(
                [{"rule": COLUMNS_RULE, **columns}]
                if (columns := _of_rules(chosen, is_of_columns=True))
                else []
            ),
        ],
    }


def _of_rules(chosen: RuleSet, *, is_of_columns: bool) -> dict[str, float]:
    """Return the thresholds on columns, or all others."""
    return {key: value for key, value in chosen.thresholds if key.startswith(COLUMNS_PREFIX) == is_of_columns}


def rule_names(recipe: Any) -> list[str]:
    """Return the names of the rules in a recipe of `process` or `judge`, in their order."""
    return [str(rule["rule"]) for rule in recipe["filters"]["rules"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRule:
    """A rule of a user, of which a report knows what it decided and not how."""

    name: str


def rules_in(recipe: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the rules of a recipe of `process` or `judge` with its thresholds, without importing users' rules."""
    from thresher.filters.rules.chosen_rules import RULES
    from thresher.filters.rules.presets import preset_rules
    from thresher.filters.signals.signal_rules import every_signal_rule
    from thresher.filters.thresholds import restored

    made = recipe["filters"]
    known: dict[str, Any] = {name: kind() for name, kind in RULES.items()}
    known |= {rule.name: rule for rule in preset_rules(made["preset"], tuple(made["languages"]))}
    known |= {rule.name: rule for rule in every_signal_rule()}
    found: list[Any] = []
    for entry in made["rules"]:
        rule = known.get(entry["rule"], StoredRule(name=entry["rule"]))
        found.append(restored(rule, entry))
    return tuple(found)
