"""The rules of Gopher (Rae et al. 2021, table A1 and section A1.1), as datatrove applies them.

Where implementations differ: words are ours (`rules.WORDS`); bullets are `•` and `-`; a most frequent n-gram that
occurs once is not repetition; characters of n-grams are counted without the spaces between words.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from filters.rules import WORDS, Finding, Text

STOP_WORDS = frozenset({"the", "be", "to", "of", "and", "that", "have", "with"})
BULLETS = ("•", "-")
ELLIPSES = ("...", "…")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Gopher's quality heuristics. Ratios are of words or of lines."""

    fewest_words: int = 50
    most_words: int = 100_000
    shortest_mean: float = 3.0
    longest_mean: float = 10.0
    most_symbols: float = 0.1
    most_bullets: float = 0.9
    most_ellipses: float = 0.3
    fewest_with_letter: float = 0.8
    fewest_stop_words: int = 2
    """Distinct ones; asked of English texts only."""

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
        return {**asdict(self), "words": WORDS}

    def __call__(self, text: Text) -> Finding:
        """Measure everything, name the first limit that is broken."""
        words, lines = text.words, text.lines
        count = len(words)
        per_word, per_line = 1 / max(count, 1), 1 / max(len(lines), 1)
        measured = {
            "words": float(count),
            "mean_word_length": sum(map(len, words)) * per_word,
            "hashes_per_word": text.text.count("#") * per_word,
            "ellipses_per_word": sum(map(text.text.count, ELLIPSES)) * per_word,
            "bullet_lines": sum(line.lstrip().startswith(BULLETS) for line in lines) * per_line,
            "ellipsis_lines": sum(line.rstrip().endswith(ELLIPSES) for line in lines) * per_line,
            "words_with_letter": sum(any(map(str.isalpha, word)) for word in words) * per_word,
            "stop_words": float(len(STOP_WORDS.intersection(words))),
        }
        limits = (
            (count < self.fewest_words, "too_few_words"),
            (count > self.most_words, "too_many_words"),
            (measured["mean_word_length"] < self.shortest_mean, "short_words"),
            (measured["mean_word_length"] > self.longest_mean, "long_words"),
            (measured["hashes_per_word"] > self.most_symbols, "too_many_hashes"),
            (measured["ellipses_per_word"] > self.most_symbols, "too_many_ellipses"),
            (measured["bullet_lines"] > self.most_bullets, "too_many_bullets"),
            (measured["ellipsis_lines"] > self.most_ellipses, "too_many_cut_lines"),
            (measured["words_with_letter"] < self.fewest_with_letter, "too_few_letters"),
            (text.language == "en" and measured["stop_words"] < self.fewest_stop_words, "too_few_stop_words"),
        )
        return Finding(
            measurements=measured, reason=next((reason for broken, reason in limits if broken), None)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """Gopher's repetition heuristics: how much of a text is there more than once."""

    lines: float = 0.30
    paragraphs: float = 0.30
    line_characters: float = 0.20
    paragraph_characters: float = 0.20
    top: tuple[tuple[int, float], ...] = ((2, 0.20), (3, 0.18), (4, 0.16))
    """Characters of the most frequent n-gram, by n."""
    repeated: tuple[tuple[int, float], ...] = (
        (5, 0.15),
        (6, 0.14),
        (7, 0.13),
        (8, 0.12),
        (9, 0.11),
        (10, 0.10),
    )
    """Characters of all n-grams that were there before, by n."""

    name: ClassVar[str] = "gopher_repetition"
    measures: ClassVar[tuple[str, ...]] = (
        "repeated_lines",
        "repeated_paragraphs",
        "repeated_line_characters",
        "repeated_paragraph_characters",
        *(f"top_{n}_gram_characters" for n in (2, 3, 4)),
        *(f"repeated_{n}_gram_characters" for n in (5, 6, 7, 8, 9, 10)),
    )

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter."""
        top, repeated = ([list(pair) for pair in pairs] for pairs in (self.top, self.repeated))
        return {**asdict(self), "top": top, "repeated": repeated, "words": WORDS}

    def __call__(self, text: Text) -> Finding:
        """Measure until a limit is broken; the later measurements are the dearer ones."""
        size = max(len(text.text), 1)
        measured: dict[str, float] = {}
        for what, units, most, most_characters in (
            ("paragraph", text.paragraphs, self.paragraphs, self.paragraph_characters),
            ("line", text.lines, self.lines, self.line_characters),
        ):
            count, characters = _repeated_units(units)
            measured[f"repeated_{what}s"] = count / max(len(units), 1)
            measured[f"repeated_{what}_characters"] = characters / size
            if measured[f"repeated_{what}s"] > most:
                return Finding(measurements=measured, reason=f"repeated_{what}s")
            if measured[f"repeated_{what}_characters"] > most_characters:
                return Finding(measurements=measured, reason=f"repeated_{what}_characters")
        for n, most in self.top:
            name = f"top_{n}_gram_characters"
            measured[name] = _top_characters(text.words, n) / size
            if measured[name] > most:
                return Finding(measurements=measured, reason=f"top_{n}_gram")
        for n, most in self.repeated:
            name = f"repeated_{n}_gram_characters"
            measured[name] = _repeated_characters(text.words, n) / size
            if measured[name] > most:
                return Finding(measurements=measured, reason=f"repeated_{n}_grams")
        return Finding(measurements=measured, reason=None)


def _repeated_units(units: Sequence[str]) -> tuple[int, int]:
    """How many units were there before, and their characters."""
    seen: set[str] = set()
    count = characters = 0
    for unit in units:
        if unit in seen:
            count += 1
            characters += len(unit)
        seen.add(unit)
    return count, characters


def _top_characters(words: Sequence[str], n: int) -> int:
    grams = Counter(zip(*(words[start:] for start in range(n)), strict=False))
    if not grams:
        return 0
    most = max(grams.values())
    if most == 1:
        return 0
    # Among equally frequent ones the longest: not the one that happens to stand first.
    return max(sum(map(len, gram)) for gram, count in grams.items() if count == most) * most


def _repeated_characters(words: Sequence[str], n: int) -> int:
    grams = list(zip(*(words[start:] for start in range(n)), strict=False))
    if len(set(grams)) == len(grams):
        return 0
    seen: set[tuple[str, ...]] = set()
    characters = place = 0
    while place < len(grams):
        gram = grams[place]
        if gram in seen:
            characters += sum(map(len, gram))
            place += n
        else:
            seen.add(gram)
            place += 1
    return characters
