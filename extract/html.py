"""HTML to main text, made deterministic.

1. A page is parsed once, into boxes and blocks (`extract.page`), and everything is decided on them.
2. There is no time limit, and nothing is remembered of other pages. What bounds the work is the page: `bounds`, and `MOST_ELEMENTS`.
3. Whatever a page makes of the parser is the page's fate, a `Skip`, and never the run's.
"""

from lxml import etree

from extract import page_facts
from extract.bounds import LONGEST, exceeded_bound
from extract.extraction import Extraction
from extract.page import content, layout, page_reader
from extract.page.boxes import MOST_ELEMENTS
from extract.rights import METAS
from extract.skip import Skip

__all__ = ["EXTRACTOR", "LONGEST", "extract"]

EXTRACTOR = f"page@1+libxml2-{'.'.join(map(str, etree.LIBXML_VERSION))}"
"""Another parser may read another tree."""


def extract(html: str, url: str, *, markdown: bool = False) -> Extraction | Skip:
    """The main text of a page, tables included, readers' comments left out; plain, or as Markdown. Never raises."""
    # NUL ends a C string, and with it the page, in the parser below; half a surrogate pair has no bytes.
    body = html.replace("\0", "").encode(errors="replace")
    if not body.strip():
        return Skip(reason="empty_body")
    if (reason := exceeded_bound(html)) is not None:
        return Skip(reason=reason)
    page = page_reader.read_page(body)
    if page is None:
        return Skip(reason="no_text")
    if page.elements > MOST_ELEMENTS:
        return Skip(reason="too_large")
    said = page_facts.read_page_facts(page.metadata, url, METAS)
    chosen = content.choose_content(page, said.title, said.kind)
    text = (layout.markdown if markdown else layout.plain)(chosen)
    if not text:
        return Skip(reason="no_text")
    return Extraction(
        text=text,
        extractor=EXTRACTOR,
        route=said.kind,
        title=said.title
        or next((block.text for block in page.blocks if block.tag == "h1"), "")[: page_facts.LONGEST_TITLE],
        author=said.author,
        date=said.date,
        declared_language=said.language,
        license=said.license,
        canonical_url=said.canonical_url,
        metas=said.metas,
    )
