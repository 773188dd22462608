"""Find the headline of a page: the line that has the words of its <title>. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache

from thresher.extract.page.boxes import Block

LONGEST = 250
"""Characters of a headline at most."""
AHEAD = 12
"""Blocks after the start of the content in which the headline is searched."""
MAX_EXTRA = 40
"""Characters that a headline may have beyond twice those of the title: of words that are not in it."""
SHARE = 0.8
"""Minimum share of a line's words that are words of the title."""
COVERED = 0.3
"""Minimum share of the title's words that a line must contain if it is not an <h1>."""
MIN_WORDS = 4
"""Minimum number of words of a page's only <h1> if the title does not have them."""
_WORD = re.compile(r"\w+")
_BONUS = {"h1": 0.5, "h2": 0.35, "h3": 0.35}


def headline(title: str, blocks: Sequence[Block], first: int) -> int | None:
    """Return the number of the headline's block, if the content begins with block `first`; return None if there is
    none.
    """
    title_words = set(_WORD.findall(title.lower()))
    if not title_words:
        return None
    best, best_score = None, 0.0
    longest = min(LONGEST, 2 * len(title) + MAX_EXTRA)
    for number, block in enumerate(blocks[: first + AHEAD + 1]):
        if block.length > longest:
            continue
        heading = block.tag in {"h1", "h2", "h3", "h4", "h5", "h6"}
        words = _words(block.text)
        if words.isdisjoint(title_words) or (not heading and len(words) < 3):
            continue
        common = len(words & title_words)
        covered = common / len(title_words)
        if common < SHARE * len(words) or (covered < COVERED and block.tag != "h1"):
            continue
        score = covered + _BONUS.get(block.tag, 0) - (0.3 if number > first else 0)
        if 2 * block.link > block.length:
            score -= 0.1
        if score > best_score or (score == best_score and number <= first):
            best, best_score = number, score
    return best


@lru_cache(maxsize=1 << 12)  # a page is searched several times, and the pages of a site share lines
def _words(line: str) -> frozenset[str]:
    return frozenset(_WORD.findall(line.lower()))


def heading_of_page(title: str, blocks: Sequence[Block]) -> int | None:
    """Return the number of the headline's block among the headings of a page; return None if there is none."""
    numbers = [number for number, block in enumerate(blocks) if block.tag in _BONUS]
    found = headline(title, [blocks[number] for number in numbers], len(numbers))
    if found is not None:
        return numbers[found]
    first = [number for number in numbers if blocks[number].tag == "h1"]
    if len(first) == 1 and not blocks[first[0]].link and len(blocks[first[0]].text.split()) >= MIN_WORDS:
        return first[0]
    return None
