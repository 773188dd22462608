"""`AnalyzedText`, a text split once for all rules, and the interface of a rule."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from operator import add
from typing import Any, Protocol, cast

import numpy as np

from thresher.core import Edit
from thresher.core.unicode14 import known
from thresher.filters import edits as text_edits
from thresher.filters import lexicon as columns
from thresher.filters.characters import is_word
from thresher.filters.lexicon import IntArray, Lexicon, current_lexicon
from thresher.filters.tokens.english_tokens import ENGLISH
from thresher.filters.tokens.token_scheme import TokenScheme, scheme_of
from thresher.filters.word_tokens import TOKENS_VERSION
from thresher.filters.words import WORDS_VERSION, spaced, words

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
    columns: Mapping[str, object] = field(default_factory=dict)
    """Columns of the input that the document came with: those that a rule names in its attribute `columns`. A column
    that the document lacks is not among them.
    """

    @cached_property
    def known(self) -> str:
        """The text as `core.unicode14.known` returns it, for what depends on letters, digits or case. Its places are
        those of `text`.
        """
        return known(self.text)

    def edited(self, edits: Sequence[Edit]) -> "AnalyzedText":
        """Return the edited text, in the same language. Raise `ValueError` if the edits do not fit the text."""
        last = self.__dict__.get("_last_edited")
        if last is not None and last[0] == edits:
            return cast("AnalyzedText", last[1])  # a rule that looks at its own edits, and then the next rule
        made = replace(self, text=text_edits.apply(self.text, edits))
        if self.__dict__.get("known") is self.text and all(edit.replacement.isascii() for edit in edits):
            made.__dict__["known"] = made.text  # no character was added
        if "_counts" in self.__dict__:
            made.__dict__["_counts_before"] = self._counts
        self.__dict__["_last_edited"] = (edits, made)
        return made

    @cached_property
    def tokens(self) -> list[str]:
        """Words and symbols in order, as `filters.word_tokens` splits them."""
        lexicon = self._counts.lexicon
        numbers = (
            lexicon.tokens(lexicon.rows(lexicon.numbers(_spaced(piece).split())))
            for piece in pieces(self.known)
        )
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
        return words(self.known.lower())

    def _plain_pieces(self) -> Iterator[list[str]]:
        text, start = self.known, 0
        while start < len(text):
            end = start + MAX_PLAIN
            # A word that lies across the end of a piece belongs to the next one, unless it is endless.
            space = text.rfind(" ", start + MAX_PLAIN // 2, end) if end < len(text) else -1
            end = end if space < 0 else space
            yield words(text[start:end].lower())
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
        is_one = self.first_tokens == np.array(numbers, dtype=np.int64)[:, None]
        return int(is_one.any(axis=1).sum())

    @cached_property
    def sentences(self) -> int:
        """Number of sentences. One begins with a line that is not blank, and with the first token behind a mark that
        ends a sentence (`characters.SENTENCE_TERMINALS`) that is no punctuation.
        """
        count, has_ended = len(self.lines), False
        for rows, lengths in self._rows_by_line():
            is_first = np.zeros(len(rows) + 1, dtype=bool)
            is_first[np.cumsum(lengths[:-1], dtype=np.int64)] = True
            starts, has_ended = columns.sentence_starts(rows, is_first[:-1], has_ended=has_ended)
            has_ended &= len(lengths) == 1 or lengths[-1] > 0  # else the next token begins a line
            count += starts
        return count

    def _rows_by_line(self) -> Iterator[tuple[IntArray, Sequence[int]]]:
        """Yield for each piece the rows of its runs, and the number of runs in each of its lines."""
        known = self._counts.lines
        if known is not None:
            yield known.rows, known.lengths
            return
        lexicon = current_lexicon(self._scheme)
        for piece in pieces(self.known):
            runs = list(map(str.split, _spaced(piece).split("\n")))
            yield lexicon.rows(lexicon.numbers(list(chain.from_iterable(runs)))), list(map(len, runs))

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
        if len(self.text) > PIECE:
            return self._counts_by_piece()
        before: _Counts | None = self.__dict__.get("_counts_before")
        if before is not None and before.lines is not None:
            lines = before.lines.those_of(self.known)
            if lines is not None:
                return _Counts(lexicon=before.lexicon, totals=_totals(lines.rows), lines=lines)
        lexicon = current_lexicon(self._scheme)
        lines = _Lines.of(self.known, lexicon)
        return _Counts(lexicon=lexicon, totals=_totals(lines.rows), lines=lines)

    def _counts_by_piece(self) -> "_Counts":
        lexicon = first = current_lexicon(self._scheme)
        totals = [0] * len(columns.COLUMNS)
        numbered: list[IntArray] = []
        for piece in pieces(self.known):
            is_numbered = sum(map(len, numbered)) >= MAX_NUMBERED
            if is_numbered:
                lexicon = current_lexicon(self._scheme)  # another one if the first is full
            rows = lexicon.rows(lexicon.numbers(_spaced(piece).split()))
            totals = list(map(add, totals, _totals(rows)))
            if not is_numbered:
                numbered.append(lexicon.tokens(rows))
        return _Counts(lexicon=first, totals=totals, numbered=np.concatenate(numbered)[:MAX_NUMBERED])


@dataclass(frozen=True, kw_only=True)
class _Lines:
    """The rows of all runs of a text, and how they lie in its lines."""

    text: str
    rows: IntArray
    lengths: list[int]
    """Runs of each line."""

    @classmethod
    def of(cls, text: str, lexicon: Lexicon) -> "_Lines":
        """Look up every run of a text."""
        runs = list(map(str.split, _spaced(text).split("\n")))
        rows = lexicon.rows(lexicon.numbers(list(chain.from_iterable(runs))))
        return cls(text=text, rows=rows, lengths=list(map(len, runs)))

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """First run and number of runs of each line, by the line without white space around it."""
        firsts = accumulate(self.lengths, initial=0)
        lines = map(str.strip, self.text.split("\n"))
        return dict(zip(lines, zip(firsts, self.lengths, strict=False), strict=True))

    def those_of(self, text: str) -> "_Lines | None":
        """Return the lines of another text without looking up its runs; None if a line of it is not among these."""
        try:
            found = list(map(self._places.__getitem__, map(str.strip, text.split("\n"))))
        except KeyError:
            return None
        firsts, lengths = map(list, zip(*found, strict=True))
        ends = np.array(lengths).cumsum()
        places = (firsts - ends + lengths).repeat(lengths) + np.arange(ends[-1])
        return _Lines(text=text, rows=self.rows.take(places, axis=0), lengths=lengths)


@dataclass(frozen=True, kw_only=True)
class _Counts:
    """What a pass over a text counts."""

    lexicon: Lexicon
    totals: list[int]
    """Sums of `lexicon.COLUMNS`."""
    lines: _Lines | None = None
    """None if the text has more than one piece."""
    numbered: IntArray | None = None
    """The first tokens of a text without `lines`."""

    @cached_property
    def first_tokens(self) -> IntArray:
        """The numbers of the first `MAX_NUMBERED` tokens."""
        if self.lines is not None:
            return self.lexicon.tokens(self.lines.rows)[:MAX_NUMBERED]
        assert self.numbered is not None
        return self.numbered


def _totals(rows: IntArray) -> list[int]:
    """Return the sum of each column, three times as fast as `rows.sum(axis=0)`, which adds row by row."""
    return cast("list[int]", np.einsum("ij->j", rows).tolist())


def _spaced(text: str) -> str:
    return text if text.isascii() else spaced(text)


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
