"""The rules that FineWeb added (Penedo et al. 2024, arXiv:2406.17557, section 3.6)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from filters.rules.c4 import STOPS
from filters.text import Finding, Text
from filters.words import WORDS

TERMINAL = (".", "'", '"', "!", "?", "”", "’", "…", *STOPS)
STOPLESS = frozenset({"th", "lo"})
"""Languages that end a sentence with a space (their sentence ends are not asked for)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FineWeb:
    """FineWeb's own rules. The limit of repeated lines is the paper's (.1), not the code's default (.01).

    The length of a line means nothing where words are written without spaces, and its end nothing in `STOPLESS`.
    """

    fewest_ended_lines: float = 0.12
    most_short_lines: float = 0.67
    short_line: int = 30
    most_repeated_characters: float = 0.1
    most_lines_per_word: float = 0.3

    name: ClassVar[str] = "fineweb"
    measures: ClassVar[tuple[str, ...]] = (
        "ended_lines",
        "short_lines",
        "repeated_characters",
        "lines_per_word",
    )

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter."""
        return {**asdict(self), "words": WORDS}

    def __call__(self, text: Text) -> Finding:
        """Measure everything, name the first limit that is broken."""
        lines = text.lines
        count = max(len(lines), 1)
        seen: set[str] = set()
        repeated = 0
        for line in lines:
            repeated += len(line) if line in seen else 0
            seen.add(line)
        measured = {
            "ended_lines": sum(line.rstrip().endswith(TERMINAL) for line in lines) / count,
            "short_lines": sum(len(line) <= self.short_line for line in lines) / count,
            "repeated_characters": repeated / max(len(text.text.replace("\n", "")), 1),
            "lines_per_word": text.text.count("\n") / max(len(text.tokens), 1),
        }
        limits = (
            (
                text.language not in STOPLESS and measured["ended_lines"] <= self.fewest_ended_lines,
                "too_few_ended_lines",
            ),
            (text.spaced and measured["short_lines"] >= self.most_short_lines, "too_many_short_lines"),
            (measured["repeated_characters"] >= self.most_repeated_characters, "repeated_lines"),
            (measured["lines_per_word"] > self.most_lines_per_word, "too_many_lines"),
        )
        return Finding(
            measurements=measured, reason=next((reason for broken, reason in limits if broken), None)
        )
