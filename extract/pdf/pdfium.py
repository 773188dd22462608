"""PDFium: documents opened, words of pages. The one module that calls the library.

1. Nothing of a document raises; what it makes of the library is a reason. A native crash ends the process: whoever
   reads what strangers wrote does so in a process of its own (`pipeline.engine.local.part_process`).
2. PDFium is for one thread of a process at a time.
3. PDFium takes no budget, so each that it needs is kept around it: bytes that a stream unpacks to (`bombs`), objects of
   a page, characters of a page. Its time for the text of a page grows with the square of the text objects in
   one line (measured: 100,000 that run backwards take 92 s), so squares are what is counted.
"""

import ctypes
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

from extract.pdf.page_text import HYPHEN, Word

MOST_OBJECTS = 200_000
"""On a page, those of its forms included: 0.4 s. The fullest of 1,002 real pages, a map, has 66,357."""
MOST_TEXT_OBJECTS = 20_000
"""On a page: 4 s where all of them run backwards in one line. The most of the same pages are 4,129."""
MOST_STEPS = 2_000_000_000
"""Squares of text objects a page, summed over the pages of a document: 20 s where all of them run backwards."""
MOST_CHARACTERS = 200_000
"""On a page."""
MOST_NOTES = 1_000
"""On a page, that are looked at to see whether any shows text."""
LONGEST_FACT = 4_096
"""Bytes of a title or a date."""

_WORD = re.compile(rf"[^\s\x00{HYPHEN}]+{HYPHEN}?|{HYPHEN}")
_HALF = re.compile("[\ud800-\udfff]")
_UPRIGHT = 3
"""Degrees that a text may be askew and still stand upright, or at a right angle."""
_TEXT, _IMAGE, _FORM = pdfium.FPDF_PAGEOBJ_TEXT, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM
_SHOWN = frozenset({pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP})
_REASONS = {pdfium.FPDF_ERR_PASSWORD: "encrypted", pdfium.FPDF_ERR_SECURITY: "encrypted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageObjects:
    """What a page is made of, counted."""

    objects: int
    text_objects: int
    image_share: float
    """Share of the page that its largest picture covers, 0 to 1."""
    beyond: bool
    """There is more than may be counted."""


class PdfPage:
    """One page that is open."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.width: float = pdfium.FPDF_GetPageWidthF(page)
        """Points, as it is shown."""
        self.height: float = pdfium.FPDF_GetPageHeightF(page)
        self.turned: int = 90 * pdfium.FPDFPage_GetRotation(page)
        """Degrees clockwise that the page is turned before it is shown."""

    def content(self) -> PageObjects:
        """Count what is on the page. Bounded by `MOST_OBJECTS`."""
        return _content(self._page, max(1.0, self.width * self.height))

    def words(self) -> tuple[Word, ...] | None:
        """The words of the page in the order of its program; None where it has more than `MOST_CHARACTERS`.

        Not to be asked of a page whose `content` is beyond the bounds.
        """
        text_page = pdfium.FPDFText_LoadPage(self._page)
        if not text_page:
            return ()
        try:
            count = pdfium.FPDFText_CountChars(text_page)
            if count > MOST_CHARACTERS:
                return None
            return tuple(_words(text_page, count)) if count > 0 else ()
        finally:
            pdfium.FPDFText_ClosePage(text_page)

    def __repr__(self) -> str:
        return f"<sheet: {self.width:.0f} x {self.height:.0f} points>"


class PdfDocument:
    """One document that is open."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self.pages: int = max(0, pdfium.FPDF_GetPageCount(document))

    def info(self, name: str) -> str:
        """`Title`, `Author`, `CreationDate`, ... of the information dictionary; empty where it has none."""
        tag = name.encode()
        return _read_utf16(lambda buffer, size: pdfium.FPDF_GetMetaText(self._document, tag, buffer, size))

    def language(self) -> str:
        """Of the catalog, as written."""
        return _read_utf16(lambda buffer, size: pdfium.FPDFCatalog_GetLanguage(self._document, buffer, size))

    @contextmanager
    def page(self, number: int) -> Iterator[PdfPage | None]:
        """One page, numbered from 0; None for one that cannot be read."""
        page = pdfium.FPDF_LoadPage(self._document, number)
        try:
            # What forms and notes show is text of the page to whoever sees it.
            if (
                page
                and _has_visible_annotations(page)
                and pdfium.FPDFPage_Flatten(page, 0) == pdfium.FLATTEN_SUCCESS
            ):
                pdfium.FPDF_ClosePage(page)
                page = pdfium.FPDF_LoadPage(self._document, number)
            yield PdfPage(page) if page else None
        finally:
            if page:
                pdfium.FPDF_ClosePage(page)

    def __repr__(self) -> str:
        return f"<book of {self.pages} pages>"


@contextmanager
def open_document(payload: bytes) -> Iterator[PdfDocument | str]:
    """The document, or the reason code for which it cannot be opened: `encrypted` or `broken_pdf`."""
    document = pdfium.FPDF_LoadMemDocument64(payload, len(payload), None)
    if not document:
        yield _REASONS.get(pdfium.FPDF_GetLastError(), "broken_pdf")
        return
    try:
        yield PdfDocument(document)
    finally:
        pdfium.FPDF_CloseDocument(document)


def _words(text_page: Any, count: int) -> Iterator[Word]:
    text = _text(text_page, count)
    first, last = pdfium.FS_RECTF(), pdfium.FS_RECTF()
    box, angle_of = pdfium.FPDFText_GetLooseCharBox, pdfium.FPDFText_GetCharAngle
    is_unmapped = pdfium.FPDFText_HasUnicodeMapError
    for match in _WORD.finditer(text):
        begin, end = match.start(), match.end() - 1
        if not box(text_page, begin, first) or not box(text_page, end, last):
            continue
        left, right, low, high = first.left, last.right, first.bottom, first.top
        angle = 0
        if not (low == last.bottom < high == last.top and left < last.left):
            # Not plainly upright, or one character alone. Angles count clockwise there.
            turned = -math.degrees(angle_of(text_page, begin))
            upright = round(turned / 90) * 90
            angle = round(upright if abs(turned - upright) <= _UPRIGHT else turned) % 360
            left, right = min(left, last.left), max(first.right, right)
            low, high = min(low, last.bottom, high, last.top), max(low, last.bottom, high, last.top)
        yield Word(left, -high, right, -low, _whole(match[0]), angle, is_unmapped(text_page, begin) == 1)


def _text(text_page: Any, count: int) -> str:
    """As many characters as the page counts, each half of a surrogate pair by itself; NUL for what is none."""
    buffer = (ctypes.c_ushort * (count + 1))()
    if pdfium.FPDFText_GetText(text_page, 0, count, buffer) - 1 == count:
        text = ctypes.string_at(buffer, 2 * count).decode("utf-16-le", "replace")
        return text if len(text) == count else "".join(map(chr, buffer[:count]))
    # Where the library leaves characters out of its text, places in it are not those of the page.
    return "".join(_character(text_page, place) for place in range(count))


def _character(text_page: Any, place: int) -> str:
    if pdfium.FPDFText_IsHyphen(text_page, place) == 1:
        return HYPHEN
    code = pdfium.FPDFText_GetUnicode(text_page, place)
    return chr(code) if code < 0x110000 else "\ufffd"


def _whole(text: str) -> str:
    """The same text, halves of surrogate pairs put together."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _content(page: Any, area: float) -> PageObjects:
    objects = text_objects = 0
    pictured, beyond = 0.0, False
    identity = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    pending: list[tuple[Any, Any, Any, tuple[float, ...]]] = [
        (page, pdfium.FPDFPage_CountObjects, pdfium.FPDFPage_GetObject, identity)
    ]
    while pending:
        holder, count_of, get, matrix = pending.pop()
        count = count_of(holder)
        objects += max(0, count)
        if objects > MOST_OBJECTS:
            beyond = True
            break
        for place in range(count):
            one = get(holder, place)
            kind = pdfium.FPDFPageObj_GetType(one)
            if kind == _TEXT:
                text_objects += 1
            elif kind == _IMAGE:
                pictured = max(pictured, _area(one, matrix) / area)
            elif kind == _FORM:
                pending.append(
                    (
                        one,
                        pdfium.FPDFFormObj_CountObjects,
                        pdfium.FPDFFormObj_GetObject,
                        _within(one, matrix),
                    )
                )
    return PageObjects(
        objects=objects,
        text_objects=text_objects,
        image_share=min(1.0, pictured),
        beyond=beyond or text_objects > MOST_TEXT_OBJECTS,
    )


def _area(image: Any, matrix: tuple[float, ...]) -> float:
    a, b, c, d, *_ = _within(image, matrix)
    return abs(a * d - b * c)  # an image is a unit square


def _within(one: Any, outer: tuple[float, ...]) -> tuple[float, ...]:
    own = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(one, own):
        return outer
    a, b, c, d, e, f = outer
    return (
        own.a * a + own.b * c,
        own.a * b + own.b * d,
        own.c * a + own.d * c,
        own.c * b + own.d * d,
        own.e * a + own.f * c + e,
        own.e * b + own.f * d + f,
    )


def _has_visible_annotations(page: Any) -> bool:
    """Whether fields of a form, stamps or text typed onto the page are part of what is seen on it."""
    for place in range(min(pdfium.FPDFPage_GetAnnotCount(page), MOST_NOTES)):
        note = pdfium.FPDFPage_GetAnnot(page, place)
        if note:
            kind = pdfium.FPDFAnnot_GetSubtype(note)
            pdfium.FPDFPage_CloseAnnot(note)
            if kind in _SHOWN:
                return True
    return False


def _read_utf16(ask: Callable[[Any, int], int]) -> str:
    """What the library writes as UTF-16 into a buffer, NUL at its end."""
    size = ask(None, 0)
    if not 2 < size <= LONGEST_FACT:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    ask(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return ctypes.string_at(buffer, size).decode("utf-16-le", "replace").rstrip("\0")
