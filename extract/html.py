"""Extract the main text of an HTML page, deterministically.

1. A page is parsed once, into boxes and blocks (`extract.page`). Every decision uses these.
2. There is no time limit, and nothing is remembered of other pages. The page alone bounds the work (`bounds`,
   `MAX_ELEMENTS`).
3. If the parser fails on a page, the result is a `Skip`; the run continues.
"""

import gc
from collections.abc import Callable, Iterable
from functools import partial

import ada_url
from lxml import etree

from thresher.core.unicode14 import original
from thresher.extract.bounds import LONGEST, exceeded_bound
from thresher.extract.charset import DecodedText
from thresher.extract.engines.page_engine import EngineFacts, PageEngine
from thresher.extract.extraction import Extraction
from thresher.extract.facts.page_facts import PageFacts, complete_facts, read_page_facts
from thresher.extract.late_parts import move_late_parts
from thresher.extract.later_characters import known_page
from thresher.extract.page import content, page_reader, unseen
from thresher.extract.page.boxes import MAX_ELEMENTS, Block, MetadataElement, ParsedPage
from thresher.extract.page.page_kind import PageKind
from thresher.extract.rights import METAS
from thresher.extract.skip import Skip
from thresher.extract.writing import layout

__all__ = ["EXTRACTOR", "LONGEST", "extract"]

EXTRACTOR = f"page@6+libxml2-{'.'.join(map(str, etree.LIBXML_VERSION))}"
"""Name of the extractor; it includes the version of the parser, because another version may read another tree."""

LINK_SCHEMES = ("http:", "https:", "ftp:", "mailto:")
"""Schemes of links that Markdown has."""


def extract(
    html: str | DecodedText,
    url: str,
    *,
    markdown: bool = False,
    links: bool = False,
    engine: PageEngine | None = None,
    day: str = "",
) -> Extraction | Skip:
    """Return the main text of a page, with tables and without readers' comments, plain or as Markdown. Never raise.

    With `links`, Markdown has the targets of links, as absolute URLs. An `engine` extracts the text in place of
    `extract.page`, and may raise anything. It needs the `day` of the fetch in ISO 8601. Facts that it does not find are
    our own.
    """
    # A page makes thousands of objects and no cycle that lives longer, so the collector would visit them for nothing.
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return _extract(html, url, markdown=markdown, links=links, engine=engine, day=day)
    finally:
        if is_collecting:
            gc.enable()


def _extract(
    html: str | DecodedText, url: str, *, markdown: bool, links: bool, engine: PageEngine | None, day: str
) -> Extraction | Skip:
    text, body = (html, html.encode(errors="replace")) if isinstance(html, str) else (html.text, html.utf8)
    # NUL would end the page in the parser, which is written in C. A lone surrogate has no bytes in UTF-8.
    body = known_page(body.replace(b"\0", b""))
    if not body or body.isspace():
        return Skip(reason="empty_body")
    if (reason := exceeded_bound(text)) is not None:
        return Skip(reason=reason)
    shown = _with_parts(body)
    page = page_reader.read_page(shown, marks=markdown)
    if page is not None and not page.blocks and (closed := unseen.close_title(body)) is not None:
        body, shown = closed, _with_parts(closed)
        page = page_reader.read_page(shown, marks=markdown)
    if page is None:
        return Skip(reason="no_text")
    if page.elements > MAX_ELEMENTS:
        return Skip(reason="too_large")
    facts = read_page_facts(page, url, METAS)
    if engine is not None:
        text, found, kind = engine.text(body.decode(), markdown), engine.facts(body.decode(), url, day), ""
    else:
        resolve = _resolver(page.metadata, url) if links else None
        write = partial(layout.markdown, resolve=resolve) if markdown else layout.plain
        text, facts, kind = _own_text(page, shown, facts, url, write)
        found = EngineFacts()
    page.release()
    text = original(text)
    if not text.strip():
        return Skip(reason="no_text")
    stated = {
        name: (theirs, "" if engine is None else engine.name) if theirs else (ours.value, ours.source)
        for name, theirs, ours in (
            ("title", found.title, facts.title),
            ("author", found.author, facts.author),
            ("date", found.date, facts.date),
        )
    }
    return Extraction(
        text=text,
        extractor=EXTRACTOR if engine is None else engine.name,
        route=kind,
        title=original(stated["title"][0]),
        author=original(stated["author"][0]),
        date=original(stated["date"][0]),
        fact_sources="; ".join(f"{name}: {source}" for name, (value, source) in stated.items() if value),
        declared_language=facts.language,
        license=original(facts.license),
        canonical_url=original(facts.canonical_url),
        metas=tuple((name, original(content)) for name, content in facts.metas),
    )


def _with_parts(body: bytes) -> bytes:
    """Return a page with its late parts in their places, unless it exceeds a bound then."""
    moved = move_late_parts(body)
    return body if moved is not body and exceeded_bound(moved.decode()) is not None else moved


def _own_text(
    page: ParsedPage, html: bytes, facts: PageFacts, url: str, write: Callable[[list[Block]], str]
) -> tuple[str, PageFacts, PageKind]:
    """Return the text that `extract.page` chooses of a page, the facts with those of hidden content, and the kind."""
    kind = facts.kind
    chosen = content.choose_content(page, facts.page_title, kind)
    chosen, revealed = unseen.choose_unseen(chosen, page, html, facts.article_body, facts.page_title, kind)
    if not chosen and kind in {"article", "page"}:
        kind = "discussion"  # comments are all that the page may have
        chosen = content.choose_content(page, facts.page_title, kind)
    text = write(chosen)
    if revealed is not None:
        facts = complete_facts(facts, read_page_facts(revealed, url, METAS))
        revealed.release()
    return text, facts, kind


def _resolver(metadata: Iterable[MetadataElement], url: str) -> Callable[[str], str]:
    """Return a function that returns the absolute URL of a target; `""` if it leads to no other page or file."""
    base = next((each.attributes.get("href", "") for each in metadata if each.tag == "base"), "")
    base = _join(url, base) or url

    def resolve(target: str) -> str:
        found = "" if target.startswith("#") else _join(base, target)
        return found if found.startswith(LINK_SCHEMES) else ""

    return resolve


def _join(base: str, target: str) -> str:
    target = original(target)
    try:
        return str(ada_url.join_url(base, target)) if base else str(ada_url.URL(target).href)
    except ValueError:
        return ""
