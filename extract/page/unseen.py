"""Choose content that a page does not show, if what it shows covers little of it. Pure.

1. The article in JSON-LD (`articleBody`), which a page that scripts build or a pay wall shortens states in full.
2. `noscript` and elements that an attribute hides: pages for crawlers, articles that a pay wall covers.
"""

import re

from thresher.extract.page import page_reader
from thresher.extract.page.boxes import Block, Box, ParsedPage
from thresher.extract.page.content import characters, choose_content, is_text
from thresher.extract.page.headline import heading_of_page
from thresher.extract.page.page_kind import PageKind

MIN_CHARACTERS = 250
"""Minimum number of characters of content that is not shown."""
MAX_COVERED = 0.5
"""Share of the words of the article in JSON-LD from which on the content that is shown covers it."""
MAX_SHOWN = 1_000
"""Characters of shown content from which on hidden elements are not read: a page hides menus and dialogs too."""
MIN_SHOWN = 100
"""Characters of shown content from which on the hidden content must continue it."""
MIN_RATIO = 3
"""Minimum size of hidden and shown content together, relative to the shown content."""
MOSTLY = 3
"""Hidden characters, relative to those of all that is shown, from which on a page without a heading hides its content,
as under a dialog.
"""
MIN_RUNNING = 0.6
"""Minimum share of running text in hidden and shown content together."""
_TITLE = re.compile(rb"<title\b[^>]{0,200}>[^<]*", re.IGNORECASE)
"""The start of a page up to the end of a title that is not closed."""


def close_title(body: bytes) -> bytes | None:
    """Return the page with its title closed before the next element; return None if the title is closed.

    The parser takes all that follows an open title as its text, as the HTML standard says.
    """
    found = _TITLE.search(body)
    if found is None or body[found.end() : found.end() + 7].lower() == b"</title":
        return None
    return body[: found.end()] + b"</title>" + body[found.end() :]


def choose_unseen(
    chosen: list[Block], page: ParsedPage, body: bytes, article: str, title: str, kind: PageKind
) -> tuple[list[Block], ParsedPage | None]:
    """Return the content of the page, shown or not; and if it is hidden, the page read with its hidden elements.
    `chosen` is what the page shows, and `article` its `articleBody`.
    """
    if len(article) >= MIN_CHARACTERS:
        words = set(article.split())
        shown = {word for block in chosen for word in block.text.split()}
        if len(words & shown) < MAX_COVERED * len(words):
            return _article_blocks(article), None
    shown_size = characters(chosen)
    if shown_size < MAX_SHOWN and page.concealed >= max(MIN_CHARACTERS, shown_size):
        revealed = page_reader.read_page(body, reveals=True, marks=page.has_marks)
        if revealed is not None and (found := choose_content(revealed, title, kind)):
            if _is_hidden(page, found, title, kind):
                return found, revealed
            total = characters(found)
            if (
                total >= max(MIN_CHARACTERS, MIN_RATIO * shown_size)
                and _running(found) >= MIN_RUNNING * total
                and _continues(found, chosen)
            ):
                return found, revealed
    return chosen, None


def _is_hidden(page: ParsedPage, found: list[Block], title: str, kind: PageKind) -> bool:
    """Return whether a page shows hardly more than a dialog over its content: its heading is hidden, or nearly all of
    its text.
    """
    if characters(found) <= characters(page.blocks) or heading_of_page(title, page.blocks) is not None:
        return False
    if heading_of_page(title, found) is not None:
        return True
    return (
        characters(found) >= MIN_CHARACTERS
        and page.concealed >= MOSTLY * characters(page.blocks)
        and (kind == "reference" or _running(found) >= MIN_RUNNING * characters(found))
    )


def _running(blocks: list[Block]) -> int:
    return sum(block.length for block in blocks if is_text(block))


def _continues(found: list[Block], chosen: list[Block]) -> bool:
    """Return whether the content that is found begins with, or has, most of what is shown; a few words do not count."""
    texts = {block.text for block in found}
    shown = characters(chosen)
    return shown < MIN_SHOWN or 2 * characters([block for block in chosen if block.text in texts]) >= shown


def _article_blocks(article: str) -> list[Block]:
    """Return the paragraphs of an article, which may be HTML."""
    if "</" in article and (read := page_reader.read_page(article.encode(errors="replace"))) is not None:
        return read.blocks
    box = Box(0, "", None, 0)
    return [Block(box, line, 0) for text in article.splitlines() if (line := " ".join(text.split()))]
