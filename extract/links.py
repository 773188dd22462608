"""Links of a page, as absolute addresses in the order in which they stand.

`<base href>` counts once, the first. Links are what a reader can follow: `a`, `area`, frames, and the
relations of the head that lead to pages (next, canonical, index, alternate...). Only http and https; fragments
are cut off. A page beyond `bounds` is not parsed and has no links.
"""

import re
from dataclasses import dataclass

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode

from extract.bounds import beyond

LIMIT = 50_000
"""Links taken of one page; a page with more is a trap or a dump."""
SELECTOR = "a[href], area[href], iframe[src], frame[src], link[href][rel]"
ANCHOR = re.compile(r"<a\s", re.IGNORECASE)
FOLLOWED_RELS = frozenset(
    {
        *(
            "alternate",
            "author",
            "canonical",
            "help",
            "license",
            "next",
            "prev",
        ),  # HTML standard, section 4.6.7
        *(
            "appendix",
            "bookmark",
            "chapter",
            "contents",
            "copyright",
            "glossary",
            "index",
            "section",
            "start",
        ),
        *("subsection", "first", "last", "up"),  # HTML 4.01, section 6.12, and what came of it
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page links to."""

    base: str
    hrefs: tuple[str, ...]
    """Absolute, each once."""
    nofollow: bool
    """Whether a robots <meta> asks that its links not be followed."""
    truncated: int
    """Links beyond the limit; of a page that is not parsed, its `<a`."""


def links(html: str, base: str) -> Page:
    """The links of a page that was found at `base`. Never raises."""
    if beyond(html) is not None:
        return Page(base=base, hrefs=(), nofollow=False, truncated=len(ANCHOR.findall(html)))
    tree = LexborHTMLParser(html.encode(errors="replace"))
    base = _base(tree, base)
    found: dict[str, None] = {}
    left = 0
    for node in tree.css(SELECTOR):
        written = _written(node)
        if not written or written[0] == "#":
            continue
        if len(found) >= LIMIT:
            left += 1
            continue
        absolute = _resolved(written, base)
        if absolute:
            found[absolute] = None
    return Page(base=base, hrefs=tuple(found), nofollow=_nofollow(tree), truncated=left)


def _base(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    return (_resolved(node.attributes.get("href") or "", url) if node is not None else "") or url


def _written(node: LexborNode) -> str:
    attributes = node.attributes
    if node.tag == "link":
        rels = set((attributes.get("rel") or "").lower().split())
        # A feed or another format is an alternate as well; only other languages and views are pages.
        if not rels & FOLLOWED_RELS or (attributes.get("type") or "text/html") != "text/html":
            return ""
    return (attributes.get("src" if node.tag in {"iframe", "frame"} else "href") or "").strip()


def _resolved(written: str, base: str) -> str:
    try:
        absolute = str(ada_url.join_url(base, written.partition("#")[0]))
    except ValueError:
        return ""
    return absolute if absolute.startswith(("http://", "https://")) else ""


def _nofollow(tree: LexborHTMLParser) -> bool:
    for node in tree.css("meta[name][content]"):
        if (node.attributes.get("name") or "").strip().lower() == "robots":
            directives = {word.strip().lower() for word in (node.attributes.get("content") or "").split(",")}
            if directives & {"nofollow", "none"}:
                return True
    return False
