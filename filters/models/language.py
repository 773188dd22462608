"""Recognise the language of a text, and the rule that uses it.

`ensemble` decides from three models (`language_ensemble`). `lid.176` is fastText's model alone (Joulin et al. 2016), as
FineWeb uses it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from thresher.filters.models.language_ensemble import decide
from thresher.filters.models.language_thresholds import default_threshold, require_language, require_languages
from thresher.filters.models.language_votes import clean, lid176, lid176_vote, model_versions
from thresher.filters.text import AnalyzedText, Finding

LanguageModel = Literal["ensemble", "lid.176"]
LOOKED_AT = 5000
"""Characters that `lid.176` alone reads: its time grows with them, and more characters do not improve it."""
LID176_THRESHOLD = 0.65
"""Minimum score of a language for `lid.176`, as in FineWeb (arXiv:2406.17557, section 3.1)."""
MIN_SHARE = 0.65
"""Minimum share of a text that is in its language. Of texts of 4,000 characters in one language, none has less; of
those with two languages in equal parts, 8 to 10 of 10 have less (`bench/filters/languages.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguagePrediction:
    """The code of a language (ISO 639-1, else 639-3; empty if unknown), and how sure the model is."""

    code: str
    score: float
    """Probability that the text is in this language, or in one that is decided together with it
    (`language_codes.GROUPS`). `lid.176` gives its own score."""
    share: float = 1.0
    """Share of the text that is in this language or its group; 1.0 if it was not measured."""


Recogniser = Callable[[str], LanguagePrediction]


def load_language_model(model: LanguageModel = "ensemble") -> Recogniser:
    """Load a model and return a deterministic function that recognises the language of a text.

    The time of the function does not grow with the text. Raise `Unavailable` if a package with a model is missing.
    """
    lid176()
    return _recognise if model == "ensemble" else _recognise_by_lid176


def model_recipe(model: LanguageModel) -> dict[str, Any]:
    """Return what the answers of a model depend on, for fingerprints."""
    return {"model": model, "packages": model_versions()}


def _recognise(text: str) -> LanguagePrediction:
    code, score, share = decide(text)
    return LanguagePrediction(code=code, score=score, share=share)


def _recognise_by_lid176(text: str) -> LanguagePrediction:
    vote = lid176_vote(clean(text[:LOOKED_AT]))
    code = max(vote, key=lambda code: vote[code], default="")
    return LanguagePrediction(code=code, score=min(vote.get(code, 0.0), 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRule:
    """Keep texts in one of `languages` whose score reaches the threshold of that language."""

    languages: tuple[str, ...]
    thresholds: tuple[tuple[str, float], ...]
    """The minimum score of each of `languages`."""
    min_share: float = MIN_SHARE
    name: ClassVar[str] = "language"
    measures: ClassVar[tuple[str, ...]] = ("language_score", "language_share")

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Languages, thresholds and minimum share."""
        return {
            "languages": list(self.languages),
            "thresholds": dict(self.thresholds),
            "min_share": self.min_share,
        }

    def __call__(self, text: AnalyzedText) -> Finding:
        """Drop a text as `other_language`; as `unsure` if it is a wanted language with too low a score; as `mixed` if
        too small a share of it is in its language.
        """
        reason = None
        if text.language not in self.languages:
            reason = "other_language"
        elif text.language_score < dict(self.thresholds)[text.language]:
            reason = "unsure"
        elif text.language_share < self.min_share:
            reason = "mixed"
        measurements = {"language_score": text.language_score, "language_share": text.language_share}
        return Finding(measurements=measurements, reason=reason)


def language_rule(
    languages: tuple[str, ...],
    thresholds: tuple[tuple[str, float], ...] = (),
    model: LanguageModel = "ensemble",
) -> LanguageRule:
    """Return the rule that keeps `languages`, with `thresholds` in place of the defaults of the model.

    Raise `InputError` if a code is not that of a language that can be recognised.
    """
    wanted = require_languages(languages, "filters.languages")
    own = {require_language(code, "filters.language_thresholds"): score for code, score in thresholds}
    default = default_threshold if model == "ensemble" else _lid176_threshold
    return LanguageRule(
        languages=wanted, thresholds=tuple((code, own.get(code, default(code))) for code in wanted)
    )


def _lid176_threshold(_: str) -> float:
    return LID176_THRESHOLD
