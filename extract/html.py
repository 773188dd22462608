"""HTML to main text, by trafilatura, made deterministic.

Its cache of seen paragraphs and its date search are off: the one makes a page's text depend on the pages
before, the other costs a third of the time. There is no time limit; what bounds the work is the size of the page.
"""

import re
from collections import Counter
from dataclasses import dataclass

from lxml import etree
from lxml.html import HtmlElement
from trafilatura import bare_extraction, load_html
from trafilatura.settings import Document as Page

from extract.skip import Skip

LONGEST = 5_000_000
"""Characters of HTML that are looked at."""
MOST_LINKS = 3_000
"""Links in one block. The extractor takes quadratic time in them: half a second for so many."""
MOST_ATTRIBUTES = 1_000
"""Attributes of one element, for the same reason."""
BLOCKS = frozenset(
    {"article", "body", "dd", "div", "dt", "li", "main", "p", "section", "td", "ul", "ol", "table"}
)
LICENSE = re.compile(
    r"https?://creativecommons\.org/(?:licenses|publicdomain)/[a-z-]+(?:/\d\.\d)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a page says, and what it says of itself. Absent facts are empty."""

    text: str
    title: str
    date: str
    declared_language: str
    license: str


def extract(html: str, url: str) -> Extracted | Skip:  # noqa: PLR0911 - one for each way out
    """The main text of a page. Never raises."""
    if not html.strip():
        return Skip(reason="empty_body")
    if len(html) > LONGEST:
        return Skip(reason="too_large")
    try:
        # NUL ends a C string, and with it the page, in the parser below.
        tree = load_html(html.replace("\0", "\ufffd"))
        if tree is None:
            return Skip(reason="no_text")
        if _is_hostile(tree):
            return Skip(reason="too_complex")
        declared, license_ = _declared_language(tree), _license(tree)
        found = bare_extraction(
            tree,
            url=url,
            include_comments=False,
            include_tables=True,
            deduplicate=False,
            with_metadata=False,
        )
    except (ValueError, TypeError, RecursionError, AttributeError, KeyError, IndexError, etree.LxmlError):
        # Whatever a page makes of the extractor is the page's fate, not the run's.
        return Skip(reason="parser_error")
    text = (found.text or "").strip() if isinstance(found, Page) else ""
    if not text:
        return Skip(reason="no_text")
    return Extracted(text=text, title=_title(html), date="", declared_language=declared, license=license_)


def _is_hostile(tree: HtmlElement) -> bool:
    """Whether the extractor would take very long. Counted, not timed: the answer is the same on any machine."""
    links: Counter[HtmlElement] = Counter()
    for node in tree.iter():
        if len(node.attrib) > MOST_ATTRIBUTES:
            return True
        if node.tag == "a":
            block = node.getparent()
            while block is not None and block.tag not in BLOCKS:
                block = block.getparent()
            links[block] += 1
    return max(links.values(), default=0) > MOST_LINKS


def _title(html: str) -> str:
    found = re.search(r"<title[^>]{0,200}>([^<]{0,1000})", html, re.IGNORECASE)
    return " ".join(found[1].split()) if found else ""


def _declared_language(tree: HtmlElement) -> str:
    root = tree.getroottree().getroot()
    return str(root.get("lang") or root.get("xml:lang") or "").strip()[:35]


def _license(tree: HtmlElement) -> str:
    for node in tree.iter("a", "link"):
        found = LICENSE.match(node.get("href") or "")
        if found and "license" in (node.get("rel") or "license"):
            return str(found[0])
    return ""
