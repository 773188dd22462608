"""Words that the end of a line parted, and words that have a hyphen of their own.

At the end of a line nobody can see which of the two a hyphen is, so the rest of the document is asked:

1. A soft hyphen was put there to part a word.
2. Where the line goes on with something else than a small letter, or the word has a number, or another hyphen, the
   hyphen stays.
3. The word that stands elsewhere without a hyphen loses it; the one that stands elsewhere with it keeps it.
4. Two parts that are both words of the document (`well-`, `known`) are a compound, and keep it; else one of them is
   a syllable, and they are one word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from extract.pdf.page_text import HYPHEN

SOFT = "\u00ad"
LONGEST = 40
"""Characters of a word; what is longer has no ends of lines in it that anybody knows."""
FEWEST = 2
"""Letters of a part that can be a word by itself."""

_HYPHENS = frozenset(f"-\u2010{SOFT}{HYPHEN}")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_ENDS = re.compile(
    rf"(?<![^\W_])(?<![^\W_][-\u2010'\u2019])([^\W_]++(?:[-\u2010'\u2019][^\W_]++)*+)([-\u2010{SOFT}{HYPHEN}])$"
)
_BEGINS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Words that stand within lines of a document, in small letters."""

    words: frozenset[str]


def lexicon(lines: Iterable[str]) -> Lexicon:
    """The words of a document; parts at the ends of lines are none."""
    words: set[str] = set()
    parted = False
    for line in lines:
        found = _WORD.findall(line.lower())
        if parted:
            found = found[1:]
        parted = ends_hyphenated(line)
        words.update(found[:-1] if parted else found)
    return Lexicon(words=frozenset(words))


def ends_hyphenated(line: str) -> bool:
    """Whether a line ends in a hyphen behind a word."""
    return line[-1:] in _HYPHENS and _ENDS.search(line, max(0, len(line) - 2 * LONGEST)) is not None


def join_hyphenated(line: str, following: str, lexicon: Lexicon) -> str | None:
    """The line as it stands before the next one, nothing between them; None where it does not end in a word with a hyphen."""
    ends = _ENDS.search(line, max(0, len(line) - 2 * LONGEST)) if line[-1:] in _HYPHENS else None
    if ends is None:
        return None
    stem, word, hyphen = line[: ends.start(2)], ends[1], ends[2]
    begins = _BEGINS.match(following)
    if begins is None:
        return f"{stem}-" if following[:1].isalnum() else f"{stem}- "
    return f"{stem}-" if hyphen != SOFT and _keeps(word, begins[0], lexicon) else stem


def _keeps(word: str, rest: str, lexicon: Lexicon) -> bool:
    """Whether the hyphen between the two is the word's own."""
    if not rest[0].islower() or not word.isalpha():
        return True
    first, second = word.lower(), rest.lower()
    if len(first) + len(second) > LONGEST or f"{first}{second}" in lexicon.words:
        return False
    if f"{first}-{second}" in lexicon.words:
        return True
    return min(len(first), len(second)) >= FEWEST and {first, second} <= lexicon.words
