"""`PageKind`: the kind of a page, from the facts that it states and from its URL. Pure.

A page made by a documentation tool is a reference, a page of forum software a discussion. The types of schema.org and
Open Graph count next, and the URL last. If nothing decides, the kind is `page`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from thresher.extract.page.boxes import ParsedPage

PageKind = Literal["article", "discussion", "reference", "product", "page"]

_GENERATORS: tuple[tuple[PageKind, re.Pattern[str]], ...] = (
    (
        "reference",
        re.compile(
            r"sphinx|docutils|mkdocs|docusaurus|doxygen|javadoc|gitbook|docbook|rustdoc|vitepress|vuepress|antora|asciidoc"
            r"|mdbook|jsdoc|yard|pdoc"
            r"|starlight|read ?the ?docs|jekyll-docs|hugo book|texinfo|makeinfo|mediawiki|dokuwiki|man2html|lazydoc"
            r"|fpdoc|pasdoc|epydoc|haddock|pydoctor|publican|latex2html|hevea|ldoc\b|documenter\.jl|ex_doc|zensical|nimdoc"
            r"|odoc|texi2|doctext",
            re.IGNORECASE,
        ),
    ),
    (
        "discussion",
        re.compile(
            r"vbulletin|phpbb|discourse|xenforo|mybb|simple machines|smf|invision|ip\.board|flarum|vanilla|nodebb"
            r"|bbpress|fluxbb|punbb|question2answer",
            re.IGNORECASE,
        ),
    ),
)
_TYPES: Mapping[str, PageKind] = {
    **dict.fromkeys(
        ("article", "newsarticle", "blogposting", "report", "reportagenewsarticle", "analysisnewsarticle",
         "opinionnewsarticle", "scholarlyarticle", "recipe", "liveblogposting"),
        "article",
    ),
    **dict.fromkeys(("discussionforumposting", "qapage", "question"), "discussion"),
    **dict.fromkeys(("techarticle", "apireference", "softwaresourcecode", "definedterm"), "reference"),
    **dict.fromkeys(("product", "productgroup", "individualproduct", "vehicle", "hotel", "apartment"), "product"),
}  # fmt: skip
_OPEN_GRAPH: Mapping[str, PageKind] = {"article": "article", "product": "product", "og:product": "product"}
_PATHS: tuple[tuple[PageKind, re.Pattern[str]], ...] = (
    (
        "discussion",
        re.compile(
            r"/(?:forums?|threads?|board|viewtopic|showthread|discussions?|questions)(?:[/.?]|\.php)|/t/[^/]+/\d+"
            r"|/thread-\d|/viewthread|/comments/[a-z0-9]{5,7}/|/question/\d|/topics?/\d|-t\d+\.html|//community\."
            r"|//(?:forums?|board)\.|/topic(?:/|\.\w+\?)|[?&](?:topic|showtopic|threadid)=",
            re.IGNORECASE,
        ),
    ),
    (
        "reference",
        re.compile(
            r"/(?:docs?|documentation|api|reference|manual|wiki|javadoc|apidocs?|man)/", re.IGNORECASE
        ),
    ),
)


_MANUAL = re.compile(
    r"\b(?:documentation|(?:reference|programmer'?s?|user'?s?|developer'?s?) (?:manual|guide)|api (?:reference|docs?)"
    r"|man(?:ual)? pages?)\b|\bmanual$"
    r"|\(v?\d{1,3}(?:\.(?:\d{1,3}|x)){1,3}\)\s[|:\u2013\u2014-]\s"
    r"|\s[|:\u2013\u2014-]\s[^|]{2,40}\s(?:version |v)?\d+\.\d+(?:\.\d+)*$",
    re.IGNORECASE,
)


PARTS_OF_BOOKS = frozenset(("chapter", "section", "subsection", "appendix"))
"""Relations of HTML 4 (section 6.12) between a page and the other parts of the book that it belongs to."""


def kind_by_contents(kind: PageKind, title: str, page: ParsedPage) -> PageKind:
    """Return what the contents of a page show of its kind, or else `kind`.

    A page or an article is a discussion if its boxes have names that sites give to the comments on a link. A page that
    states no kind is a reference if its title names a manual, if its boxes have names that tools for documentation
    give, or if it states which chapters the book has that it belongs to.
    """
    if kind in {"page", "article"} and any(box.is_link_discussion for box in page.boxes):
        return "discussion"
    if kind == "page" and (
        _MANUAL.search(title)
        or any(box.is_reference for box in page.boxes)
        or any(
            each.tag == "link"
            and not PARTS_OF_BOOKS.isdisjoint(each.attributes.get("rel", "").lower().split())
            for each in page.metadata
        )
    ):
        return "reference"
    return kind


def page_kind(meta: Mapping[str, str], json_ld: Iterable[Mapping[str, Any]], url: str) -> PageKind:
    """Return the kind of a page with these <meta>s (by name in lower case), JSON-LD nodes and URL."""
    generator = meta.get("generator", "")
    for kind, pattern in _GENERATORS:
        if pattern.search(generator):
            return kind
    stated_types = list(_types(json_ld))
    for name in stated_types:
        # The questions of an FAQ are not asked by readers.
        if (found := _TYPES.get(name)) and not (name == "question" and "faqpage" in stated_types):
            return found
    stated = _OPEN_GRAPH.get(meta.get("og:type", "").lower())
    if stated == "article" and (
        "collectionpage" in stated_types
        or ("article:modified_time" in meta and "article:published_time" not in meta)
    ):
        stated = None
    by_address = next((kind for kind, pattern in _PATHS if pattern.search(url)), None)
    if stated == "article" and by_address in {"discussion", "reference"}:
        return by_address  # the software of forums says so of every page
    return stated or by_address or "page"


def _types(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the types of the nodes in lower case."""
    for node in nodes:
        types = node.get("@type")
        for name in types if isinstance(types, list) else [types]:
            if isinstance(name, str):
                yield name.lower()
