"""`Length`: limits on characters, words and tokens of a text."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from thresher.filters.text import ANALYSIS_VERSION, AnalyzedText, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Drop texts that are too short or too long. Dolma 3 asks for 150 characters; a maximum of 0 is none."""

    fewest_characters: int = 150
    most_characters: int = 0
    fewest_words: int = 0
    most_words: int = 0

    name: ClassVar[str] = "length"
    measures: ClassVar[tuple[str, ...]] = ("characters", "length_words")

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        return {**asdict(self), "analysis": ANALYSIS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure characters and words, and drop the document for the first exceeded limit."""
        characters, words = len(text.text), text.word_count
        limits = (
            (characters < self.fewest_characters, "too_few_characters"),
            (0 < self.most_characters < characters, "too_many_characters"),
            (words < self.fewest_words, "too_few_words"),
            (0 < self.most_words < words, "too_many_words"),
        )
        return Finding(
            measurements={"characters": float(characters), "length_words": float(words)},
            reason=next((reason for broken, reason in limits if broken), None),
        )
