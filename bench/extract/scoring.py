"""How far an extracted text is the text that it should be. Standard library only.

`words` scores a text against the whole text of a page: precision, recall and F1 of its words, counted as in a bag. A
word is a run of letters, digits and underscores of the text in lower case (Unicode form NFC); of scripts written
without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) each character is one. `snippets` is the metric of
trafilatura's own evaluation: pieces that must be in the text, and pieces that must not.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

WITHOUT_SPACES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff"  # Kana, Han
)
_WORD = re.compile(rf"[{WITHOUT_SPACES}]|[^\W{WITHOUT_SPACES}]+")


class Score(NamedTuple):
    """Each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def _score(right: float, said: float, wanted: float) -> Score:
    precision, recall = right / said if said else 0.0, right / wanted if wanted else 0.0
    return Score(precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0)


def bag(text: str) -> Counter[str]:
    """Return the words of a text, counted."""
    return Counter(_WORD.findall(unicodedata.normalize("NFC", text).lower()))


def words(text: str, gold: str) -> Score:
    """Score a text against the gold text, which must have a word."""
    said, wanted = bag(text), bag(gold)
    return _score((said & wanted).total(), said.total(), wanted.total())


class Snippets(NamedTuple):
    """Counts over pages; the sum of two is that of their parts."""

    found: int
    missed: int
    wrong: int
    """Found, and should not have been."""

    def plus(self, other: "Snippets") -> "Snippets":
        """Return the counts of both."""
        return Snippets(*(one + two for one, two in zip(self, other, strict=True)))

    def score(self) -> Score:
        """Score all pages together."""
        return _score(self.found, self.found + self.wrong, self.found + self.missed)


def snippets(text: str, wanted: Iterable[str], unwanted: Iterable[str]) -> Snippets:
    """Count the pieces of one page."""
    there = [piece in text for piece in wanted]
    return Snippets(sum(there), len(there) - sum(there), sum(piece in text for piece in unwanted))


class Posts(NamedTuple):
    """Counts of the posts of forums; the sum of two is that of their parts."""

    posts: int
    found: int
    """In the text: the first `START` characters, or all of a shorter post."""
    once: int
    """Found as often as the gold text has them."""
    in_order: int
    """Found after the post before them."""

    def plus(self, other: "Posts") -> "Posts":
        """Return the counts of both."""
        return Posts(*(one + two for one, two in zip(self, other, strict=True)))


START = 60


def posts(text: str, parts: Iterable[str]) -> Posts:
    """Count the posts of one page that a text has; white space and characters that are no words do not count."""
    said = " ".join(_WORD.findall(unicodedata.normalize("NFC", text).lower()))
    wanted = [" ".join(_WORD.findall(unicodedata.normalize("NFC", part).lower())) for part in parts]
    whole = " ".join(wanted)
    starts = [part[:START] for part in wanted if part]
    found = [start in said for start in starts]
    once = [said.count(start) == whole.count(start) for start in starts]
    place, in_order = 0, 0
    for start in starts:
        where = said.find(start, place)
        if where >= 0:
            place, in_order = where, in_order + 1
    return Posts(len(starts), sum(found), sum(once), in_order)
