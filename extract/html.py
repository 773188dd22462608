"""Extract the main text of an HTML page, deterministically.

1. A page is parsed once, into boxes and blocks (`extract.page`). Every decision uses these.
2. There is no time limit, and nothing is remembered of other pages. The page alone bounds the work (`bounds`,
   `MAX_ELEMENTS`).
3. If the parser fails on a page, the result is a `Skip`; the run continues.
"""

from lxml import etree

from extract.bounds import LONGEST, exceeded_bound
from extract.extraction import Extraction
from extract.facts.page_facts import read_page_facts
from extract.page import content, layout, page_kind, page_reader, unseen
from extract.page.boxes import MAX_ELEMENTS
from extract.rights import METAS
from extract.skip import Skip

__all__ = ["EXTRACTOR", "LONGEST", "extract"]

EXTRACTOR = f"page@2+libxml2-{'.'.join(map(str, etree.LIBXML_VERSION))}"
"""Name of the extractor; it includes the version of the parser, because another version may read another tree."""


def extract(html: str, url: str, *, markdown: bool = False) -> Extraction | Skip:
    """Return the main text of a page, with tables and without readers' comments, plain or as Markdown. Never raise."""
    # NUL would end the page in the parser, which is written in C. A lone surrogate has no bytes in UTF-8.
    body = html.replace("\0", "").encode(errors="replace")
    if not body.strip():
        return Skip(reason="empty_body")
    if (reason := exceeded_bound(html)) is not None:
        return Skip(reason=reason)
    page = page_reader.read_page(body)
    if page is None:
        return Skip(reason="no_text")
    if page.elements > MAX_ELEMENTS:
        return Skip(reason="too_large")
    facts = read_page_facts(page, url, METAS)
    kind = page_kind.kind_by_contents(facts.kind, facts.page_title, page.boxes)
    chosen = content.choose_content(page, facts.page_title, kind)
    chosen = unseen.choose_unseen(chosen, page, body, facts.article_body, facts.page_title, kind)
    text = (layout.markdown if markdown else layout.plain)(chosen)
    if not text:
        return Skip(reason="no_text")
    return Extraction(
        text=text,
        extractor=EXTRACTOR,
        route=kind,
        title=facts.title.value,
        author=facts.author.value,
        date=facts.date.value,
        fact_sources="; ".join(
            f"{name}: {stated.source}"
            for name, stated in (("title", facts.title), ("author", facts.author), ("date", facts.date))
            if stated.value
        ),
        declared_language=facts.language,
        license=facts.license,
        canonical_url=facts.canonical_url,
        metas=facts.metas,
    )
