"""The rules of C4 (Raffel et al. 2020, section 2.2) that judge a document.

C4 also takes lines out of a text. Here a document is kept or dropped as it is: its sentences are counted over the
lines that C4 would have left.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from filters.rules import WORD, WORDS, Finding, Text

TERMINAL = (".", "?", "!", '"', "'")
POLICY = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)
# Possessive, and begun only where a run of marks begins: linear in the line, whatever it is made of.
SENTENCE_END = re.compile(r"(?<![.!?。！？])[.!?。！？]++[\"'”’)\]]*+(?=\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class C4:
    """C4's document rules; `terminal` counts only lines that end a sentence, as C4 did and FineWeb does not."""

    terminal: bool = True
    fewest_sentences: int = 5
    fewest_words_a_line: int = 3
    longest_word: int = 1000

    name: ClassVar[str] = "c4"
    measures: ClassVar[tuple[str, ...]] = ("sentences",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter."""
        return {**asdict(self), "words": WORDS}

    def __call__(self, text: Text) -> Finding:
        """Dropped for what C4 drops a page for."""
        lower = text.text.lower()
        if "lorem ipsum" in lower:
            return Finding(measurements={}, reason="lorem_ipsum")
        if "{" in text.text:
            return Finding(measurements={}, reason="curly_bracket")
        sentences = sum(_sentences(line) for line in text.lines if self._stays(line))
        reason = "too_few_sentences" if sentences < self.fewest_sentences else None
        return Finding(measurements={"sentences": float(sentences)}, reason=reason)

    def _stays(self, line: str) -> bool:
        line = line.strip()
        if self.terminal and (not line.endswith(TERMINAL) or line.endswith("...")):
            return False
        lower = line.lower()
        if "javascript" in lower or any(phrase in lower for phrase in POLICY):
            return False
        words = WORD.findall(line)
        return len(words) >= self.fewest_words_a_line and max(map(len, words)) <= self.longest_word


def _sentences(line: str) -> int:
    return max(1, len(SENTENCE_END.findall(line)))
