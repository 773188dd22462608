"""`AnalyzedText`, a text split once for all rules, and the interface of a rule."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, cast

import numpy as np

from core import Edit
from filters import edits as text_edits
from filters import lexicon as columns
from filters.characters import is_word
from filters.lexicon import IntArray, Lexicon, current_lexicon
from filters.tokens.english_tokens import ENGLISH
from filters.tokens.token_scheme import TokenScheme, scheme_of
from filters.word_tokens import TOKENS_VERSION
from filters.words import WORDS_VERSION, spaced, words

ANALYSIS_VERSION = f"{TOKENS_VERSION} {WORDS_VERSION}"
"""Names how texts are split. It belongs in the recipe of every rule that counts tokens, words or sentences."""
PARAGRAPH_BREAK = re.compile(r"\n{2,}")
LINE_BREAK = re.compile(r"\n+")
MAX_NUMBERED = 1_000_000
"""Tokens of a text that get numbers, with which n-grams and stop words are counted; some 5 MB of English."""
PIECE = 1 << 20
"""Characters of a text that are split at a time."""
_SPACE = re.compile(r"\s")


MAX_PLAIN = 1 << 20
"""Characters of a piece of a text whose plain words are in memory together."""


@dataclass(frozen=True)
class AnalyzedText:
    """The text of a document as rules see it. Each part is computed on first access."""

    text: str
    language: str
    """ISO 639 code; empty if unknown."""
    language_score: float
    language_share: float = 1.0
    """Share of the text that is in its language; 1.0 if it was not measured."""
    url: str = ""
    """Address of the document; empty if unknown."""
    license: str = ""
    """URL of the licence that the page's markup states, or empty."""

    def edited(self, edits: Sequence[Edit]) -> "AnalyzedText":
        """Return the edited text, in the same language. Raise `ValueError` if the edits do not fit the text."""
        last = self.__dict__.get("_last_edited")
        if last is not None and last[0] == edits:
            return cast("AnalyzedText", last[1])  # a rule that looks at its own edits, and then the next rule
        made = replace(self, text=text_edits.apply(self.text, edits))
        if "_counts" in self.__dict__ and all(self._is_space(edit) for edit in edits):
            made.__dict__["_counts"] = self._counts  # the tokens are the same
        self.__dict__["_last_edited"] = (edits, made)
        return made

    @cached_property
    def tokens(self) -> list[str]:
        """Words and symbols in order, as `filters.word_tokens` splits them."""
        lexicon = self._counts.lexicon
        numbers = (lexicon.tokens(lexicon.rows(lexicon.numbers(_runs(piece)))) for piece in pieces(self.text))
        return [text for some in numbers for text in lexicon.token_texts(some)]

    @cached_property
    def words(self) -> list[str]:
        """Tokens in order, without those that are only punctuation."""
        return list(filter(is_word, self.tokens))

    def plain_words(self) -> Iterable[list[str]]:
        """Return words in order and in lower case, as `filters.words` splits them. A long text is split piece by piece,
        so that its words are never in memory together.
        """
        return (self._plain_words,) if len(self.text) <= MAX_PLAIN else self._plain_pieces()

    @cached_property
    def _plain_words(self) -> list[str]:
        return words(self.text.lower())

    def _plain_pieces(self) -> Iterator[list[str]]:
        start = 0
        while start < len(self.text):
            end = start + MAX_PLAIN
            # A word that lies across the end of a piece belongs to the next one, unless it is endless.
            space = self.text.rfind(" ", start + MAX_PLAIN // 2, end) if end < len(self.text) else -1
            end = end if space < 0 else space
            yield words(self.text[start:end].lower())
            start = end

    @property
    def token_count(self) -> int:
        """Number of tokens."""
        return self._counts.totals[columns.TOKENS]

    @property
    def word_count(self) -> int:
        """Number of words."""
        return self._counts.totals[columns.WORDS]

    @property
    def word_characters(self) -> int:
        """Number of characters in words."""
        return self._counts.totals[columns.CHARACTERS]

    @property
    def tokens_with_letter(self) -> int:
        """Number of tokens that have a letter."""
        return self._counts.totals[columns.LETTERS]

    @property
    def first_tokens(self) -> IntArray:
        """A number for each of the first `MAX_NUMBERED` tokens; equal tokens have equal numbers. Numbers of different
        texts say nothing of each other.
        """
        return self._counts.first_tokens

    @property
    def first_token_lengths(self) -> IntArray:
        """The number of characters of each of the first `MAX_NUMBERED` tokens."""
        return self._counts.lexicon.lengths(self.first_tokens)

    def count_distinct(self, words: Iterable[str]) -> int:
        """Return how many of `words` occur among the first `MAX_NUMBERED` tokens."""
        numbers = [self._counts.lexicon.token_number(word) for word in words]
        return sum(bool((self.first_tokens == number).any()) for number in numbers if number >= 0)

    @cached_property
    def sentences(self) -> int:
        """Number of sentences. One begins with a line that is not blank, and with the first token behind a mark that
        ends a sentence (`characters.SENTENCE_TERMINALS`) that is no punctuation.
        """
        count, has_ended = len(self.lines), False
        lexicon = current_lexicon(self._scheme)
        for piece in pieces(self.text):
            rows = self._counts.only_rows
            if rows is None:
                rows = lexicon.rows(lexicon.numbers(_runs(piece)))
            lines = (piece if piece.isascii() else spaced(piece)).split("\n")
            lengths = list(map(len, map(str.split, lines)))
            is_first = np.zeros(len(rows) + 1, dtype=bool)
            is_first[np.cumsum(lengths[:-1], dtype=np.int64)] = True
            starts, has_ended = columns.sentence_starts(rows, is_first[:-1], has_ended=has_ended)
            has_ended &= len(lines) == 1 or lengths[-1] > 0  # else the next token begins a line
            count += starts
        return count

    @cached_property
    def is_spaced(self) -> bool:
        """Whether at least half of the words belong to scripts that put spaces between words.

        In other scripts a character counts as a word, so limits on the length of words and lines do not apply.
        """
        return self.text.isascii() or 2 * self._counts.totals[columns.UNSPACED] <= self.word_count

    @cached_property
    def lines(self) -> list[str]:
        """Lines that are not blank."""
        return [line for line in self.text.split("\n") if line and not line.isspace()]

    @cached_property
    def paragraphs(self) -> list[str]:
        """Parts that blank lines separate."""
        return [part for part in PARAGRAPH_BREAK.split(self.text.strip()) if part.strip()]

    def runs(self) -> Iterator[str]:
        """Yield the runs of characters without white space, in order."""
        return chain.from_iterable(piece.split() for piece in pieces(self.text))

    @property
    def _scheme(self) -> TokenScheme:
        return ENGLISH if self.language in {"en", ""} else scheme_of(self.language)

    @cached_property
    def _counts(self) -> "_Counts":
        lexicon = first = current_lexicon(self._scheme)
        totals = np.zeros(len(columns.COLUMNS), dtype=np.int64)
        tokens: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        numbered = 0
        parts = pieces(self.text)
        for piece in parts:
            if numbered >= MAX_NUMBERED:
                lexicon = current_lexicon(self._scheme)  # another one if the first is full
            rows = lexicon.rows(lexicon.numbers(_runs(piece)))
            totals += rows.sum(axis=0)
            if numbered < MAX_NUMBERED:
                tokens.append(lexicon.tokens(rows))
                numbered += len(tokens[-1])
        return _Counts(
            lexicon=first,
            totals=totals.tolist(),
            first_tokens=tokens[1] if len(tokens) == 2 else np.concatenate(tokens)[:MAX_NUMBERED],
            only_rows=rows if len(parts) == 1 else None,
        )

    def _is_space(self, edit: Edit) -> bool:
        """Return whether an edit changes nothing but white space between words."""
        return edit.replacement.isspace() and self.text[edit.start : edit.end].isspace()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """What a pass over a text counts."""

    lexicon: Lexicon
    totals: list[int]
    """Sums of `lexicon.COLUMNS`."""
    first_tokens: IntArray
    only_rows: IntArray | None
    """The rows of all runs; None if the text has more than one piece."""


def _runs(text: str) -> list[str]:
    return text.split() if text.isascii() else spaced(text).split()


def pieces(text: str) -> list[str]:
    """Return a long text in pieces, cut behind white space. A piece is longer than `PIECE` only if it has no white
    space behind that.
    """
    if len(text) <= PIECE:
        return [text]
    parts, start = [], 0
    while start < len(text):
        found = _SPACE.search(text, min(start + PIECE, len(text)))
        end = found.end() if found else len(text)
        parts.append(text[start:end])
        start = end
    return parts


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
