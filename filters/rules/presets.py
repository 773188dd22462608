"""The presets: named lists of rules, in the order in which they are applied. The rule on languages comes first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thresher.core import InputError
from thresher.filters.models.language import LanguageModel, language_rule, model_recipe
from thresher.filters.rules.c4 import C4
from thresher.filters.rules.chosen_rules import chosen_rules
from thresher.filters.rules.dclm import DclmQuality, DclmRepetition
from thresher.filters.rules.dclm_urls import DclmUrls
from thresher.filters.rules.fineweb import FineWeb
from thresher.filters.rules.fineweb2 import fineweb2_rules
from thresher.filters.rules.gopher import GopherQuality, GopherRepetition
from thresher.filters.rules.refinedweb import RefinedWebLines
from thresher.filters.text import Rule

DCLM: tuple[Rule, ...] = (DclmUrls(), DclmQuality(), DclmRepetition(), RefinedWebLines())
PRESETS: Mapping[str, tuple[Rule, ...]] = {
    "none": (),
    "gopher": (GopherRepetition(), GopherQuality()),
    "c4": (C4(),),
    # datatrove's order for FineWeb; C4 without the rule of terminal punctuation.
    "fineweb": (GopherRepetition(), GopherQuality(), C4(terminal=False), FineWeb()),
    "fineweb2": fineweb2_rules(),
    # DCLM's rules for both: it rebuilt RefinedWeb. They differ in what is not part of a preset (blocked domains, the
    # classifier).
    "refinedweb": DCLM,
    "dclm": DCLM,
}
RESERVED_NAMES = ("archive", "early", "extract", "rights", "screen", "dedup")
"""Names that stand in the place of a rule for records that other stages drop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageOptions:
    """How languages are recognised and judged."""

    model: LanguageModel = "ensemble"
    thresholds: tuple[tuple[str, float], ...] = ()
    """Minimum scores in place of the model's own."""


def preset_rules(
    preset: str,
    languages: Sequence[str],
    own: Sequence[str] = (),
    language: LanguageOptions = LanguageOptions(),
) -> tuple[Rule, ...]:
    """Return the rule on languages, then the rules of a preset and those of `own`, the entries of `filters.rules`.

    If `languages` is empty, there is no rule on languages. Raise `InputError` if the preset or a language is not known,
    or if `chosen_rules` refuses an entry.
    """
    if preset not in PRESETS:
        raise InputError(f"filters.preset = {preset!r} is not known; use one of {', '.join(PRESETS)}")
    first: tuple[Rule, ...] = (
        (language_rule(tuple(languages), language.thresholds, language.model),) if languages else ()
    )
    # In an English dataset, the rule on English stop words applies even if the language was not recognised.
    english = tuple(languages) == ("en",)
    adapted = (
        replace(rule, unknown_is_english=english) if isinstance(rule, GopherQuality) else rule
        for rule in PRESETS[preset]
    )
    rules = (*first, *adapted)
    return chosen_rules(rules, own, RESERVED_NAMES)


def preset_recipe(
    preset: str,
    languages: Sequence[str],
    own: Sequence[str] = (),
    language: LanguageOptions = LanguageOptions(),
) -> dict[str, Any]:
    """Return every rule of a preset with all its parameters, and the language model, for fingerprints."""
    return {
        "preset": preset,
        "languages": list(languages),
        "language": model_recipe(language.model),
        "rules": [
            {"rule": rule.name, **rule.recipe} for rule in preset_rules(preset, languages, own, language)
        ],
    }


def measurement_names(rules: Sequence[Rule]) -> list[str]:
    """Return the names of all measurements of `rules`, sorted."""
    return sorted({name for rule in rules for name in rule.measures})
