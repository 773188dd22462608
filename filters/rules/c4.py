"""The rules of C4 (Raffel et al. 2020, section 2.2) that decide on whole documents, as datatrove applies them.

C4 also removes lines from a text. Here a document is kept or dropped unchanged. Its sentences are counted in the lines
that C4 would have kept, and a phrase drops a page only if it stands in a line that C4 would have checked. Sentence ends
are Thresher's own (`SENTENCE_END`); a line without one is one sentence. The words of a line are counted by spaces and
by `words`, and the larger number counts, because not every script has spaces.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from filters.text import AnalyzedText, Finding
from filters.words import WORDS_VERSION, words

NON_LATIN_TERMINALS = "。！？｡．।॥؟۔።፧။។៕։།"
"""Full stops, question and exclamation marks of scripts other than Latin (Unicode Sentence_Terminal)."""
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
# The quantifiers are possessive, and a match starts only at the start of a run of marks: time is linear in any line.
SENTENCE_END = re.compile(rf"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s|$)|[{NON_LATIN_TERMINALS}]++")


@dataclass(frozen=True, slots=True, kw_only=True)
class C4:
    """C4's document rules. If `terminal` is set, only lines that end a sentence count; C4 did so, FineWeb does not."""

    terminal: bool = True
    fewest_sentences: int = 5
    fewest_words_a_line: int = 3
    longest_word: int = 1000

    name: ClassVar[str] = "c4"
    measures: ClassVar[tuple[str, ...]] = ("sentences",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter that can change a verdict."""
        return {**asdict(self), "words": WORDS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Count the sentences, and drop the document for the first of C4's reasons."""
        sentences = 0
        for raw_line in text.lines:
            line = raw_line.strip()
            parts = line.split()
            if max(map(len, parts)) > self.longest_word and text.is_spaced:
                continue
            line = CITATION.sub("", line)
            if self.terminal and (not line.endswith(TERMINAL_MARKS) or line.endswith("...")):
                continue
            if len(parts) < self.fewest_words_a_line and len(words(line)) < self.fewest_words_a_line:
                continue
            lower = line.lower()
            if "lorem ipsum" in lower:
                return Finding(measurements={}, reason="lorem_ipsum")
            if "javascript" in lower:
                continue
            if "{" in line:
                return Finding(measurements={}, reason="curly_bracket")
            if any(phrase in lower for phrase in POLICY):
                continue
            sentences += max(1, len(SENTENCE_END.findall(line)))
        reason = "too_few_sentences" if sentences < self.fewest_sentences else None
        return Finding(measurements={"sentences": float(sentences)}, reason=reason)
