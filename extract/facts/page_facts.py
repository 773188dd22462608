"""Read the facts that a page states about itself: title, author, date, language, licence, its own URL.

Title, author and date come from the markup that is made for them, or else from what a reader sees: the headline, the
lines beside it, and lines whose class says that they are a byline. Each of these has its source. Any other fact is read
only from the markup that is made for it. If the page states a fact twice, the more reliable statement counts, and the
first of equal ones.
"""

import sys
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby, islice, tee

from thresher.core.unicode14 import known
from thresher.core.url import join_url, split_url
from thresher.extract.fact_formats import LANGUAGE, creative_commons
from thresher.extract.facts import json_ld
from thresher.extract.facts.page_author import (
    AUTHOR_LINK,
    BYLINE_NAMES,
    FIRST_USER,
    STATED_AUTHOR,
    choose_author,
)
from thresher.extract.facts.page_date import DATE_NAMES, choose_date
from thresher.extract.facts.page_title import MAX_TITLE_LENGTH, choose_title
from thresher.extract.facts.stated import Stated
from thresher.extract.page.boxes import MetadataElement, ParsedPage
from thresher.extract.page.headline import heading_of_page, headline
from thresher.extract.page.page_kind import PageKind, kind_by_contents, page_kind
from thresher.extract.references import unescape

MAX_ADDRESS_LENGTH = 2_000
MAX_LINE_LENGTH = 160
"""Characters of a line that states a day or an author, at most."""
MAX_BYLINE_LENGTH = 80
"""Characters of a line anywhere on the page that names an author, at most."""
MAX_FIRST_LINES, MAX_LAST_LINES = 120, 30
"""Lines at the begin and at the end of a page that may state a day or an author, if nothing else does, at most."""
BEFORE, AFTER = 6, 10
"""Lines before and after the headline that may state a day or an author."""
MAX_NAMED_LINES = 20
"""Lines of boxes with names for bylines and dates that are read, at most."""
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
MONTH_FIRST = frozenset(("en", "en-us", "en_us"))
"""Languages in which `1/2/2020` is the second of January."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """The facts that a page states about itself. Absent facts are empty."""

    page_title: str
    """The <title> of the page, or else the title for Open Graph; it may have the name of the site."""
    title: Stated
    """The title of the page without the name of its site."""
    author: Stated
    """Names, separated by `; `."""
    date: Stated
    """Day of publication in ISO 8601; if the page does not state it, the day of the last change."""
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


def read_page_facts(page: ParsedPage, url: str, meta_names: Container[str]) -> PageFacts:
    """Return the facts of the page at `url`. Return the <meta>s in `meta_names` unchanged."""
    elements = page.metadata
    meta: dict[str, str] = {}
    metas: list[tuple[str, str]] = []
    named: list[tuple[str, str]] = []
    for element in elements:
        content = element.attributes.get("content")
        if element.tag != "meta" or content is None:
            continue
        meta_name = element.attributes.get("name", "").strip().lower()
        if meta_name in meta_names:
            metas.append((meta_name, content))
        name = meta_name or _first(element, "property", "itemprop", "http-equiv").strip().lower()
        meta.setdefault(name, content.strip())
        named.append((name, content))
    nodes = list(json_ld.read_nodes(elements))
    titles = [element.text for element in elements if element.tag == "title"]
    whole = next(filter(None, (" ".join(text.split()) for text in titles)), "") or meta.get("og:title", "")
    language = _language(elements, meta)
    sites = list(_sites(meta, nodes, url))
    kind = kind_by_contents(page_kind(meta, nodes, url), whole[:MAX_TITLE_LENGTH], page)
    # Both are read only as far as they are needed.
    lines_for_author, lines_for_date = tee(_beside_headline(page, whole))
    return PageFacts(
        page_title=whole[:MAX_TITLE_LENGTH],
        title=choose_title(
            titles,
            _headings(page, "h1"),
            _headings(page, "h2", "h3"),
            list(_stated_titles(meta, nodes)),
            sites,
        ),
        author=choose_author(
            named,
            nodes,
            list(_marked_authors(elements, kind)),
            chain(
                _author_links(elements),
                _named_lines(page, _names_byline),
                lines_for_author,
                _lines(page, most=MAX_BYLINE_LENGTH),
            ),
            sites,
        ),
        date=choose_date(
            meta,
            nodes,
            elements,
            chain(
                lines_for_date,
                _named_lines(page, _names_date),
                _lines(page, most=MAX_LINE_LENGTH),
                _lines(page, least=MAX_LINE_LENGTH + 1),
            ),
            url,
            month_first=language.lower() in MONTH_FIRST,
        ),
        language=language,
        license=_license(elements, meta),
        canonical_url=_canonical(elements, meta, url),
        article_body=_article_body(nodes),
        kind=kind,
        metas=tuple(metas),
    )


def complete_facts(facts: PageFacts, others: PageFacts) -> PageFacts:
    """Return the facts with the author and the date of others where the page states none."""
    return replace(
        facts,
        author=facts.author if facts.author.value else others.author,
        date=facts.date if facts.date.value else others.date,
    )


def _first(element: MetadataElement, *names: str) -> str:
    return next((element.attributes[name] for name in names if name in element.attributes), "")


def _headings(page: ParsedPage, *tags: str) -> list[str]:
    return [block.text for block in page.blocks if block.tag in tags]


def _stated_titles(meta: dict[str, str], nodes: Sequence[json_ld.Node]) -> Iterator[Stated]:
    """Yield the titles for other programs, most reliable first."""
    for key in ("headline", "name"):
        for node in json_ld.of_article(nodes):
            if isinstance(node.get(key), str) and json_ld.types(node):
                yield Stated(node[key], f"json-ld {key}")
    for name in (
        "og:title",
        "twitter:title",
        "dc.title",
        "dcterms.title",
        "citation_title",
        "parsely-title",
        "title",
    ):
        if name in meta:
            yield Stated(meta[name], f"meta {name}")


def _sites(meta: dict[str, str], nodes: Sequence[json_ld.Node], url: str) -> Iterator[str]:
    """Yield the names that the page states for its site."""
    yield from (
        meta[name]
        for name in ("og:site_name", "application-name", "al:ios:app_name", "twitter:site")
        if name in meta
    )
    for node in nodes:
        if json_ld.types(node) & {"website", "organization", "newsmediaorganization"}:
            yield from json_ld.names(node)
        yield from json_ld.names(node.get("publisher"))
    host = split_url(url).host.removeprefix("www.")
    yield host
    yield host.partition(".")[0]


def _beside_headline(page: ParsedPage, title: str) -> Iterator[tuple[str, str]]:
    """Yield the short lines beside the headline, those after it first."""
    head = heading_of_page(title, page.blocks)
    if head is None:
        head = headline(title, page.blocks, len(page.blocks))
    if head is None:
        return
    for block in (
        *page.blocks[head + 1 : head + AFTER],
        *reversed(page.blocks[max(0, head - BEFORE) : head]),
    ):
        if block.length <= MAX_LINE_LENGTH:
            yield block.text, "beside headline"


def _lines(page: ParsedPage, *, least: int = 0, most: int = sys.maxsize) -> Iterator[tuple[str, str]]:
    """Yield the first and the last lines of the page outside of comments, of `least` to `most` characters."""
    blocks = page.blocks
    if len(blocks) > MAX_FIRST_LINES + MAX_LAST_LINES:
        blocks = [*blocks[:MAX_FIRST_LINES], *blocks[-MAX_LAST_LINES:]]
    for block in blocks:
        if least <= block.length <= most and not block.box.comments:
            yield block.text, "line"


def _marked_authors(elements: Sequence[MetadataElement], kind: PageKind) -> Iterator[tuple[str, str]]:
    """Yield the names that are marked as authors, and in a discussion that of the first user."""
    for element in elements:
        if element.tag == "author":
            is_stated = element.attributes.get("itemprop") == "author"
            yield element.text, STATED_AUTHOR if is_stated else "marked author"
    users = (element.text for element in elements if element.tag == "user")
    if kind == "discussion" and (first := next(users, "")):
        yield first, FIRST_USER


def _author_links(elements: list[MetadataElement]) -> Iterator[tuple[str, str]]:
    """Yield the names of links to pages about authors; names in one block are those of co-authors."""
    links = (element for element in elements if element.tag == AUTHOR_LINK)
    for _, group in groupby(links, key=lambda element: element.block):
        yield ", ".join(element.text for element in group), AUTHOR_LINK


# Each pattern has a cache of its own, because the hash of a pattern takes longer than most searches.
@lru_cache(maxsize=1 << 13)
def _names_byline(names: str) -> bool:
    return BYLINE_NAMES.search(names) is not None


@lru_cache(maxsize=1 << 13)
def _names_date(names: str) -> bool:
    return DATE_NAMES.search(names) is not None


def _named_lines(page: ParsedPage, fits: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield the short lines of small boxes whose names fit."""
    found = (
        (block.text, f"class {box.names}")
        for box in page.boxes
        if box.names and box.first < box.last <= box.first + 3 and not box.comments and fits(box.names)
        for block in page.blocks[box.first : box.last]
        if block.length <= MAX_LINE_LENGTH
    )
    yield from islice(found, MAX_NAMED_LINES)


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
        found = join_url(url, written.strip())
        parts = split_url(found)
        usable = parts.scheme in {"http", "https"} and parts.host
        if written.strip() and usable and len(found) <= MAX_ADDRESS_LENGTH:
            return found
    return ""


def _article_body(nodes: Sequence[json_ld.Node]) -> str:
    """Return the longest text of an article."""
    stated = [body for node in nodes if isinstance(body := node.get("articleBody"), str)]
    return known(max(map(unescape, stated), key=len, default=""))
