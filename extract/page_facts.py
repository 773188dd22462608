"""Read the facts that a page states about itself: title, author, date, language, licence, its own URL. Nothing is
guessed.

The markup states each fact in a form of its own. If it does not, the fact is empty; if it states one twice, the first
counts.
"""

import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from extract.fact_formats import LANGUAGE, creative_commons, day
from extract.page.boxes import MetadataElement
from extract.page.page_kind import PageKind, page_kind

LONGEST_TITLE = 1_000
"""Characters of a title at most."""
LONGEST_NAME = 200
"""Characters of an author's name at most."""
LONGEST_ADDRESS = 2_000
MOST_AUTHORS = 20
LONGEST_JSON = 1_000_000
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
    kind: PageKind
    metas: tuple[tuple[str, str], ...]
    """Name in lower case and content of each <meta> that the caller named."""


def read_page_facts(said: Iterable[MetadataElement], url: str, wanted: Container[str]) -> PageFacts:
    """Return the facts in the elements of the page at `url`. `wanted` names the <meta>s that are returned unchanged."""
    every = list(said)
    meta: dict[str, str] = {}
    metas: list[tuple[str, str]] = []
    authors: list[str] = []
    for each in every:
        content = each.attributes.get("content")
        if each.tag != "meta" or content is None:
            continue
        named = each.attributes.get("name", "").strip().lower()
        if named in wanted:
            metas.append((named, content))
        name = named or _first(each, "property", "itemprop", "http-equiv").strip().lower()
        meta.setdefault(name, content.strip())
        if name in AUTHORS and "://" not in content:
            authors.append(content)
    linked = list(_linked(every))
    return PageFacts(
        title=_title(every, meta),
        author=_author([*authors, *(name for node in linked for name in _authors(node))]),
        date=_date(every, meta, linked),
        language=_language(every, meta),
        license=_license(every, meta),
        canonical_url=_canonical(every, meta, url),
        kind=page_kind(meta, linked, url),
        metas=tuple(metas),
    )


def _first(said: MetadataElement, *names: str) -> str:
    return next((said.attributes[name] for name in names if name in said.attributes), "")


def _title(said: list[MetadataElement], meta: dict[str, str]) -> str:
    stated = [
        *(each.text for each in said if each.tag == "title"),
        meta.get("og:title", ""),
        meta.get("twitter:title", ""),
    ]
    return next((found[:LONGEST_TITLE] for text in stated if (found := " ".join(text.split()))), "")


def _author(stated: Iterable[str]) -> str:
    names: dict[str, str] = {}
    for written in stated:
        name = _BY.sub("", " ".join(written.split()))
        if 0 < len(name) <= LONGEST_NAME:
            names.setdefault(name.casefold(), name)
    return "; ".join(list(names.values())[:MOST_AUTHORS])


def _date(said: list[MetadataElement], meta: dict[str, str], linked: list[dict[str, Any]]) -> str:
    stated = [meta[name] for name in DATES if name in meta]
    stated += [node["datePublished"] for node in linked if isinstance(node.get("datePublished"), str)]
    stated += [each.attributes.get("datetime", "") for each in said if each.tag == "time"]
    return next(filter(None, (day(_DAY.match(each)) for each in stated)), "")


def _language(said: list[MetadataElement], meta: dict[str, str]) -> str:
    root = next((each for each in said if each.tag == "html"), None)
    stated = "" if root is None else _first(root, "lang", "xml:lang")
    found = LANGUAGE.fullmatch((stated or meta.get("content-language", "")).strip())
    return found[0] if found else ""


def _license(said: list[MetadataElement], meta: dict[str, str]) -> str:
    """Return the licence that a marked link or a <meta> states. An unmarked link may apply to anything on the page."""
    stated = [
        each.attributes.get("href", "")
        for each in said
        if "license" in each.attributes.get("rel", "").lower().split()
    ]
    stated += [meta[name] for name in LICENSES if name in meta]
    return next(filter(None, map(creative_commons, stated)), "")


def _canonical(said: list[MetadataElement], meta: dict[str, str], url: str) -> str:
    stated = [
        each.attributes.get("href", "")
        for each in said
        if each.tag == "link" and "canonical" in each.attributes.get("rel", "").lower().split()
    ]
    for written in (*stated, meta.get("og:url", "")):
        try:
            found = urljoin(url, written.strip())
            usable = urlsplit(found).scheme in {"http", "https"}
        except ValueError:
            continue
        if written.strip() and usable and len(found) <= LONGEST_ADDRESS:
            return found
    return ""


def _linked(said: Iterable[MetadataElement]) -> Iterator[dict[str, Any]]:
    """Yield the nodes of the page's JSON-LD (schema.org), outer nodes first."""
    for each in said:
        if each.tag == "script" and len(each.text) <= LONGEST_JSON:
            try:
                yield from _nodes(json.loads(each.text, strict=False), DEEPEST_JSON)
            except (ValueError, RecursionError):
                continue


def _nodes(value: Any, deep: int) -> Iterator[dict[str, Any]]:
    if not deep:
        return
    if isinstance(value, list):
        for each in value:
            yield from _nodes(each, deep - 1)
    elif isinstance(value, dict):
        yield value
        for each in value.values():
            if isinstance(each, dict | list):
                yield from _nodes(each, deep - 1)


def _authors(node: dict[str, Any]) -> Iterator[str]:
    stated = node.get("author")
    for each in stated if isinstance(stated, list) else [stated]:
        name = each.get("name") if isinstance(each, dict) else each
        if isinstance(name, str) and "://" not in name:
            yield name
