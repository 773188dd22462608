"""`Text`, read once for all rules, and what a rule is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from filters.words import is_unspaced, is_word, tokens

PARAGRAPH_BREAK = re.compile(r"\n{2,}")
LINE_BREAK = re.compile(r"\n+")


@dataclass(frozen=True)
class AnalyzedText:
    """A document's text as rules see it. Parts are computed when first asked for."""

    text: str
    language: str
    """ISO 639 code, or empty."""
    language_score: float

    @cached_property
    def tokens(self) -> list[str]:
        """Words and symbols in order."""
        return tokens(self.text)

    @cached_property
    def words(self) -> list[str]:
        """Words in order, symbols left out."""
        return [token for token in self.tokens if is_word(token)]

    @cached_property
    def is_spaced(self) -> bool:
        """Whether words are mostly written with spaces between them.

        Where they are not, a character is a word, and limits on the length of words and lines mean nothing.
        """
        return 2 * sum(map(is_unspaced, self.words)) <= len(self.words) if not self.text.isascii() else True

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

    def __call__(self, text: AnalyzedText) -> Finding:
        """Look at a text."""
        ...

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        ...
