"""RefinedWeb's corrections of lines (Penedo et al. 2023, arXiv:2306.01116, section G.2), as DCLM rebuilt them.

Lines go that are mostly capitals, only digits, a counter of a social network (`3 likes`), or one word. In lines of at
most 10 words, "items in cart", "Read more..." at the end and "Sign-in" at the start go. A page that loses more than
5 % of its words is dropped.

Source: mlfoundations/dclm, baselines_configs/dclm_baseline_refinedweb.yaml and mappers/modifiers.py. As there, "more
than half" is meant (the paper gives no number for capitals), and any three characters may stand for the dots behind
"Read more". Words are those of `filters.rules.dclm_words`.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from thresher.core import Edit
from thresher.core.unicode14 import original
from thresher.filters.edits import keeping, stripped
from thresher.filters.rules.dclm_words import DCLM_WORDS_VERSION, word_count
from thresher.filters.text import ANALYSIS_VERSION, AnalyzedText, Finding

COUNTERS = (
    *("likes", "shares", "comments", "retweets", "reposts", "quotes", "bookmarks", "upvotes", "downvotes"),
    *("downloads", "views", "followers"),
)
_COUNTER = re.compile(rf"\W*\d[\d.,]*[kmb]?\s+(?:{'|'.join(COUNTERS)})\W*", re.IGNORECASE)
_PHRASES = (
    re.compile(r"\s?items in cart", re.IGNORECASE),
    re.compile(r"\s?read more...\Z", re.IGNORECASE),
    re.compile(r"\Asign-in\s?", re.IGNORECASE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinedWebLines:
    """Remove and correct lines, and drop pages that lose too much."""

    most_capitals: float = 0.5
    """Share of the characters of a line that may be capitals."""
    most_digits: float = 0.999999
    """Share of the characters of a line that may be digits."""
    fewest_words_a_line: int = 2
    phrase_line: int = 10
    """Words of a line from which phrases go, at most."""
    most_removed_words: float = 0.05

    name: ClassVar[str] = "refinedweb_lines"
    measures: ClassVar[tuple[str, ...]] = ("refinedweb_removed_words",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        return {**asdict(self), "analysis": ANALYSIS_VERSION, "words": DCLM_WORDS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Edit the lines, and measure how many of the words are gone."""
        kept: list[tuple[int, int]] = []
        corrections: list[Edit] = []
        start = 0
        for line in text.known.split("\n"):
            end = start + len(line)
            corrected = self._corrected(line)
            if corrected is not None:
                kept.append((start, end))
                if corrected != line:
                    corrections.append(Edit(start, end, original(corrected)))
            start = end + 1
        edits = stripped(text.text, tuple(sorted((*keeping(text.text, kept, "\n"), *corrections))))
        words = word_count(text)
        left = word_count(text.edited(edits)) if edits else words
        removed = (words - left) / words if words else 0.0
        reason = "too_many_lines_removed" if removed > self.most_removed_words else None
        return Finding(measurements={"refinedweb_removed_words": removed}, reason=reason, edits=edits)

    def _corrected(self, line: str) -> str | None:
        """Return the line without phrases; None if the whole line goes. Blank lines stay."""
        words = len(line.split(None, self.phrase_line + 1))
        if not line or self._is_clutter(line, words):
            return None if line else line
        if words > self.phrase_line:
            return line
        corrected = line
        for phrase in _PHRASES:
            corrected = phrase.sub("", corrected)
            if not corrected or corrected.isspace():
                return None
        return corrected

    def _is_clutter(self, line: str, words: int) -> bool:
        return (
            words < self.fewest_words_a_line
            or sum(map(str.isupper, line)) > self.most_capitals * len(line)
            or sum(map(str.isdigit, line)) > self.most_digits * len(line)
            or _COUNTER.fullmatch(line) is not None
        )
