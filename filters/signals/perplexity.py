"""Measure the perplexity of a text under an n-gram model (KenLM), and keep documents by it, as CCNet does.

CCNet (Wenzek et al. 2020, arXiv:1911.00359, section 3.3) trains a SentencePiece model and a 5-gram model on Wikipedia
for each language, and splits the web by perplexity into head, middle and tail. `piece_perplexity` computes what its
code computes (facebookresearch/cc_net at bda555bd: mine.py, perplexity.py and text_normalizer.py), so CCNet's own
models and percentiles can be used. Its paper differs from its code: docs/guides/signals.md says where.

`perplexity` is for models over Thresher's own words: words in lower case, digits as 0, without punctuation.
"""

import csv
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from thresher.core.unicode14 import VERSION, category, known, original
from thresher.filters.signals.fasttext_file import MAX_CHARACTERS
from thresher.filters.signals.signal_settings import BucketEnds, PerplexityModel
from thresher.filters.text import AnalyzedText, Finding
from thresher.filters.words import WORDS_VERSION, words

MAX_PERPLEXITY = 1e9
"""What is reported of a text that the model has never seen anything of."""
HEAD, MIDDLE, TAIL = 1, 2, 3
"""Buckets as they are measured, from low perplexity to high."""
HEAD_PERCENTILE, MIDDLE_PERCENTILE = "30", "60"
"""Rows of a table of percentiles at which a bucket ends (CCNet's `PerplexityBucket`)."""
PIECES_VERSION = f"ccnet@1 {VERSION}"
"""Names how a text is normalized before it is split into pieces."""
_DIGIT = re.compile(r"\d")
_MARKS: dict[int, int | str] = {
    **str.maketrans("„”“«»「」《》´’，、∶：–━►。～％；？！（）〈〉【】", '"' * 9 + "'',,::---.~%;?!()<>[]"),
    ord("．"): ". ",
    ord("…"): "...",
    ord("—"): " - ",
}
"""Punctuation that CCNet replaces."""


class _Characters(dict[int, int | str | None]):
    """What becomes of each character, for `str.translate`. It keeps `MOST` of those that occurred."""

    MOST = 1 << 16

    def __missing__(self, code: int) -> int | str | None:
        found: int | str | None = _MARKS.get(code, code)
        kind = category(chr(code))
        if kind == "Nd":
            found = "0"
        elif kind in {"Mn", "Cc"}:  # marks without a width; control characters, line feeds among them
            found = None
        if len(self) < self.MOST:
            self[code] = found
        return found


_CHARACTERS = _Characters()


def normalized(text: str) -> str:
    """Return a text on one line as CCNet's models read it: in lower case, without accents, digits as 0, punctuation in
    few forms, without control characters. Lines are joined without a space between them.
    """
    return original(unicodedata.normalize("NFD", known(text).strip().lower()).translate(_CHARACTERS))


def piece_perplexity(
    score: Callable[[str], float], pieces: Callable[[str], list[str]], text: str
) -> float | None:
    """Return the perplexity of a text that `pieces` splits, to one decimal as CCNet; None if it has no pieces. `score`
    returns the log10 probability of a line.
    """
    line = " ".join(pieces(normalized(text[:MAX_CHARACTERS])))
    # Like CCNet: pieces with a space in them are several, and the end of the line is an event too.
    return round(_perplexity(score(line), len(line.split()) + 1), 1) if line else None


def piece_lines(text: str, pieces: Callable[[str], list[str]]) -> Iterator[str]:
    """Yield the lines of a text as a model over pieces is trained on them: spaces between pieces."""
    for line in normalized_lines(text):
        yield " ".join(pieces(line))


def normalized_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, each normalized, without empty ones."""
    yield from filter(None, map(normalized, text[:MAX_CHARACTERS].split("\n")))


def model_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text as a model reads them: words in lower case, digits as 0, spaces between."""
    for line in known(text[:MAX_CHARACTERS]).splitlines():
        if found := words(_DIGIT.sub("0", line.lower())):
            yield " ".join(found)


def perplexity(score: Callable[[str], float], text: str) -> float:
    """Return the perplexity of a text; 0 if it has no words. `score` returns the log10 probability of a line."""
    total, count = 0.0, 0
    for line in model_lines(text):
        total += score(line)
        count += line.count(" ") + 2  # the end of the line is an event too
    return _perplexity(total, count) if count else 0.0


def _perplexity(log: float, count: int) -> float:
    return min(math.pow(10.0, min(-log / count, 9.0)), MAX_PERPLEXITY)


def parse_cutoffs(lines: Iterable[str]) -> tuple[BucketEnds, ...]:
    """Return the ends of buckets by language from a table in the form of CCNet's cutoff.csv: a column for each language
    after the first, and a row for each percentile. Raise `ValueError` if it is no such table.
    """
    try:
        (_, *languages), *rows = csv.reader(lines)
        (head,), (middle,) = (
            [list(map(float, row[1:])) for row in rows if row[:1] == [percentile]]
            for percentile in (HEAD_PERCENTILE, MIDDLE_PERCENTILE)
        )
        ends = tuple(BucketEnds(*each) for each in zip(languages, head, middle, strict=True))
    except (ValueError, csv.Error):
        raise ValueError(
            "it needs a first line of languages, such as `,de,en`, and behind the percentiles 30 and 60 a number for"
            " each of them"
        ) from None
    if not ends or not all(languages):
        raise ValueError("it has no language, or a column without one")
    if twice := [each for each, count in Counter(languages).items() if count > 1]:
        raise ValueError(f"it has two columns of {twice[0]}")
    for each in ends:
        if not 0 <= each.head <= each.middle < math.inf:
            raise ValueError(f"{each.language}: {each.head:g} and {each.middle:g} do not ascend from 0")
    return ends


@dataclass(frozen=True, slots=True, kw_only=True)
class PerplexityRule:
    """Keep documents whose perplexity is at least `least` and at most `most`, in buckets up to `most_bucket`.

    A document in a language without a model is not measured, and one in a language without ends has no bucket.
    """

    models: tuple[PerplexityModel, ...]
    ends: tuple[BucketEnds, ...] = ()
    least: float = 0.0
    most: float = MAX_PERPLEXITY
    most_bucket: int = TAIL
    scorer: Callable[[str], Callable[[str], float]] = field(repr=False, compare=False)
    """Returns the scoring function of a stored model."""
    pieces: Callable[[str], Callable[[str], list[str]]] = field(repr=False, compare=False)
    """Returns the function that splits a line into the pieces of a stored model."""

    name: ClassVar[str] = "perplexity"
    measures: ClassVar[tuple[str, ...]] = ("perplexity", "perplexity_bucket")

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Models, ends of buckets and limits."""
        return {
            "models": [list(each) for each in self.models],
            "ends": [list(each) for each in self.ends],
            "least": self.least,
            "most": self.most,
            "most_bucket": self.most_bucket,
            "words": WORDS_VERSION,
            "pieces": PIECES_VERSION,
        }

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure the perplexity."""
        measured = self._perplexity(text)
        if measured is None:
            return Finding(measurements={}, reason=None)
        measurements, reason = {"perplexity": measured}, None
        if measured < self.least:
            reason = "low_perplexity"
        elif measured > self.most:
            reason = "high_perplexity"
        for _, *limits in (each for each in self.ends if each.language == text.language):
            bucket = HEAD + sum(measured >= limit for limit in limits)
            measurements["perplexity_bucket"] = bucket
            if bucket > self.most_bucket:
                reason = reason or "perplexity_bucket"
        return Finding(measurements=measurements, reason=reason)

    def _perplexity(self, text: AnalyzedText) -> float | None:
        for each in self.models:
            if each.language in {"", text.language}:
                score = self.scorer(each.kenlm)
                if each.pieces:
                    return piece_perplexity(score, self.pieces(each.pieces), text.text)
                return perplexity(score, text.text)
        return None
