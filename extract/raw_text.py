"""A glance at a page's raw text, without a parser: enough to see in which languages it is. Pure.

Tags, scripts and styles are cut out crudely, and only `LOOKED_AT` characters of the page are looked at, in `WINDOWS` windows evenly from
begin to end. So a menu, a footer or a paragraph in a language that is wanted is in a window often enough to save the page.
"""

import re

from extract.references import unescape

ENOUGH = 500
"""Characters of text below which nothing is said of its language."""
WINDOW = 400
"""Characters looked at in one place: enough to be sure of a language, and recognition takes time in proportion."""
WINDOWS = 5
LOOKED_AT = 256 << 10
"""Characters of a page that are looked at."""
SLICE = 3_000
"""Characters of markup around a window: text is a sixth of most pages."""

_UNSEEN = re.compile(
    r"<(script|style|noscript|template|textarea|svg|title)\b[^>]*+(?:\Z|>(?:[^<]++|<(?!/\1\b))*+(?:</\1\b[^>]*+(?:>|\Z)|\Z))|<!--.*?(?:-->|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_DECLARED = re.compile(r"<html\b[^>]{0,500}?\slang\s*=\s*[\"']?([a-z]{2,3})\b", re.IGNORECASE)
HEAD = 2_000
"""Characters in which the root of a page is looked for."""
_TAG = re.compile(r"<[^>]*+(?:>|\Z)")


def page_windows(html: str) -> list[str]:
    """Windows of the text of a page; none where there is too little of it."""
    start = html[:LOOKED_AT]
    seen = _UNSEEN.sub(" ", start)
    if len(seen) <= WINDOWS * SLICE:
        return windows(text_of(seen))
    last = len(seen) - SLICE
    places = [last * number // (WINDOWS - 1) for number in range(WINDOWS)]
    texts = [text_of(_slice(seen, place))[:WINDOW] for place in places]
    return [text for text in texts if text] if sum(map(len, texts)) >= ENOUGH else []


def declared_language(html: str) -> str:
    """The language that the root of a page names, without region, in lower case; empty where it names none."""
    found = _DECLARED.search(html, 0, HEAD)
    return found[1].lower() if found else ""


def _slice(seen: str, place: int) -> str:
    """Markup from a place on, or from behind the tag in which it lies."""
    end = place + SLICE
    closes, opens = seen.find(">", place, end), seen.find("<", place, end)
    is_in_tag = closes >= 0 and not 0 <= opens < closes
    return seen[closes + 1 if is_in_tag else place : end]


def text_of(markup: str) -> str:
    """What stands outside of tags, white space collapsed."""
    return " ".join(unescape(_TAG.sub(" ", markup)).split())


def windows(text: str) -> list[str]:
    """Places of a text, evenly from its begin to its end; a short one is one window, one that is too short is none."""
    if len(text) < ENOUGH:
        return []
    last = len(text) - WINDOW
    starts = [0] if last <= 0 else [last * number // (WINDOWS - 1) for number in range(WINDOWS)]
    return [text[start : start + WINDOW] for start in starts]
