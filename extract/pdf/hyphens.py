"""Join words that were hyphenated at the end of a line, and keep the hyphens that belong to a word.

A hyphen at the end of a line does not show which of the two it is, so the words of the whole document decide:

1. A soft hyphen only divides a word, so it is removed.
2. If the next line does not begin with a small letter, or if the word has a digit or another hyphen, the hyphen stays.
3. If the document has the word without a hyphen elsewhere, the hyphen is removed; if it has it with a hyphen, it stays.
4. If both parts are words of the document (`well-`, `known`), they are a compound and the hyphen stays. Otherwise one
   of them is a syllable, and the hyphen is removed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from thresher.core.unicode14 import is_lower
from thresher.extract.pdf.page_text import HYPHEN

SOFT = "\u00ad"
LONGEST = 40
"""Characters of a word at most; a longer one is not looked up in the document."""
MIN_PART_LETTERS = 2
"""Minimum number of letters of a part that can be a word of its own."""

_HYPHENS = frozenset(f"-\u2010{SOFT}{HYPHEN}")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_ENDS = re.compile(
    rf"(?<![^\W_])(?<![^\W_][-\u2010'\u2019])([^\W_]++(?:[-\u2010'\u2019][^\W_]++|)*+)([-\u2010{SOFT}{HYPHEN}])$"
)
_BEGINS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """The words within the lines of a document, in lower case."""

    words: frozenset[str]


def lexicon(lines: Iterable[str]) -> Lexicon:
    """Return the words of a document; parts of words that are hyphenated at line ends do not count."""
    words: set[str] = set()
    was_hyphenated = False
    for line in lines:
        found = _WORD.findall(line.lower())
        if was_hyphenated:
            found = found[1:]
        was_hyphenated = ends_hyphenated(line)
        words.update(found[:-1] if was_hyphenated else found)
    return Lexicon(words=frozenset(words))


def ends_hyphenated(line: str) -> bool:
    """Return whether a line ends with a word and a hyphen."""
    return line[-1:] in _HYPHENS and _ENDS.search(line, max(0, len(line) - 2 * LONGEST)) is not None


def join_hyphenated(line: str, following: str, lexicon: Lexicon) -> str | None:
    """Return the line in the form that directly precedes `following`; return None if it does not end with a hyphenated
    word.
    """
    ends = _ENDS.search(line, max(0, len(line) - 2 * LONGEST)) if line[-1:] in _HYPHENS else None
    if ends is None:
        return None
    stem, word, hyphen = line[: ends.start(2)], ends[1], ends[2]
    begins = _BEGINS.match(following)
    if begins is None:
        return f"{stem}-" if following[:1].isalnum() else f"{stem}- "
    return f"{stem}-" if hyphen != SOFT and _keeps(word, begins[0], lexicon) else stem


def _keeps(word: str, rest: str, lexicon: Lexicon) -> bool:
    """Return whether the hyphen between the two parts belongs to the word."""
    if not is_lower(rest[0]) or not word.isalpha():
        return True
    first, second = word.lower(), rest.lower()
    if len(first) + len(second) > LONGEST or f"{first}{second}" in lexicon.words:
        return False
    if f"{first}-{second}" in lexicon.words:
        return True
    return min(len(first), len(second)) >= MIN_PART_LETTERS and {first, second} <= lexicon.words
