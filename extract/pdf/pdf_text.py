"""PDF to text, page by page. Pure: the same bytes give the same text.

1. Whatever a document makes of the library is its fate, a `Skip`, and never the run's. (A native crash is not seen from
   here.)
2. No time is measured. What bounds the work is the document: `LONGEST`, `MOST_PAGES`, and what `bombs` and `pdfium` count.
3. A page is text, or blank, or left out and counted by its reason; a document of which all pages with something on
   them are left out is a `Skip` with the reason of most of them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from extract.pdf import furniture, pdf_facts
from extract.pdf.bombs import is_bomb
from extract.pdf.hyphens import lexicon
from extract.pdf.page_text import HYPHEN, PdfPageKind, PdfPageText
from extract.pdf.paragraphs import join_continued, paragraphs
from extract.pdf.pdf_extraction import PdfExtraction
from extract.pdf.pdf_lines import build_lines
from extract.pdf.pdfium import MOST_STEPS, PdfDocument, PdfPage, open_document
from extract.pdf.quality import is_garbled, normal
from extract.pdf.reading_order import reading_order
from extract.skip import Skip

EXTRACTOR = f"pypdfium2@{version('pypdfium2')}"
LONGEST = 64 << 20
"""Bytes of a document, as of every payload (`storage.warc.records`)."""
MOST_PAGES = 5_000
MOST_CHARACTERS = 10_000_000
"""Of a document, as of a page of HTML. A line counts as `LINE` more: what takes time is to order lines."""
LINE = 20
MOST_OBJECTS = 5_000_000
"""Of a document: 10 s. Of 1,002 real pages the fullest has 66,357."""
MIN_PAGE_CHARACTERS = 40
"""Characters on a page below which a picture decides what it is: a page number, a stamp of whoever scanned it."""
MIN_SCAN_IMAGE_SHARE = 0.4
"""Share of a page that a picture covers from which on a page with little text is taken for a scan."""
MIN_DRAWN_OBJECTS = 500
"""Objects on a page without any text from which on it is taken for letters that were drawn."""
HEADER = b"%PDF-"
HEADER_WITHIN = 1024
"""Bytes at the beginning in which the header must be (ISO 32000-1, annex H, note 13)."""
TRAILER = b"%%EOF"
TRAILER_WITHIN = 2048
"""Bytes at the end in which its last word must be; twice what Acrobat asks for."""
_REASONS: dict[PdfPageKind, str] = {
    "scanned": "scanned_pdf",
    "garbled": "garbled_pdf",
    "beyond": "too_complex",
    "lost": "broken_pdf",
}


def extract(payload: bytes, *, truncated: bool = False) -> PdfExtraction | Skip:
    """The text of a PDF. Never raises what a document makes it raise.

    `truncated` says that the payload is known to be cut off; where it is, or has no end, what can be read is
    returned with the lost pages counted, or a `Skip` of reason `truncated_pdf`. Other reasons: `not_pdf`,
    `too_large`, `too_complex`, `encrypted`, `broken_pdf`, `scanned_pdf`, `garbled_pdf`, `no_text`.
    """
    if HEADER not in payload[:HEADER_WITHIN]:
        return Skip(reason="not_pdf")
    if len(payload) > LONGEST:
        return Skip(reason="too_large")
    if is_bomb(payload):
        return Skip(reason="too_complex")
    with open_document(payload) as book:
        why = book if isinstance(book, str) else "broken_pdf"
        found = Skip(reason=why) if isinstance(book, str) or not book.pages else _extracted(book, payload)
    if isinstance(found, Skip) and found.reason == "broken_pdf" and (truncated or is_cut_off(payload)):
        return Skip(reason="truncated_pdf")
    return found


def _extracted(book: PdfDocument, payload: bytes) -> PdfExtraction | Skip:
    pages = list(_pages(book))
    text = _text(pages)
    kinds = Counter(page.kind for page in pages)
    kinds["beyond"] += book.pages - len(pages)
    if not text:
        reasons = [(kinds[kind], reason) for kind, reason in _REASONS.items() if kinds[kind]]
        return Skip(reason=max(reasons, key=lambda counted: counted[0])[1] if reasons else "no_text")
    packet = pdf_facts.packet(payload)
    return PdfExtraction(
        text=text,
        title=pdf_facts.title(book, packet),
        author=pdf_facts.author(book, packet),
        date=pdf_facts.date(book, packet),
        declared_language=pdf_facts.language(book, packet),
        license=pdf_facts.license_(packet),
        pages=book.pages,
        scanned=kinds["scanned"],
        garbled=kinds["garbled"],
        beyond=kinds["beyond"],
        lost=kinds["lost"],
        is_cut_off=is_cut_off(payload),
    )


def is_cut_off(payload: bytes) -> bool:
    """Whether a document has no end: some server or archive cut it off."""
    return TRAILER not in payload[-TRAILER_WITHIN:]


def _pages(book: PdfDocument) -> Iterator[PdfPageText]:
    """The pages up to what a document may cost."""
    steps = objects = characters = 0
    for number in range(min(book.pages, MOST_PAGES)):
        with book.page(number) as sheet:
            if sheet is None:
                yield PdfPageText(kind="lost")
                continue
            content = sheet.content()
            steps += content.text_objects**2
            objects += content.objects
            if steps > MOST_STEPS or objects > MOST_OBJECTS or characters > MOST_CHARACTERS:
                return
            if content.beyond:
                yield PdfPageText(kind="beyond")
                continue
            page = _page(sheet, content.image_share, content.objects)
            characters += sum(len(line.text) + LINE for line in page.lines)
            yield page


def _page(sheet: PdfPage, pictured: float, objects: int) -> PdfPageText:
    words = sheet.words()
    if words is None:
        return PdfPageText(kind="beyond")
    said = " ".join(word.text for word in words).replace(HYPHEN, "-")
    characters = sum(len(word.text) for word in words)
    if characters < MIN_PAGE_CHARACTERS and pictured >= MIN_SCAN_IMAGE_SHARE:
        return PdfPageText(kind="scanned")
    if not words:
        return PdfPageText(kind="scanned" if objects >= MIN_DRAWN_OBJECTS else "blank")
    if is_garbled(said, unmapped=sum(word.unmapped for word in words) / len(words)):
        return PdfPageText(kind="garbled")
    found, aside = build_lines(words)
    return PdfPageText(kind="text", lines=found, rotated_text=aside, height=sheet.height)


def _text(pages: Sequence[PdfPageText]) -> str:
    texts = [page for page in pages if page.kind == "text"]
    words = lexicon(line.text for page in texts for line in page.lines)
    found: list[str] = []
    for page, kept in zip(texts, furniture.remove_furniture(texts), strict=True):
        found += paragraphs(reading_order(kept), words)
        found += page.rotated_text
    whole = (normal(paragraph.replace(HYPHEN, "-")).strip() for paragraph in join_continued(found, words))
    # Half a surrogate pair has no bytes.
    return "\n\n".join(filter(None, whole)).encode(errors="replace").decode()
