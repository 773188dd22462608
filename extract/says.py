"""What a page plainly says of itself: title, date, language, licence. Nothing is guessed.

Each is a fact that the markup states in a form of its own; where it does not, the answer is empty.
"""

import re
from collections.abc import Container, Iterator
from datetime import date as day

from lxml.html import HtmlElement

LONGEST_TITLE = 1_000
"""Characters."""
DATES = (
    "article:published_time",
    "og:article:published_time",
    "datepublished",
    "dc.date",
    "dc.date.created",
    "dc.date.issued",
    "dcterms.created",
    "dcterms.date",
    "dcterms.issued",
    "citation_publication_date",
    "date",
    "pubdate",
    "publishdate",
    "parsely-pub-date",
    "sailthru.date",
)
"""Names under which a <meta> gives the day of publication, surest first (Open Graph, schema.org, Dublin Core)."""
LICENSES = (
    "license",
    "dc.rights",
    "dcterms.license",
    "dcterms.rights",
    "dc.license",
    "og:license",
    "copyright",
)
"""Names under which a <meta> gives the licence."""

_DAY = re.compile(r"\s*(\d{4})[-/](\d{2})[-/](\d{2})(?!\d)")
_JSON_DATE = re.compile(r'"datePublished"\s*:\s*"([^"]{10,40})"')
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
_LICENSE = re.compile(
    r"(?:https?:)?(//(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[a-z+-]{1,20}(?:/\d\.\d)?)",
    re.IGNORECASE,
)


def title(tree: HtmlElement) -> str:
    """The title element, else og:title, else the first heading; white space collapsed."""
    for place in ("//head/title", "//title[not(ancestor::svg)]", "//meta[@property='og:title']", "//h1"):
        for node in tree.xpath(place):
            found = " ".join((node.get("content") or node.text_content()).split())
            if found:
                return found[:LONGEST_TITLE]
    return ""


def date(tree: HtmlElement) -> str:
    """Day of publication: of a <meta>, of JSON-LD, of a <time> marked as such."""
    meta = dict(_meta(tree))
    stated = [meta[name] for name in DATES if name in meta]
    for node in tree.iterfind(".//script[@type='application/ld+json']"):
        stated += _JSON_DATE.findall(node.text or "")[:1]
    stated += tree.xpath("//time[@pubdate or @itemprop='datePublished']/@datetime")
    return next(filter(None, map(_day, stated)), "")


def language(tree: HtmlElement) -> str:
    """`lang` of the root, else the Content-Language of a <meta>; as written."""
    root = tree.getroottree().getroot()
    stated = (
        root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    )
    found = _LANGUAGE.fullmatch((stated or dict(_meta(tree)).get("content-language") or "").strip())
    return found[0] if found else ""


def license_(tree: HtmlElement) -> str:
    """Address of the Creative Commons licence that a link of rel=license or a <meta> names, up to its version.

    A link to such a licence that is not marked may be about anything on the page.
    """
    stated = [
        node.get("href") or ""
        for node in tree.iter("a", "link", "area")
        if "license" in (node.get("rel") or "").lower().split()
    ]
    stated += [content for name, content in _meta(tree) if name in LICENSES]
    return next(filter(None, map(_creative_commons, stated)), "")


def metas(tree: HtmlElement, names: Container[str]) -> tuple[tuple[str, str], ...]:
    """Name, in lower case, and content of each <meta> of some names, in their order."""
    found = ((node.get("name", "").strip().lower(), node) for node in tree.iterfind(".//meta[@content]"))
    return tuple((name, node.get("content", "")) for name, node in found if name in names)


def _meta(tree: HtmlElement) -> Iterator[tuple[str, str]]:
    """Names and contents of the <meta>s, the first of a name last, so that it counts in a dict."""
    for node in reversed(tree.findall(".//meta[@content]")):
        name = (
            node.get("name") or node.get("property") or node.get("itemprop") or node.get("http-equiv") or ""
        )
        yield name.strip().lower(), node.get("content").strip()


def _day(stated: str) -> str:
    found = _DAY.match(stated)
    if not found:
        return ""
    try:
        return day(*map(int, found.groups())).isoformat()
    except ValueError:
        return ""


def _creative_commons(stated: str) -> str:
    found = _LICENSE.search(stated)
    return f"https:{found[1]}" if found else ""
