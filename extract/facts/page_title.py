"""Choose the title of a page, without the name of its site. Pure.

The <title> names page and site. What its headline, Open Graph or JSON-LD repeat of it is the name of the page.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from thresher.core.unicode14 import known
from thresher.extract.facts.stated import NOTHING, Stated
from thresher.extract.references import unescape

MAX_TITLE_LENGTH = 1_000
"""Characters of a title at most."""
MAX_HEADLINE_LENGTH = 300
"""Characters of a headline at most."""
MIN_COMMON = 0.6
"""Minimum share of the words of a headline that other statements must have."""
MIN_WORDS_BELOW = 3
"""Words of a headline at least, if there are other words above it."""
MAX_SITE_WORDS = 5
"""Words of the name of a site at most, if the page does not state the name."""

_SEPARATOR = re.compile(
    r"\s+[|\u2013\u2014\-\u2022\u00b7\u00bb\u00ab>/\u2502~]+\s+|\s*[|\u2502\u00ab\u00bb]\s*|\s+::\s+"
    r"|:\s+(?=\S+$)|\s+[<@]\s+"
    # Chinese titles have the name of the site at their end, without spaces.
    r"|(?<=[\u3001-\u9fff\uff00-\uffef]{4})[_-]+(?=[\u4e00-\u9fff]{2,10}$)"
)
_WORD = re.compile(r"\w+")


def choose_title(
    titles: Sequence[str],
    headings: Sequence[str],
    subheadings: Sequence[str],
    stated: Iterable[Stated],
    sites: Iterable[str],
) -> Stated:
    """Return the title of the page.

    `titles` are its <title>s, `headings` its <h1>s, `subheadings` its <h2>s and <h3>s, `stated` the titles of Open
    Graph, JSON-LD and the like, most reliable first, and `sites` the names that it states for its site.
    """
    whole = next((text for title in titles if (text := _clean(title))), "")
    known = {_key(site) for site in sites if _key(site)}
    others = [
        Stated(_without_site(text, known), each.source) for each in stated if (text := _clean(each.value))
    ]
    others = [each for each in others if _key(each.value) not in known]
    lines = [text for line in headings if (text := _clean(line)) and len(text) <= MAX_HEADLINE_LENGTH]
    parts = {_key(part) for part in _parts(whole)}
    segments = (parts | {_key(each.value) for each in others}) - known
    exact = [line for line in (*lines, *map(_clean, subheadings)) if _key(line) in segments]
    if exact:
        # JSON-LD also states the titles of other pages that this one leads to.
        line = max(exact, key=lambda line: (_key(line) in parts, len(line)))
        return Stated(line, "h1" if line in lines else "heading")
    claims = [_words(whole), *(_words(each.value) for each in others)]
    for line in lines:
        words = _words(line)
        is_claimed = any(len(words & claim) >= MIN_COMMON * len(words) for claim in claims)
        if len(words) > 1 and is_claimed and _key(line) not in known:
            return next((each for each in others if _is_below(each.value, line)), Stated(line, "h1"))
    if others:
        return others[0]
    if whole:
        return Stated(_without_site(whole, known)[:MAX_TITLE_LENGTH], "title")
    return Stated(lines[0], "h1") if lines else NOTHING


def _clean(text: str) -> str:
    return " ".join(known(unescape(text)).split())[:MAX_TITLE_LENGTH]


def _key(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _is_below(title: str, line: str) -> bool:
    """Return whether a title is a line without the words above the headline, such as the topic of the article."""
    key = _key(title)
    return len(key.split()) >= MIN_WORDS_BELOW and _key(line).endswith(f" {key}")


def _parts(text: str) -> Iterator[str]:
    """Yield every run of segments that begins or ends the text."""
    yield text
    for found in _SEPARATOR.finditer(text):
        yield text[: found.start()]
        yield text[found.end() :]


def _without_site(text: str, known: set[str]) -> str:
    """Return the text without the name of the site at its end or its begin."""
    cuts = list(_SEPARATOR.finditer(text))
    for found in cuts:
        before, after = text[: found.start()], text[found.end() :]
        if _key(after) in known and _key(before):
            return _without_site(before, known)
        if _key(before) in known and _key(after):
            return _without_site(after, known)
    if not cuts or known & {_key(text)}:
        return text
    before, after = text[: cuts[-1].start()], text[cuts[-1].end() :]
    if len(_words(after)) <= min(MAX_SITE_WORDS, len(_words(before))) and ":" not in cuts[-1][0]:
        return before
    return text
