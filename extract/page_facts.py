"""Read the facts that a page states about itself: title, author, date, language, licence, its own URL. Nothing is
guessed.

Each fact is read from the markup that is made for it. Without such markup the fact is empty. If the page states a fact
twice, the first counts.
"""

import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

from extract.fact_formats import LANGUAGE, creative_commons, day
from extract.page.boxes import MetadataElement
from extract.page.page_kind import PageKind, page_kind

MAX_TITLE_LENGTH = 1_000
"""Characters of a title at most."""
MAX_NAME_LENGTH = 200
"""Characters of an author's name at most."""
MAX_ADDRESS_LENGTH = 2_000
MAX_AUTHORS = 20
MAX_JSON_LENGTH = 1_000_000
"""Characters of one script of JSON-LD at most; a longer one is ignored."""
DEEPEST_JSON = 8
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
"""Names of a <meta> with the day of publication, most reliable first (Open Graph, schema.org, Dublin Core)."""
AUTHORS = (
    "author",
    "article:author",
    "dc.creator",
    "dcterms.creator",
    "citation_author",
    "parsely-author",
    "sailthru.author",
)
LICENSES = (
    "license",
    "dc.rights",
    "dcterms.license",
    "dcterms.rights",
    "dc.license",
    "og:license",
    "copyright",
)
"""Names of a <meta> with the licence."""

_BY = re.compile(r"^(?:written )?by:?\s+", re.IGNORECASE)
_DAY = re.compile(r"\s*(\d{4})[-/](\d{2})[-/](\d{2})(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """The facts that a page states about itself. Absent facts are empty."""

    title: str
    author: str
    """Names, separated by `; `."""
    date: str
    """Day of publication in ISO 8601."""
    language: str
    """Language tag as written."""
    license: str
    """URL of a Creative Commons licence, up to its version."""
    canonical_url: str
    """Absolute URL."""
    article_body: str
    """The text of the article as JSON-LD has it; it may be HTML."""
    kind: PageKind
    metas: tuple[tuple[str, str], ...]
    """Name in lower case and content of each <meta> that the caller named."""


def read_page_facts(metadata: Iterable[MetadataElement], url: str, meta_names: Container[str]) -> PageFacts:
    """Return the facts in the elements of the page at `url`. Return the <meta>s in `meta_names` unchanged."""
    elements = list(metadata)
    meta: dict[str, str] = {}
    metas: list[tuple[str, str]] = []
    authors: list[str] = []
    for element in elements:
        content = element.attributes.get("content")
        if element.tag != "meta" or content is None:
            continue
        meta_name = element.attributes.get("name", "").strip().lower()
        if meta_name in meta_names:
            metas.append((meta_name, content))
        name = meta_name or _first(element, "property", "itemprop", "http-equiv").strip().lower()
        meta.setdefault(name, content.strip())
        if name in AUTHORS and "://" not in content:
            authors.append(content)
    json_ld = list(_json_ld_nodes(elements))
    return PageFacts(
        title=_title(elements, meta),
        author=_author([*authors, *(name for node in json_ld for name in _authors(node))]),
        date=_date(elements, meta, json_ld),
        language=_language(elements, meta),
        license=_license(elements, meta),
        canonical_url=_canonical(elements, meta, url),
        article_body=_article_body(json_ld),
        kind=page_kind(meta, json_ld, url),
        metas=tuple(metas),
    )


def _first(element: MetadataElement, *names: str) -> str:
    return next((element.attributes[name] for name in names if name in element.attributes), "")


def _title(elements: list[MetadataElement], meta: dict[str, str]) -> str:
    stated = [
        *(element.text for element in elements if element.tag == "title"),
        meta.get("og:title", ""),
        meta.get("twitter:title", ""),
    ]
    return next((found[:MAX_TITLE_LENGTH] for text in stated if (found := " ".join(text.split()))), "")


def _author(stated: Iterable[str]) -> str:
    names: dict[str, str] = {}
    for written in stated:
        name = _BY.sub("", " ".join(written.split()))
        if 0 < len(name) <= MAX_NAME_LENGTH:
            names.setdefault(name.casefold(), name)
    return "; ".join(list(names.values())[:MAX_AUTHORS])


def _date(elements: list[MetadataElement], meta: dict[str, str], json_ld: list[dict[str, Any]]) -> str:
    stated = [meta[name] for name in DATES if name in meta]
    stated += [node["datePublished"] for node in json_ld if isinstance(node.get("datePublished"), str)]
    stated += [element.attributes.get("datetime", "") for element in elements if element.tag == "time"]
    return next(filter(None, (day(_DAY.match(text)) for text in stated)), "")


def _language(elements: list[MetadataElement], meta: dict[str, str]) -> str:
    root = next((element for element in elements if element.tag == "html"), None)
    stated = "" if root is None else _first(root, "lang", "xml:lang")
    found = LANGUAGE.fullmatch((stated or meta.get("content-language", "")).strip())
    return found[0] if found else ""


def _license(elements: list[MetadataElement], meta: dict[str, str]) -> str:
    """Return the licence that a marked link or a <meta> states. An unmarked link may apply to anything on the page."""
    stated = [
        element.attributes.get("href", "")
        for element in elements
        if "license" in element.attributes.get("rel", "").lower().split()
    ]
    stated += [meta[name] for name in LICENSES if name in meta]
    return next(filter(None, map(creative_commons, stated)), "")


def _canonical(elements: list[MetadataElement], meta: dict[str, str], url: str) -> str:
    stated = [
        element.attributes.get("href", "")
        for element in elements
        if element.tag == "link" and "canonical" in element.attributes.get("rel", "").lower().split()
    ]
    for written in (*stated, meta.get("og:url", "")):
        try:
            found = urljoin(url, written.strip())
            usable = urlsplit(found).scheme in {"http", "https"}
        except ValueError:
            continue
        if written.strip() and usable and len(found) <= MAX_ADDRESS_LENGTH:
            return found
    return ""


def _article_body(json_ld: list[dict[str, Any]]) -> str:
    """Return the longest text of an article."""
    stated = [body for node in json_ld if isinstance(body := node.get("articleBody"), str)]
    return max(map(unescape, stated), key=len, default="")


def _json_ld_nodes(elements: Iterable[MetadataElement]) -> Iterator[dict[str, Any]]:
    """Yield the nodes of the page's JSON-LD (schema.org), outer nodes first."""
    for element in elements:
        if element.tag == "script" and len(element.text) <= MAX_JSON_LENGTH:
            try:
                yield from _nodes(json.loads(element.text, strict=False), DEEPEST_JSON)
            except (ValueError, RecursionError):
                continue


def _nodes(value: Any, max_depth: int) -> Iterator[dict[str, Any]]:
    if not max_depth:
        return
    if isinstance(value, list):
        for child in value:
            yield from _nodes(child, max_depth - 1)
    elif isinstance(value, dict):
        yield value
        for child in value.values():
            if isinstance(child, dict | list):
                yield from _nodes(child, max_depth - 1)


def _authors(node: dict[str, Any]) -> Iterator[str]:
    stated = node.get("author")
    for author in stated if isinstance(stated, list) else [stated]:
        name = author.get("name") if isinstance(author, dict) else author
        if isinstance(name, str) and "://" not in name:
            yield name
