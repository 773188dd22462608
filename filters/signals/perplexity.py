"""Measure the perplexity of a text under an n-gram model (KenLM), and keep documents by it, as CCNet does.

CCNet (Wenzek et al. 2020, arXiv:1911.00359, section 3.3) trains 5-gram models on Wikipedia, computes the perplexity of
each paragraph of the web, and splits every language in three equal parts; its code averages over the lines of a
document. As in its code, text is in lower case, and digits become 0. Unlike it, words are Thresher's own and no
SentencePiece units, punctuation is left out, and accents stay: a model of CCNet is not what this rule expects.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from filters.signals.fasttext_file import MAX_CHARACTERS
from filters.text import AnalyzedText, Finding
from filters.words import WORDS_VERSION, words

MAX_PERPLEXITY = 1e9
"""What is reported of a text that the model has never seen anything of."""
_DIGIT = re.compile(r"\d")


def model_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text as a model reads them: words in lower case, digits as 0, spaces between."""
    for line in text[:MAX_CHARACTERS].splitlines():
        if found := words(_DIGIT.sub("0", line.lower())):
            yield " ".join(found)


def perplexity(score: Callable[[str], float], text: str) -> float:
    """Return the perplexity of a text; 0 if it has no words. `score` returns the log10 probability of a line."""
    total, count = 0.0, 0
    for line in model_lines(text):
        total += score(line)
        count += line.count(" ") + 2  # the end of the line is an event too
    return min(10 ** min(-total / count, 9.0), MAX_PERPLEXITY) if count else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PerplexityRule:
    """Keep documents whose perplexity is at least `least` and at most `most`."""

    model: str
    """Name of the stored model, which has its digest."""
    least: float = 0.0
    most: float = MAX_PERPLEXITY
    scorer: Callable[[str], Callable[[str], float]] = field(repr=False, compare=False)
    """Returns the scoring function of a stored model."""

    name: ClassVar[str] = "perplexity"
    measures: ClassVar[tuple[str, ...]] = ("perplexity",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Model and limits."""
        return {"model": self.model, "least": self.least, "most": self.most, "words": WORDS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure the perplexity."""
        measured = perplexity(self.scorer(self.model), text.text)
        reason = (
            "low_perplexity" if measured < self.least else "high_perplexity" if measured > self.most else None
        )
        return Finding(measurements={"perplexity": measured}, reason=reason)
