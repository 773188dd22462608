"""resiliparse's main content, which DCLM uses (arXiv 2406.11794, section 4.2).

DCLM has published neither the call nor its options. These are NeMo Curator's (ResiliparseExtractor, 25.09):
`main_content=True` and `alt_texts=False`, everything else by default.
"""

from resiliparse.extract.html2text import extract_plain_text

from thresher.extract.engines.page_engine import EngineFacts


def text(html: str, markdown: bool) -> str:  # noqa: ARG001 - the configuration refuses Markdown
    """Return the main content of a page."""
    found: str = extract_plain_text(html, main_content=True, alt_texts=False)
    return found


def facts(html: str, url: str, day: str) -> EngineFacts:  # noqa: ARG001 - as of every engine
    """Return nothing, because resiliparse finds no facts."""
    return EngineFacts()
