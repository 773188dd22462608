"""FineWeb-2's rules (Penedo et al. 2025, arXiv:2506.20920): Gopher's and FineWeb's, with limits for each language.

`fineweb2_limits.json` holds the limits of 78 languages from huggingface/fineweb-2 (configs/*.yml, Apache-2.0) by ISO
639 code; a language with several scripts has those of its common one. As in its pipeline (fineweb-2-pipeline.py), only
repeated lines and n-grams count as repetition, short lines are no reason, and repeated characters may be a tenth.
Texts in other languages have Gopher's and FineWeb's limits for English, without stop words.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from thresher.filters.rules.fineweb import FineWeb
from thresher.filters.rules.gopher import GopherQuality, GopherRepetition
from thresher.filters.text import AnalyzedText, Finding, Rule

LIMITS = Path(__file__).with_name("fineweb2_limits.json")

BY_LANGUAGE = "by_language"
"""Key of the recipes of single languages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByLanguage:
    """A rule with limits of its own for some languages."""

    default: Rule
    by_language: Mapping[str, Rule]

    @property
    def name(self) -> str:
        """The name of the rule, whatever the language."""
        return self.default.name

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the rule's measurements."""
        return self.default.measures

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter of every language."""
        by_language = {code: dict(rule.recipe) for code, rule in self.by_language.items()}
        return {**self.default.recipe, BY_LANGUAGE: by_language}

    def each(self, change: Callable[[str, Rule], Rule]) -> "ByLanguage":
        """Return the rule with each of its rules changed by a function of language and rule; the language of the
        default is empty.
        """
        by_language = {code: change(code, rule) for code, rule in self.by_language.items()}
        return ByLanguage(default=change("", self.default), by_language=by_language)

    def __call__(self, text: AnalyzedText) -> Finding:
        """Apply the rule of the text's language."""
        return self.by_language.get(text.language, self.default)(text)


@cache
def fineweb2_rules() -> tuple[Rule, ...]:
    """Return the rules in FineWeb-2's order."""
    limits: dict[str, dict[str, Any]] = json.loads(LIMITS.read_bytes())
    repetition = GopherRepetition(paragraphs=1.0, paragraph_characters=1.0, line_characters=1.0)
    lines = FineWeb(most_short_lines=1.0, most_repeated_characters=0.1)
    quality = GopherQuality(fewest_stop_words=0)
    return (
        ByLanguage(
            default=repetition,
            by_language={
                code: replace(
                    repetition,
                    lines=each["lines"],
                    top=_pairs(each["top"]),
                    repeated=_pairs(each["repeated"]),
                )
                for code, each in limits.items()
            },
        ),
        ByLanguage(
            default=lines,
            by_language={
                code: replace(lines, fewest_ended_lines=each["ended"], most_lines_per_word=each["breaks"])
                for code, each in limits.items()
            },
        ),
        ByLanguage(
            default=quality,
            by_language={code: _quality(quality, code, each) for code, each in limits.items()},
        ),
    )


def _quality(quality: GopherQuality, code: str, limits: Mapping[str, Any]) -> GopherQuality:
    shortest, longest = limits["mean"]
    return replace(
        quality,
        shortest_mean=float(shortest),
        longest_mean=float(longest),
        fewest_with_letter=limits["letters"],
        fewest_stop_words=2,
        stop_words=tuple(limits["stop_words"]),
        stop_words_language=code,
    )


def _pairs(pairs: list[list[float]]) -> tuple[tuple[int, float], ...]:
    return tuple((int(n), most) for n, most in pairs)
