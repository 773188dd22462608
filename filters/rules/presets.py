"""The named lists of rules, in the order in which they are asked. Cheap ones and the language come first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core import InputError
from filters.models.language import LanguageRule
from filters.rules.c4 import C4
from filters.rules.fineweb import FineWeb
from filters.rules.gopher import GopherQuality, GopherRepetition
from filters.rules.own_rules import own_rules
from filters.text import Rule

PRESETS: Mapping[str, tuple[Rule, ...]] = {
    "none": (),
    "gopher": (GopherRepetition(), GopherQuality()),
    "c4": (C4(),),
    # datatrove's order for FineWeb; C4 without the rule of terminal punctuation.
    "fineweb": (GopherRepetition(), GopherQuality(), C4(terminal=False), FineWeb()),
}


RESERVED_NAMES = ("archive", "early", "extract", "rights", "dedup")
"""What stands in the place of a rule for the records that other stages drop."""


def preset_rules(preset: str, languages: Sequence[str], own: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Return the rule of languages (none if all are kept), the rules of a preset, and behind them users' `own`.

    Raise `InputError` for an unknown preset and for what `own_rules` refuses.
    """
    if preset not in PRESETS:
        raise InputError(f"filters.preset = {preset!r} is not known; use one of {', '.join(PRESETS)}")
    first: tuple[Rule, ...] = (LanguageRule(languages=tuple(languages)),) if languages else ()
    # What enters an English data set may be asked for English stop words even if nobody recognised it.
    english = tuple(languages) == ("en",)
    asked = (
        replace(rule, unknown_is_english=english) if isinstance(rule, GopherQuality) else rule
        for rule in PRESETS[preset]
    )
    rules = (*first, *asked)
    return (*rules, *own_rules(own, (*RESERVED_NAMES, *(rule.name for rule in rules))))


def preset_recipe(preset: str, languages: Sequence[str], own: Sequence[str] = ()) -> dict[str, Any]:
    """Every rule and parameter, for fingerprints."""
    return {
        "preset": preset,
        "languages": list(languages),
        "rules": [{"rule": rule.name, **rule.recipe} for rule in preset_rules(preset, languages, own)],
    }


def measurement_names(rules: Sequence[Rule]) -> list[str]:
    """Names of everything that some rules measure, sorted."""
    return sorted({name for rule in rules for name in rule.measures})
