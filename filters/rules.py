"""`Text`, read once for all rules, and what a rule is.

Words are runs of letters and digits, with apostrophes, dots and hyphens inside them; of scripts that are written
without spaces each character is a word. Punctuation is no word. Counts by other tools' tokenizers differ by some
per cent; `WORDS` names ours in every recipe.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

WORDS = "letters-and-digits@1"
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['’.\-][^\W_{UNSPACED}]+)*")
PARAGRAPH_BREAK = re.compile(r"\n{2,}")
LINE_BREAK = re.compile(r"\n+")


@dataclass(frozen=True)
class Text:
    """A document's text as rules see it. Parts are computed when first asked for."""

    text: str
    language: str
    """ISO 639 code, or empty."""
    language_score: float

    @cached_property
    def words(self) -> list[str]:
        """Words in order."""
        return WORD.findall(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """Lines that hold anything."""
        return [line for line in LINE_BREAK.split(self.text.strip()) if line.strip()]

    @cached_property
    def paragraphs(self) -> list[str]:
        """What blank lines divide."""
        return [part for part in PARAGRAPH_BREAK.split(self.text.strip()) if part.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found."""

    measurements: Mapping[str, float]
    reason: str | None
    """Reason code for dropping the document, or None."""


class Rule(Protocol):
    """A pure function of a text; its dataclass fields are its parameters."""

    @property
    def name(self) -> str:
        """Name in verdicts and reports."""
        ...

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of its measurements."""
        ...

    def __call__(self, text: Text) -> Finding:
        """Look at a text."""
        ...

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        ...
