"""Measure a score with a fastText classifier, and drop documents by it: quality, as in DCLM, and toxicity.

DCLM trains on instruction data and keeps the tenth with the best scores (Li et al. 2024, arXiv:2406.11794, section
4.4); Dolma removes toxic text with fastText classifiers trained on Jigsaw (Soldaini et al. 2024, arXiv:2402.00159,
section 5.3). No model is part of Thresher: the user names a file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thresher.filters.signals.fasttext_file import MAX_CHARACTERS
from thresher.filters.text import AnalyzedText, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierRule:
    """Keep documents whose score of `label` is at least `least` and at most `most`."""

    name: str
    model: str
    """Name of the stored model, which has its digest."""
    label: str
    least: float = 0.0
    most: float = 1.0
    classifier: Callable[[str], Callable[[str, str], float]] = field(repr=False, compare=False)
    """Returns the classifier of a stored model."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The score."""
        return (f"{self.name}_score",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Model, label and limits."""
        return {
            "model": self.model,
            "label": self.label,
            "least": self.least,
            "most": self.most,
            "characters": MAX_CHARACTERS,
        }

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure the score."""
        score = self.classifier(self.model)(text.text, self.label)
        reason = (
            f"low_{self.name}" if score < self.least else f"high_{self.name}" if score > self.most else None
        )
        return Finding(measurements={f"{self.name}_score": score}, reason=reason)
