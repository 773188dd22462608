"""The heuristics of DCLM-Baseline (Li et al. 2024, arXiv:2406.11794, section 4 and appendix), which rebuild
RefinedWeb's reading of Gopher's rules.

Source: mlfoundations/dclm, baselines_configs/dclm_baseline_refinedweb.yaml and mappers/filters/content_filters.py.
The thresholds are Gopher's, but not what is measured (datatrove's reading is `rules.gopher`): mean length, symbols,
letters and stop words look at runs of characters without white space; the symbols are counted together; `*` and `●`
are bullets too; stop words count each time, in any case; repeated units count with their first occurrence, relative
to their own characters; n-grams are those of words without punctuation; of several most frequent n-grams the longest
counts; and a text in which no n-gram occurs twice passes. Words are those of `filters.rules.dclm_words`.

Unlike there, other languages than English need no stop words; and in scripts without spaces the words that are counted
are those of `filters.word_tokens`, and have any length.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, ClassVar

from thresher.filters.characters import has_letter
from thresher.filters.ngrams import REPEATED_LENGTHS, TOP_LENGTHS, repeated_ngrams, require_lengths
from thresher.filters.rules.dclm_words import DCLM_WORDS_VERSION, numbered_words, word_count
from thresher.filters.rules.gopher import STOP_WORDS
from thresher.filters.text import ANALYSIS_VERSION, AnalyzedText, Finding, pieces

SYMBOLS = ("#", "...", ". . .", "…")
BULLETS = ("●", "•", "*", "-")
ELLIPSES = ("...", ". . .", "…")


@dataclass(frozen=True, slots=True, kw_only=True)
class DclmQuality:
    """Length, words, symbols, bullets, letters and stop words. The stop words are English."""

    fewest_words: int = 50
    most_words: int = 100_000
    shortest_mean: float = 3.0
    longest_mean: float = 10.0
    most_symbols: float = 0.1
    most_bullets: float = 0.9
    most_ellipses: float = 0.3
    most_without_letter: float = 0.2
    fewest_stop_words: int = 2

    name: ClassVar[str] = "dclm_quality"
    measures: ClassVar[tuple[str, ...]] = (
        "dclm_words",
        "dclm_mean_word_length",
        "dclm_symbols_per_word",
        "dclm_bullet_lines",
        "dclm_ellipsis_lines",
        "dclm_words_without_letter",
        "dclm_stop_words",
    )

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        return {**asdict(self), "analysis": ANALYSIS_VERSION, "words": DCLM_WORDS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure everything, and drop the document for the first exceeded limit."""
        runs = characters = with_letter = stop_words = 0
        for piece in pieces(text.known):
            found = piece.split()
            runs += len(found)
            characters += sum(map(len, found))
            with_letter += sum(map(has_letter, found))
            stop_words += sum(map(STOP_WORDS.__contains__, map(str.lower, found)))
        lines = list(map(str.strip, text.lines))
        run_count, line_count = max(runs, 1), max(len(lines), 1)
        measured = {
            "dclm_words": float(word_count(text)),
            "dclm_mean_word_length": characters / run_count,
            "dclm_symbols_per_word": sum(map(text.text.count, SYMBOLS)) / run_count,
            "dclm_bullet_lines": sum(line.startswith(BULLETS) for line in lines) / line_count,
            "dclm_ellipsis_lines": sum(line.endswith(ELLIPSES) for line in lines) / line_count,
            "dclm_words_without_letter": (runs - with_letter) / run_count,
            "dclm_stop_words": float(stop_words),
        }
        is_short = measured["dclm_mean_word_length"] < self.shortest_mean
        is_long = measured["dclm_mean_word_length"] > self.longest_mean
        limits = (
            (measured["dclm_words"] < self.fewest_words, "too_few_words"),
            (measured["dclm_words"] > self.most_words, "too_many_words"),
            (text.is_spaced and is_short, "short_words"),
            (text.is_spaced and is_long, "long_words"),
            (measured["dclm_symbols_per_word"] > self.most_symbols, "too_many_symbols"),
            (measured["dclm_bullet_lines"] > self.most_bullets, "too_many_bullets"),
            (measured["dclm_ellipsis_lines"] > self.most_ellipses, "too_many_cut_lines"),
            (measured["dclm_words_without_letter"] > self.most_without_letter, "too_few_letters"),
            (text.language == "en" and stop_words < self.fewest_stop_words, "too_few_stop_words"),
        )
        return Finding(
            measurements=measured, reason=next((reason for broken, reason in limits if broken), None)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DclmRepetition:
    """The share of a text that occurs more than once, the first occurrence included."""

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
    """Largest share of characters in words of repeated n-grams, by n."""

    name: ClassVar[str] = "dclm_repetition"
    measures: ClassVar[tuple[str, ...]] = (
        "dclm_repeated_lines",
        "dclm_repeated_paragraphs",
        "dclm_repeated_line_characters",
        "dclm_repeated_paragraph_characters",
        *(f"dclm_top_{n}_gram_characters" for n in TOP_LENGTHS),
        *(f"dclm_repeated_{n}_gram_characters" for n in REPEATED_LENGTHS),
    )

    def __post_init__(self) -> None:
        """Raise `ValueError` if a limit is for a length that is not measured."""
        require_lengths(self.top, self.repeated)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        top, repeated = ([list(pair) for pair in pairs] for pairs in (self.top, self.repeated))
        return {**asdict(self), "top": top, "repeated": repeated, "words": DCLM_WORDS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure everything, and drop the document for the first exceeded limit."""
        lines = list(map(str.strip, text.lines))
        if not lines:
            return Finding(measurements={}, reason="empty")
        paragraphs = [part for each in text.text.split("\n\n") if (part := each.strip())]
        limits: list[tuple[str, float, str]] = []
        measured: dict[str, float] = {}
        for what, units, most, most_characters in (
            ("line", lines, self.lines, self.line_characters),
            ("paragraph", paragraphs, self.paragraphs, self.paragraph_characters),
        ):
            shares = _repeated_shares(units)
            names = (f"dclm_repeated_{what}s", f"dclm_repeated_{what}_characters")
            measured |= dict(zip(names, shares, strict=True))
            limits += zip(
                names, (most, most_characters), (name.removeprefix("dclm_") for name in names), strict=True
            )
        words, lengths = numbered_words(text.known)
        total = max(int(lengths.sum()), 1)
        tops, wanted = dict(self.top), dict((*self.top, *self.repeated))
        for found in islice(repeated_ngrams(words, lengths), max(wanted, default=1) - 1):
            if found.n not in wanted:
                continue
            kind, plural = ("top", "") if found.n in tops else ("repeated", "s")
            name = f"dclm_{kind}_{found.n}_gram_characters"
            characters = found.longest_top_characters() if found.n in tops else found.covered_characters()
            measured[name] = characters / total
            limits.append((name, wanted[found.n], f"{kind}_{found.n}_gram{plural}"))
        reason = next((reason for name, most, reason in limits if measured[name] > most), None)
        return Finding(measurements=measured, reason=reason)


def _repeated_shares(units: Sequence[str]) -> tuple[float, float]:
    """Return the share of units that occur more than once, and that of their characters; 0 for a single unit."""
    if len(units) < 2 or len(set(units)) == len(units):
        return 0.0, 0.0
    counts = Counter(units)
    repeated = sum(count for count in counts.values() if count > 1)
    characters = sum(len(unit) * count for unit, count in counts.items() if count > 1)
    return repeated / len(units), characters / max(sum(map(len, units)), 1)
