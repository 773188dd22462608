"""The rules of Gopher (Rae et al. 2021, table A1 and section A1.1), as datatrove applies them.

Tokens are those of `filters.word_tokens`. As in datatrove: symbols count as tokens in denominators and in n-grams,
but not in the number of words or their mean length; repeated n-grams count from their second occurrence on, relative
to the characters of the whole text; a most frequent n-gram counts even if it occurs once, which drops texts of a few
words; stop words are distinct and in lower case; bullets are `•` and `-`; blank lines count in the shares of lines.

Some limits do not apply to every language. The stop words are English. In scripts without spaces a character counts
as a word: the length of a word then says nothing, and an n-gram takes two characters for each word.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, ClassVar

from thresher.filters.ngrams import (
    REPEATED_LENGTHS,
    TOP_LENGTHS,
    RepeatedNgrams,
    repeated_ngrams,
    require_lengths,
)
from thresher.filters.text import (
    ANALYSIS_VERSION,
    LINE_BREAK,
    MAX_NUMBERED,
    PARAGRAPH_BREAK,
    AnalyzedText,
    Finding,
)

STOP_WORDS = frozenset({"the", "be", "to", "of", "and", "that", "have", "with"})
BULLETS = ("•", "-")
ELLIPSES = ("...", "…")
CHARACTERS_PER_WORD = 2
"""Characters that stand for one word in scripts without spaces: the mean is about 1.6 in Chinese, 2 in Japanese, more
in Thai.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GopherQuality:
    """Gopher's quality heuristics. Ratios are relative to words or to lines."""

    fewest_words: int = 50
    most_words: int = 100_000
    shortest_mean: float = 3.0
    longest_mean: float = 10.0
    most_symbols: float = 0.1
    most_bullets: float = 0.9
    most_ellipses: float = 0.3
    fewest_with_letter: float = 0.8
    fewest_stop_words: int = 2
    """Minimum number of distinct stop words; applies to texts in `stop_words_language` only."""
    stop_words: tuple[str, ...] = tuple(sorted(STOP_WORDS))
    stop_words_language: str = "en"
    unknown_is_english: bool = False
    """Whether the rule on stop words also applies to texts of unknown language."""

    name: ClassVar[str] = "gopher_quality"
    measures: ClassVar[tuple[str, ...]] = (
        "words",
        "mean_word_length",
        "hashes_per_word",
        "ellipses_per_word",
        "bullet_lines",
        "ellipsis_lines",
        "words_with_letter",
        "stop_words",
    )

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter."""
        return {**asdict(self), "stop_words": list(self.stop_words), "analysis": ANALYSIS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure everything, and drop the document for the first exceeded limit."""
        count, lines = text.word_count, text.text.splitlines()
        per_token, per_line = 1 / max(text.token_count, 1), 1 / max(len(lines), 1)
        measured = {
            "words": float(count),
            "mean_word_length": text.word_characters / max(count, 1),
            "hashes_per_word": text.text.count("#") * per_token,
            "ellipses_per_word": sum(map(text.text.count, ELLIPSES)) * per_token,
            "bullet_lines": sum(line.lstrip().startswith(BULLETS) for line in lines) * per_line,
            "ellipsis_lines": sum(line.rstrip().endswith(ELLIPSES) for line in lines) * per_line,
            "words_with_letter": text.tokens_with_letter / max(text.token_count, 1),
            "stop_words": float(text.count_distinct(self.stop_words)),
        }
        has_stop_words = text.language == self.stop_words_language or (
            self.unknown_is_english and not text.language
        )
        limits = (
            (count < self.fewest_words, "too_few_words"),
            (count > self.most_words, "too_many_words"),
            (text.is_spaced and measured["mean_word_length"] < self.shortest_mean, "short_words"),
            (text.is_spaced and measured["mean_word_length"] > self.longest_mean, "long_words"),
            (measured["hashes_per_word"] > self.most_symbols, "too_many_hashes"),
            (measured["ellipses_per_word"] > self.most_symbols, "too_many_ellipses"),
            (measured["bullet_lines"] > self.most_bullets, "too_many_bullets"),
            (measured["ellipsis_lines"] > self.most_ellipses, "too_many_cut_lines"),
            (measured["words_with_letter"] < self.fewest_with_letter, "too_few_letters"),
            (has_stop_words and measured["stop_words"] < self.fewest_stop_words, "too_few_stop_words"),
        )
        return Finding(
            measurements=measured, reason=next((reason for broken, reason in limits if broken), None)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GopherRepetition:
    """Gopher's repetition heuristics: the share of a text that occurs more than once."""

    lines: float = 0.30
    paragraphs: float = 0.30
    line_characters: float = 0.20
    paragraph_characters: float = 0.20
    top: tuple[tuple[int, float], ...] = ((2, 0.20), (3, 0.18), (4, 0.16))
    """Largest share of characters in the most frequent n-gram, by n."""
    repeated: tuple[tuple[int, float], ...] = (
        (5, 0.15),
        (6, 0.14),
        (7, 0.13),
        (8, 0.12),
        (9, 0.11),
        (10, 0.10),
    )
    """Largest share of characters in all n-grams that occurred before, by n."""

    name: ClassVar[str] = "gopher_repetition"
    measures: ClassVar[tuple[str, ...]] = (
        "repeated_lines",
        "repeated_paragraphs",
        "repeated_line_characters",
        "repeated_paragraph_characters",
        *(f"top_{n}_gram_characters" for n in TOP_LENGTHS),
        *(f"repeated_{n}_gram_characters" for n in REPEATED_LENGTHS),
    )

    def __post_init__(self) -> None:
        """Raise `ValueError` if a limit is for a length that is not measured."""
        require_lengths(self.top, self.repeated)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter."""
        top, repeated = ([list(pair) for pair in pairs] for pairs in (self.top, self.repeated))
        return {**asdict(self), "top": top, "repeated": repeated, "analysis": ANALYSIS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure until a limit is exceeded. Cheap measurements come first."""
        if not text.text:
            return Finding(measurements={}, reason="empty")
        size = len(text.text)
        measured: dict[str, float] = {}
        for what, units, most, most_characters in (
            (
                "paragraph",
                PARAGRAPH_BREAK.split(text.text.strip()),
                self.paragraphs,
                self.paragraph_characters,
            ),
            ("line", LINE_BREAK.split(text.text), self.lines, self.line_characters),
        ):
            count, characters = count_repeated(units)
            measured[f"repeated_{what}s"] = count / max(len(units), 1)
            measured[f"repeated_{what}_characters"] = characters / size
            if measured[f"repeated_{what}s"] > most:
                return Finding(measurements=measured, reason=f"repeated_{what}s")
            if measured[f"repeated_{what}_characters"] > most_characters:
                return Finding(measurements=measured, reason=f"repeated_{what}_characters")
        # Of a text with more tokens, the characters up to the last of them count.
        numbered = size * min(MAX_NUMBERED / max(text.token_count, 1), 1.0)
        for (n, most), found in self._repeats(text):
            top = n in TOP_LENGTHS
            name = f"top_{n}_gram" if top else f"repeated_{n}_gram"
            characters = found.top_characters() if top else found.repeated_characters()
            measured[f"{name}_characters"] = characters / numbered
            if measured[f"{name}_characters"] > most:
                return Finding(measurements=measured, reason=name if top else f"{name}s")
        return Finding(measurements=measured, reason=None)

    def _repeats(self, text: AnalyzedText) -> Iterator[tuple[tuple[int, float], RepeatedNgrams]]:
        """Yield each limit on n-grams with the repeated n-grams that it applies to."""
        step = 1 if text.is_spaced else CHARACTERS_PER_WORD
        limits = dict((*self.top, *self.repeated))
        every = repeated_ngrams(text.first_tokens, text.first_token_lengths)
        last = step * max(limits, default=1) - 1
        for n, found in enumerate(islice(every, 2 * step - 2, max(last, 2 * step - 2), step), 2):
            if n in limits:
                yield (n, limits[n]), found


def count_repeated(units: Sequence[str]) -> tuple[int, int]:
    """Return the number of units that occurred before, and their characters."""
    seen = set(units)
    if len(seen) == len(units):
        return 0, 0
    return len(units) - len(seen), sum(map(len, units)) - sum(map(len, seen))
