"""`AnalyzedText`, a text split once for all rules, and the interface of a rule."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from core import Edit
from filters import edits as text_edits
from filters.words import is_unspaced, is_word, tokens

PARAGRAPH_BREAK = re.compile(r"\n{2,}")
LINE_BREAK = re.compile(r"\n+")


@dataclass(frozen=True)
class AnalyzedText:
    """The text of a document as rules see it. Each part is computed on first access."""

    text: str
    language: str
    """ISO 639 code; empty if unknown."""
    language_score: float
    license: str = ""
    """URL of the licence that the page's markup states, or empty."""

    def edited(self, edits: Sequence[Edit]) -> "AnalyzedText":
        """Return the edited text, in the same language. Raise `ValueError` if the edits do not fit the text."""
        return AnalyzedText(
            text=text_edits.apply(self.text, edits),
            language=self.language,
            language_score=self.language_score,
            license=self.license,
        )

    @cached_property
    def tokens(self) -> list[str]:
        """Words and symbols, in order."""
        return tokens(self.text)

    @cached_property
    def words(self) -> list[str]:
        """Words in order, without symbols."""
        return [token for token in self.tokens if is_word(token)]

    @cached_property
    def is_spaced(self) -> bool:
        """Whether at least half of the words belong to scripts that put spaces between words.

        In other scripts a character counts as a word, so limits on the length of words and lines do not apply.
        """
        return self.text.isascii() or 2 * sum(map(is_unspaced, self.words)) <= len(self.words)

    @cached_property
    def lines(self) -> list[str]:
        """Lines that are not blank."""
        return [line for line in LINE_BREAK.split(self.text.strip()) if line.strip()]

    @cached_property
    def paragraphs(self) -> list[str]:
        """Parts that blank lines separate."""
        return [part for part in PARAGRAPH_BREAK.split(self.text.strip()) if part.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of a rule."""

    measurements: Mapping[str, float]
    reason: str | None
    """Reason code if the rule drops the document; None if it does not."""
    edits: tuple[Edit, ...] = ()
    """How the rule changes the text that it was given, in order and without overlaps; later rules see the edited
    text."""


class Rule(Protocol):
    """A pure function of a text; its dataclass fields are its parameters."""

    @property
    def name(self) -> str:
        """The rule's name in verdicts and reports."""
        ...

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the rule's measurements."""
        ...

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure a text, and decide whether the document is dropped."""
        ...

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        ...
