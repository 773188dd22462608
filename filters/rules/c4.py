"""The rules of C4 (Raffel et al. 2020, section 2.2), as datatrove applies them. They edit the text: lines go.

Order for each line: a line with a word of more than 1,000 characters goes; citations (`[12]`, `[edit]`) go; a line
without a mark that ends a sentence goes (`terminal`), and so does a line of fewer than 3 words. "lorem ipsum" drops the
page; a line that names JavaScript goes; a `{` drops the page; a line with a phrase of policies goes. A page with fewer
than 5 sentences in what is left is dropped. The lines that are left are stripped, with one line break between them.

Differences from the paper and from its code (tensorflow_datasets, c4_utils.py), which are datatrove's: a phrase drops a
page only in a line that got so far. Not in datatrove: the marks of other scripts (`NON_LATIN_TERMINALS`) end a line
too, and in scripts without spaces each character is a word, and a run of characters may be as long as it likes. The
list of bad words is a rule of its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import merge
from typing import Any, ClassVar

from thresher.core import Edit
from thresher.filters.edits import keeping, stripped
from thresher.filters.text import ANALYSIS_VERSION, AnalyzedText, Finding
from thresher.filters.words import spaced

NON_LATIN_TERMINALS = "。！？｡．।॥؟۔።፧။៕։།"
"""Full stops, question and exclamation marks of scripts other than Latin (Unicode Sentence_Terminal), and the Tibetan
shad.
"""
TERMINAL_MARKS = (".", "?", "!", '"', "'", *NON_LATIN_TERMINALS)
"""C4's marks and `NON_LATIN_TERMINALS`, because pages in other scripts do not have C4's marks."""
POLICY = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)
CITATION = re.compile(r"\[\d*\]|\[edit\]|\[citation needed\]")
_LINE = re.compile(r"[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
"""Lines as `str.splitlines` has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class C4:
    """C4's rules. If `terminal` is set, lines that do not end a sentence go; C4 did so, FineWeb does not."""

    terminal: bool = True
    fewest_sentences: int = 5
    fewest_words_a_line: int = 3
    longest_word: int = 1000

    name: ClassVar[str] = "c4"
    measures: ClassVar[tuple[str, ...]] = ("sentences", "c4_removed_lines")

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        return {**asdict(self), "analysis": ANALYSIS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Choose the lines that stay, count their sentences, and drop the document for the first of C4's reasons."""
        found = self._kept_lines(text)
        if isinstance(found, str):
            return Finding(measurements={}, reason=found)
        kept, count = found
        edits = stripped(text.text, tuple(_edits(text.known, kept)))
        edited = text.edited(edits)
        sentences = edited.sentences
        return Finding(
            measurements={
                "sentences": float(sentences),
                "c4_removed_lines": (count - len(kept)) / max(count, 1),
            },
            reason="too_few_sentences" if sentences < self.fewest_sentences else None,
            edits=edits,
        )

    def _kept_lines(self, text: AnalyzedText) -> tuple[list[tuple[int, int]], int] | str:
        """Return the places of the lines that stay, stripped, and the number of lines that are not blank; or the
        reason to drop the page.
        """
        lower = text.text.lower()
        has_phrases = "{" in lower or "lorem ipsum" in lower or "javascript" in lower
        has_phrases = has_phrases or any(phrase in lower for phrase in POLICY)
        kept: list[tuple[int, int]] = []
        count = 0
        for found in _LINE.finditer(text.known):
            raw = found[0]
            stripped = raw.strip()
            if not stripped:
                continue
            count += 1
            if self._is_short(stripped) or self._has_long_word(stripped, text):
                continue
            line = CITATION.sub("", stripped) if "[" in stripped else stripped
            if self.terminal and (not line.endswith(TERMINAL_MARKS) or line.endswith("...")):
                continue
            if has_phrases:
                reason, goes = _phrases(line)
                if reason:
                    return reason
                if goes:
                    continue
            start = found.start() + raw.index(stripped)
            kept.append((start, start + len(stripped)))
        return kept, count

    def _is_short(self, line: str) -> bool:
        """Return whether a line has too few words. In scripts without spaces, each character is a word."""
        fewest = self.fewest_words_a_line
        if len(line.split(None, fewest - 1)) >= fewest:
            return False
        return line.isascii() or len(spaced(line).split(None, fewest - 1)) < fewest

    def _has_long_word(self, line: str, text: AnalyzedText) -> bool:
        if len(line) <= self.longest_word:
            return False
        # A word is tried at its start alone, so time is linear in the line.
        return re.search(rf"(?<!\S)\S{{{self.longest_word + 1}}}", line) is not None and text.is_spaced


def _phrases(line: str) -> tuple[str, bool]:
    """Return the reason to drop a page, if a line has one, and whether the line goes."""
    lower = line.lower()
    if "lorem ipsum" in lower:
        return "lorem_ipsum", False
    if "javascript" in lower:
        return "", True
    if "{" in line:
        return "curly_bracket", False
    return "", any(phrase in lower for phrase in POLICY)


def _edits(text: str, kept: Sequence[tuple[int, int]]) -> Iterator[Edit]:
    """Yield the edits that leave the kept lines without citations, with a line break between them."""
    citations = (
        Edit(*found.span())
        for start, end in kept
        if "[" in text
        for found in CITATION.finditer(text, start, end)
    )
    return merge(keeping(text, kept, "\n"), citations)
