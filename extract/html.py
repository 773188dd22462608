"""HTML to main text, by trafilatura, made deterministic.

1. Its cache of seen paragraphs is off: it makes a page's text depend on the pages before (`deduplicate`).
2. Its metadata is off, and with it the search for dates, which costs a third of the time and looks at the clock;
   what a page plainly says of itself is read in `extract.says`.
3. There is no time limit. What bounds the work is the page: `bounds`, and `MOST_ELEMENTS` and `MOST_LINKS`.
4. Whatever a page makes of the parser or the extractor is the page's fate, a `Skip`, and never the run's.
"""

import logging
from collections import Counter
from dataclasses import dataclass

from lxml.html import HtmlElement
from trafilatura import bare_extraction, load_html
from trafilatura.settings import Document as Page

from extract import says
from extract.bounds import LONGEST, beyond
from extract.rights import METAS
from extract.skip import Skip

__all__ = ["LONGEST", "MOST_ELEMENTS", "MOST_LINKS", "Extracted", "extract"]

MOST_ELEMENTS = 100_000
"""Elements of a page: the extractor takes up to half a minute for as many cells of one row."""
MOST_LINKS = 3_000
"""Links in one block. The extractor takes quadratic time in them: half a second for so many."""
BLOCKS = frozenset(
    {"article", "body", "dd", "div", "dt", "li", "main", "p", "section", "td", "ul", "ol", "table"}
)
DEEPEST = 254
"""Ancestors of an element; the parser (libxml2) leaves out what lies deeper."""
_NO_DATES = {"original_date": True, "extensive_search": False, "max_date": "9999-12-31"}

# It complains of pages. What becomes of a page is in its Skip.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a page says, and what it says of itself. Absent facts are empty."""

    text: str
    title: str
    date: str
    """ISO 8601 day."""
    declared_language: str
    license: str
    """Address of a Creative Commons licence."""
    metas: tuple[tuple[str, str], ...]
    """What it says of its use: name, in lower case, and content of each <meta> that `extract.rights` reads."""


def extract(html: str, url: str) -> Extracted | Skip:
    """The main text of a page, tables included, readers' comments left out. Never raises."""
    # NUL ends a C string, and with it the page, in the parser below; half a surrogate pair has no bytes.
    html = html.replace("\0", "").encode(errors="replace").decode()
    if not html.strip():
        return Skip(reason="empty_body")
    if (reason := beyond(html)) is not None:
        return Skip(reason=reason)
    try:
        return _extracted(html, url)
    except Exception:  # noqa: BLE001 - rule 4: there is no list of what a page can make them raise
        return Skip(reason="parser_error")


def _extracted(html: str, url: str) -> Extracted | Skip:
    tree = load_html(html)
    if tree is None:
        return Skip(reason="no_text")
    if tree.xpath("count(//*)") > MOST_ELEMENTS:
        return Skip(reason="too_large")
    if _links_in_a_block(tree) > MOST_LINKS:
        return Skip(reason="too_complex")
    # What the page says is read first: the extractor takes the tree apart.
    facts = (says.title(tree), says.date(tree), says.language(tree), says.license_(tree))
    metas = says.metas(tree, METAS)
    found = bare_extraction(
        tree,
        url=url,
        include_comments=False,
        include_tables=True,
        deduplicate=False,
        with_metadata=False,
        date_extraction_params=_NO_DATES,
    )
    text = (found.text or "").strip() if isinstance(found, Page) else ""
    if not text:
        return Skip(reason="too_deep" if _is_deep(tree) else "no_text")
    title, date, language, license_ = facts
    return Extracted(
        text=text, title=title, date=date, declared_language=language, license=license_, metas=metas
    )


def _is_deep(tree: HtmlElement) -> bool:
    return bool(tree.xpath(f"boolean(//*[count(ancestor::*) >= {DEEPEST}])"))


def _links_in_a_block(tree: HtmlElement) -> int:
    links: Counter[HtmlElement | None] = Counter()
    for node in tree.iter("a"):
        block = node.getparent()
        while block is not None and block.tag not in BLOCKS:
            block = block.getparent()
        links[block] += 1
    return max(links.values(), default=0)
