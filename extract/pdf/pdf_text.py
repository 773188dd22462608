"""Extract the text of a PDF, page by page. Pure: the same bytes give the same text.

1. If the library fails on a document, the result is a `Skip`; the run continues. (This module cannot catch a native
   crash.)
2. No time is measured. The document alone bounds the work: `LONGEST`, `MAX_PAGES`, and the counts of `bombs` and
   `pdfium`.
3. A page is text, or blank, or left out and counted by its reason. If all pages that are not blank are left out, the
   result is a `Skip` with the most frequent reason.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from thresher.core.unicode14 import known, original
from thresher.extract.pdf import furniture, pdf_facts
from thresher.extract.pdf.bombs import is_bomb
from thresher.extract.pdf.hyphens import SOFT, lexicon
from thresher.extract.pdf.page_text import HYPHEN, PdfPageKind, PdfPageText
from thresher.extract.pdf.paragraphs import Paragraph, aside, join_continued, paragraphs
from thresher.extract.pdf.pdf_extraction import PdfExtraction
from thresher.extract.pdf.pdf_lines import build_lines
from thresher.extract.pdf.pdfium import MAX_STEPS, PdfDocument, PdfPage, open_document
from thresher.extract.pdf.quality import is_garbled, normal
from thresher.extract.pdf.reading_order import reading_order
from thresher.extract.skip import Skip

EXTRACTOR = f"pypdfium2@{version('pypdfium2')}"
LONGEST = 64 << 20
"""Bytes of a document at most, as of every payload (`storage.warc.records`)."""
MAX_PAGES = 5_000
MAX_CHARACTERS = 10_000_000
"""Characters of a document at most, as of an HTML page. Each line counts as `LINE` more, because ordering lines takes
time.
"""
LINE = 20
"""Characters that a line counts as, besides its own (`MAX_CHARACTERS`)."""
MAX_OBJECTS = 5_000_000
"""Objects of a document at most: they take 10 s. Of 1,002 real pages, the fullest has 66,357 objects."""
MIN_PAGE_CHARACTERS = 40
"""Characters on a page below which its pictures decide its kind: they may be a page number or the stamp of a scanner.
"""
MIN_SCAN_IMAGE_SHARE = 0.4
"""Share of the page that a picture must cover for a page with little text to count as a scan."""
MIN_DRAWN_OBJECTS = 500
"""Objects from which on a page without any text counts as drawn letters."""
HEADER = b"%PDF-"
HEADER_WITHIN = 1024
"""Bytes at the beginning in which the header must lie (ISO 32000-1, annex H, note 13)."""
TRAILER = b"%%EOF"
TRAILER_WITHIN = 2048
"""Bytes at the end in which the trailer must lie; twice as many as Acrobat requires."""
_REASONS: dict[PdfPageKind, str] = {
    "scanned": "scanned_pdf",
    "garbled": "garbled_pdf",
    "beyond": "too_complex",
    "lost": "broken_pdf",
}


def extract(payload: bytes, *, truncated: bool = False) -> PdfExtraction | Skip:
    """Return the text of a PDF, or a `Skip`. No document makes it raise.

    `truncated` says that the payload is known to be cut off. If it is, or if it has no end, the readable pages are
    returned and the lost pages counted; if none is readable, the reason is `truncated_pdf`. Other reasons: `not_pdf`,
    `too_large`, `too_complex`, `encrypted`, `broken_pdf`, `scanned_pdf`, `garbled_pdf`, `no_text`.
    """
    if HEADER not in payload[:HEADER_WITHIN]:
        return Skip(reason="not_pdf")
    if len(payload) > LONGEST:
        return Skip(reason="too_large")
    if is_bomb(payload):
        return Skip(reason="too_complex")
    with open_document(payload) as document:
        reason = document if isinstance(document, str) else "broken_pdf"
        found = (
            Skip(reason=reason)
            if isinstance(document, str) or not document.pages
            else _extract_document(document, payload)
        )
    if isinstance(found, Skip) and found.reason == "broken_pdf" and (truncated or is_cut_off(payload)):
        return Skip(reason="truncated_pdf")
    return found


def _extract_document(document: PdfDocument, payload: bytes) -> PdfExtraction | Skip:
    pages = list(_pages(document))
    text = _text(pages)
    kinds = Counter(page.kind for page in pages)
    kinds["beyond"] += document.pages - len(pages)
    if not text:
        reasons = [(kinds[kind], reason) for kind, reason in _REASONS.items() if kinds[kind]]
        return Skip(reason=max(reasons, key=lambda counted: counted[0])[1] if reasons else "no_text")
    packet = pdf_facts.packet(payload)
    return PdfExtraction(
        text=text,
        title=pdf_facts.title(document, packet),
        author=pdf_facts.author(document, packet),
        date=pdf_facts.date(document, packet),
        declared_language=pdf_facts.language(document, packet),
        license=pdf_facts.license_(packet),
        pages=document.pages,
        scanned=kinds["scanned"],
        garbled=kinds["garbled"],
        beyond=kinds["beyond"],
        lost=kinds["lost"],
        is_cut_off=is_cut_off(payload),
    )


def is_cut_off(payload: bytes) -> bool:
    """Return whether a document has no end, because a server or an archive cut it off."""
    return TRAILER not in payload[-TRAILER_WITHIN:]


def _pages(document: PdfDocument) -> Iterator[PdfPageText]:
    """Yield the pages until the document exceeds a bound."""
    steps = objects = characters = 0
    for number in range(min(document.pages, MAX_PAGES)):
        with document.page(number) as sheet:
            if sheet is None:
                yield PdfPageText(kind="lost")
                continue
            content = sheet.content()
            steps += content.text_objects**2
            objects += content.objects
            if steps > MAX_STEPS or objects > MAX_OBJECTS or characters > MAX_CHARACTERS:
                return
            if content.beyond:
                yield PdfPageText(kind="beyond")
                continue
            page = _page(sheet, content.image_share, content.objects)
            characters += sum(len(line.text) + LINE for line in page.lines)
            yield page


def _page(sheet: PdfPage, image_share: float, objects: int) -> PdfPageText:
    words = sheet.words()
    if words is None:
        return PdfPageText(kind="beyond")
    text = known(" ".join(word.text for word in words)).replace(HYPHEN, "-")
    characters = sum(len(word.text) for word in words)
    if characters < MIN_PAGE_CHARACTERS and image_share >= MIN_SCAN_IMAGE_SHARE:
        return PdfPageText(kind="scanned")
    if not words:
        return PdfPageText(kind="scanned" if objects >= MIN_DRAWN_OBJECTS else "blank")
    if is_garbled(text, unmapped=sum(word.unmapped for word in words) / len(words)):
        return PdfPageText(kind="garbled")
    lines, rotated_text = build_lines([word._replace(text=known(word.text)) for word in words])
    return PdfPageText(kind="text", lines=lines, rotated_text=rotated_text, height=sheet.height)


def _text(pages: Sequence[PdfPageText]) -> str:
    texts = [page for page in pages if page.kind == "text"]
    words = lexicon(line.text for page in texts for line in page.lines)
    found: list[Paragraph] = []
    for number, (page, kept) in enumerate(zip(texts, furniture.remove_furniture(texts), strict=True)):
        found += paragraphs(reading_order(kept), number, words)
        found += (aside(text, number) for text in page.rotated_text)
    # Within a line, a reader sees the hyphen that a font calls soft.
    joined = (text.replace(HYPHEN, "-").replace(SOFT, "-") for text in join_continued(found, words))
    whole = (normal(paragraph).strip() for paragraph in joined)
    # A lone surrogate has no bytes in UTF-8.
    return original("\n\n".join(filter(None, whole))).encode(errors="replace").decode()
