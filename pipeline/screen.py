"""`Screen`: the cheap filters that `archive = "kept"` puts before the archive.

| reason           | dropped is                                                                              |
|------------------|-----------------------------------------------------------------------------------------|
| `status`         | what was not answered with 200; redirects are never asked after                         |
| `not_text`       | what its server calls neither HTML nor plain text                                       |
| `empty_body`     | a page without a byte that is no white space                                            |
| `truncated`      | a page that is not whole, though its beginning might have been kept                     |
| `other_language` | a page all of whose text is surely in languages that are not wanted                     |

The first three drop nothing that the process step could keep. Language is looked at in up to `WINDOWS` windows of
the text, evenly from begin to end, tags and scripts cut out crudely: a page goes only if every window is recognised
as a language that is not wanted, with `SURE` each, and there is text enough to be sure of. So a menu, a footer or
a paragraph in a wanted language saves a page; what its main text comes to is judged where it is extracted.

There is no bound on length: the extractor may put a text out twice, so that no count of a page's words proves that
its text has fewer than a preset asks for.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import unescape

from crawler.screen import Page
from extract.charset import decode
from extract.document import HTML
from filters.language import Language, recogniser

PLAIN = "text/plain"
SURE = 0.9
"""Score of a window; what the language filter asks for before it keeps a text is 0.65."""
ENOUGH = 500
"""Characters of text below which nothing is said of its language."""
WINDOW = 1_000
"""Characters looked at in one place."""
WINDOWS = 5
LOOKED_AT = 256 << 10
"""Bytes of a page that are looked at."""
SILENT = frozenset({"script", "style", "noscript", "template", "textarea", "svg", "title"})
_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Names the reason for which a page is not archived, or None."""

    languages: tuple[str, ...]
    """Those that are wanted; all where there are none."""

    def __call__(self, page: Page) -> str | None:
        """Cheapest first."""
        if page.status != 200:
            return "status"
        if page.mime and page.mime not in {*HTML, PLAIN}:
            return "not_text"
        if not page.body.strip():
            return "empty_body"
        if page.truncated is not None:
            return "truncated"
        if self.languages and self._is_foreign(page):
            return "other_language"
        return None

    def _is_foreign(self, page: Page) -> bool:
        text = decode(page.body[:LOOKED_AT], page.header("content-type")).text
        text = " ".join((text if page.mime == PLAIN else crude_text(text)).split())
        if len(text) < ENOUGH:
            return False
        found = map(_recogniser(), windows(text))
        return all(each.code not in self.languages and each.score >= SURE for each in found)


def crude_text(html: str) -> str:
    """Everything outside of tags and silent elements. In one pass, whatever the page is made of."""
    before, *pieces = html.split("<")
    said = [before]
    silent = ""
    for piece in pieces:
        tag, _, text = piece.partition(">")
        name = _NAME.match(tag)
        word = name[0].lower() if name else ""
        if silent:
            if word != f"/{silent}":
                continue
            silent = ""
        elif word in SILENT:
            silent = word
            continue
        said.append(text)
    return unescape(" ".join(said))


def windows(text: str) -> list[str]:
    """Places of a text, evenly from its begin to its end; a short one is one window."""
    last = len(text) - WINDOW
    starts = [0] if last <= 0 else [last * number // (WINDOWS - 1) for number in range(WINDOWS)]
    return [text[start : start + WINDOW] for start in starts]


@cache
def _recogniser() -> Callable[[str], Language]:
    return recogniser()
