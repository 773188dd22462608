"""The rules that FineWeb added (Penedo et al. 2024, arXiv:2406.17557, section 3.6)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from thresher.filters.characters import SENTENCE_TERMINALS
from thresher.filters.rules.gopher import count_repeated
from thresher.filters.text import ANALYSIS_VERSION, AnalyzedText, Finding

TERMINAL_MARKS = (*sorted(SENTENCE_TERMINALS), "།")
"""Unicode's marks that end a sentence, without quotation marks, as in datatrove since its version 0.3; and the Tibetan
shad.
"""
UNPUNCTUATED_LANGUAGES = frozenset({"th", "lo"})
"""Languages that end a sentence with a space; lines of such texts need no punctuation at their end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FineWeb:
    """FineWeb's own rules, as in datatrove's code, which made FineWeb.

    The paper states 0.1 as the limit of repeated characters, the code 0.01; FineWeb-2 returned to 0.1. The paper
    includes the limits ("at most 0.12"), the code does not. The rule on short lines does not apply to scripts without
    spaces, the rule on line ends not to `UNPUNCTUATED_LANGUAGES`.
    """

    fewest_ended_lines: float = 0.12
    most_short_lines: float = 0.67
    short_line: int = 30
    most_repeated_characters: float = 0.01
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
        """Every parameter that can change a verdict."""
        return {**asdict(self), "analysis": ANALYSIS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure everything, and drop the document for the first exceeded limit."""
        lines = text.lines
        count = max(len(lines), 1)
        breaks = text.text.count("\n")
        measured = {
            "ended_lines": sum(line.endswith(TERMINAL_MARKS) for line in lines) / count,
            "short_lines": sum(len(line) <= self.short_line for line in lines) / count,
            "repeated_characters": count_repeated(lines)[1] / max(len(text.text) - breaks, 1),
            "lines_per_word": breaks / max(text.token_count, 1),
        }
        limits = (
            (not lines, "empty"),
            (
                text.language not in UNPUNCTUATED_LANGUAGES
                and measured["ended_lines"] < self.fewest_ended_lines,
                "too_few_ended_lines",
            ),
            (text.is_spaced and measured["short_lines"] > self.most_short_lines, "too_many_short_lines"),
            (measured["repeated_characters"] > self.most_repeated_characters, "repeated_lines"),
            (measured["lines_per_word"] > self.most_lines_per_word, "too_many_lines"),
        )
        return Finding(
            measurements=measured, reason=next((reason for broken, reason in limits if broken), None)
        )
