"""Take samples of a page's raw text without a parser, for the language pre-check. Pure.

Tags, scripts and styles are removed roughly. Only the first `LOOKED_AT` characters of the page are read, in `WINDOWS`
windows spread evenly from start to end. A menu, a footer or a paragraph in a wanted language is then in a window often
enough to keep the page.
"""

import re

from thresher.extract.references import unescape

ENOUGH = 500
"""Characters of text below which no window is returned: the language of so little text is uncertain."""
WINDOW = 400
"""Characters of one window: enough to recognise a language, and the time of recognition grows with them."""
WINDOWS = 5
LOOKED_AT = 256 << 10
"""Characters of a page that are read."""
SLICE = 3_000
"""Characters of markup from which one window is taken: text is about a sixth of most pages."""

_UNSEEN = re.compile(
    # The first letter is looked at alone, because most tags fail there.
    r"<(?=[snt!])(?:(script|style|noscript|template|textarea|svg|title)\b[^>]*+(?:\Z|>(?:[^<]++|<(?!/\1\b)|)*+"
    r"(?:</\1\b[^>]*+(?:>|\Z)|\Z))|!--.*?(?:-->|\Z))",
    re.IGNORECASE | re.DOTALL,
)
_DECLARED = re.compile(r"<html\b[^>]{0,500}?\slang\s*=\s*[\"']?([a-z]{2,3})\b", re.IGNORECASE)
HEAD = 2_000
"""Characters in which the <html> tag is searched."""
_TAG = re.compile(r"<[^>]*+(?:>|\Z)")


def page_windows(html: str) -> list[str]:
    """Return windows of the text of a page; return no window if the page has too little text."""
    start = html[:LOOKED_AT]
    seen = _UNSEEN.sub(" ", start)
    if len(seen) <= WINDOWS * SLICE:
        return windows(text_of(seen))
    last = len(seen) - SLICE
    places = [last * number // (WINDOWS - 1) for number in range(WINDOWS)]
    texts = [text_of(_slice(seen, place))[:WINDOW] for place in places]
    return [text for text in texts if text] if sum(map(len, texts)) >= ENOUGH else []


def declared_language(html: str) -> str:
    """Return the language of the <html> tag, in lower case without region; return `""` if it names none."""
    found = _DECLARED.search(html, 0, HEAD)
    return found[1].lower() if found else ""


def _slice(seen: str, place: int) -> str:
    """Return markup from `place` on. If `place` lies within a tag, the markup starts after that tag."""
    end = place + SLICE
    closes, opens = seen.find(">", place, end), seen.find("<", place, end)
    is_in_tag = closes >= 0 and not 0 <= opens < closes
    return seen[closes + 1 if is_in_tag else place : end]


def text_of(markup: str) -> str:
    """Return the text outside of tags, with white space collapsed."""
    return " ".join(unescape(_TAG.sub(" ", markup)).split())


def windows(text: str) -> list[str]:
    """Return windows of a text, spread evenly from its start to its end.

    A short text gives one window; a text of fewer than `ENOUGH` characters gives none.
    """
    if len(text) < ENOUGH:
        return []
    last = len(text) - WINDOW
    starts = [0] if last <= 0 else [last * number // (WINDOWS - 1) for number in range(WINDOWS)]
    return [text[start : start + WINDOW] for start in starts]
