"""Open PDFs with PDFium, and read the words of their pages. No other module calls the library.

1. No document raises; an error of the library becomes a reason code. A native crash ends the process, so untrusted
   documents are read in a process of their own (`pipeline.engine.local.part_process`).
2. Only one thread of a process may use PDFium at a time.
3. PDFium has no limits of its own, so the callers enforce them: unpacked bytes of a stream (`bombs`), objects of a
   page, characters of a page. Its time for the text of a page grows with the square of the text objects in one line
   (measured: 100,000 objects that run backwards take 92 s), so squares are counted.
"""

import ctypes
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

from thresher.extract.pdf.page_text import HYPHEN, Word

MAX_OBJECTS = 200_000
"""Objects on a page at most, including those in its forms: they take 0.4 s. The fullest of 1,002 real pages, a map, has
66,357.
"""
MAX_TEXT_OBJECTS = 20_000
"""Text objects on a page at most: they take 4 s if all run backwards in one line. Of the same pages, the fullest has
4,129.
"""
MAX_STEPS = 2_000_000_000
"""Squares of the text objects of each page, summed over a document, at most: they take 20 s if all objects run
backwards.
"""
MAX_CHARACTERS = 200_000
"""Characters on a page at most."""
MAX_NOTES = 1_000
"""Annotations on a page that are checked for visible text at most."""
MAX_COPIED = 2 << 30
"""Bytes of the document, times its pages with annotations, at most: copying a page takes 1 s for 50 MB at worst. Beyond
it, the text of annotations is left out.
"""
MAX_FACT_LENGTH = 4_096
"""Bytes of a title or a date at most."""

_WORD = re.compile(rf"[^\s\x00{HYPHEN}]+{HYPHEN}?|{HYPHEN}")
_HALF = re.compile("[\ud800-\udfff]")
_UPRIGHT = 3
"""Degrees by which a text may deviate from a right angle and still count as horizontal or vertical."""
_TEXT, _IMAGE, _FORM = pdfium.FPDF_PAGEOBJ_TEXT, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM
_SHOWN = frozenset({pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP})
_REASONS = {pdfium.FPDF_ERR_PASSWORD: "encrypted", pdfium.FPDF_ERR_SECURITY: "encrypted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageObjects:
    """Counts of the objects on a page."""

    objects: int
    text_objects: int
    image_share: float
    """Share of the page that its largest picture covers, 0 to 1."""
    beyond: bool
    """Whether the page exceeds a bound."""


class PdfPage:
    """One open page."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.width: float = pdfium.FPDF_GetPageWidthF(page)
        """Width in points of the page as it is shown; `height` likewise."""
        self.height: float = pdfium.FPDF_GetPageHeightF(page)
        self.turned: int = 90 * pdfium.FPDFPage_GetRotation(page)
        """Degrees clockwise by which the page is rotated before it is shown."""

    def content(self) -> PageObjects:
        """Return counts of the objects on the page. Counting stops at `MAX_OBJECTS`."""
        return _content(self._page, max(1.0, self.width * self.height))

    def words(self) -> tuple[Word, ...] | None:
        """Return the words in the order of the content stream; return None if there are more than `MAX_CHARACTERS`.

        Do not call it for a page whose `content` is beyond a bound: it could take minutes.
        """
        text_page = pdfium.FPDFText_LoadPage(self._page)
        if not text_page:
            return ()
        try:
            count = pdfium.FPDFText_CountChars(text_page)
            if count > MAX_CHARACTERS:
                return None
            return tuple(_words(text_page, count)) if count > 0 else ()
        finally:
            pdfium.FPDFText_ClosePage(text_page)

    def __repr__(self) -> str:
        return f"<sheet: {self.width:.0f} x {self.height:.0f} points>"


class PdfDocument:
    """One open document."""

    def __init__(self, document: Any, size: int) -> None:
        """`size` is the number of its bytes."""
        self._document = document
        self._size = size
        self._copied = 0
        self.pages: int = max(0, pdfium.FPDF_GetPageCount(document))

    def info(self, name: str) -> str:
        """Return `Title`, `Author`, `CreationDate`, ... of the information dictionary; return `""` if it has none."""
        tag = name.encode()
        return _read_utf16(lambda buffer, size: pdfium.FPDF_GetMetaText(self._document, tag, buffer, size))

    def language(self) -> str:
        """Return the language of the catalog, as written."""
        return _read_utf16(lambda buffer, size: pdfium.FPDFCatalog_GetLanguage(self._document, buffer, size))

    @contextmanager
    def page(self, number: int) -> Iterator[PdfPage | None]:
        """Open one page, numbered from 0; yield None if it cannot be read."""
        with _open_page(self._document, number) as page:
            if page is None or not _has_visible_annotations(page) or self._copied > MAX_COPIED:
                yield None if page is None else PdfPage(page)
                return
            self._copied += self._size
            with _flattened_copy(self._document, number) as flattened:
                yield PdfPage(page if flattened is None else flattened)

    def __repr__(self) -> str:
        return f"<book of {self.pages} pages>"


@contextmanager
def open_document(payload: bytes) -> Iterator[PdfDocument | str]:
    """Open a document; yield the reason code `encrypted` or `broken_pdf` if it cannot be opened."""
    document = pdfium.FPDF_LoadMemDocument64(payload, len(payload), None)
    if not document:
        yield _REASONS.get(pdfium.FPDF_GetLastError(), "broken_pdf")
        return
    try:
        yield PdfDocument(document, len(payload))
    finally:
        pdfium.FPDF_CloseDocument(document)


@contextmanager
def _open_page(document: Any, number: int) -> Iterator[Any | None]:
    page = pdfium.FPDF_LoadPage(document, number)
    try:
        yield page or None
    finally:
        if page:
            pdfium.FPDF_ClosePage(page)


@contextmanager
def _flattened_copy(document: Any, number: int) -> Iterator[Any | None]:
    """Open a copy of a page in which the text of forms and annotations is text of the page, as it is to a reader; yield
    None if there is none.

    The page itself cannot be flattened: PDFium then gives it resources of its own, and if it inherited its fonts from
    the page tree, as the pages of LibreOffice do, they are lost. A copy has the inherited ones as its own.
    """
    copy = pdfium.FPDF_CreateNewDocument()
    try:
        if pdfium.FPDF_ImportPagesByIndex(copy, document, (ctypes.c_int * 1)(number), 1, 0):
            with _open_page(copy, 0) as page:
                is_flat = page is not None and pdfium.FPDFPage_Flatten(page, 0) == pdfium.FLATTEN_SUCCESS
            if is_flat:
                with _open_page(copy, 0) as page:  # opened again, because an open page does not change
                    yield page
                return
        yield None
    finally:
        pdfium.FPDF_CloseDocument(copy)


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
            # The word is not exactly horizontal, or has one character. PDFium's angles count clockwise.
            turned = -math.degrees(angle_of(text_page, begin))
            upright = round(turned / 90) * 90
            angle = round(upright if abs(turned - upright) <= _UPRIGHT else turned) % 360
            left, right = min(left, last.left), max(first.right, right)
            low, high = min(low, last.bottom, high, last.top), max(low, last.bottom, high, last.top)
        yield Word(left, -high, right, -low, _whole(match[0]), angle, is_unmapped(text_page, begin) == 1)


def _text(text_page: Any, count: int) -> str:
    """Return as many characters as the page counts: surrogates stay separate, NUL stands for a missing character."""
    buffer = (ctypes.c_ushort * (count + 1))()
    if pdfium.FPDFText_GetText(text_page, 0, count, buffer) - 1 == count:
        text = ctypes.string_at(buffer, 2 * count).decode("utf-16-le", "replace")
        return text if len(text) == count else "".join(map(chr, buffer[:count]))
    # If the library leaves characters out of its text, positions in it do not match the page.
    return "".join(_character(text_page, place) for place in range(count))


def _character(text_page: Any, place: int) -> str:
    if pdfium.FPDFText_IsHyphen(text_page, place) == 1:
        return HYPHEN
    code = pdfium.FPDFText_GetUnicode(text_page, place)
    return chr(code) if code < 0x110000 else "\ufffd"


def _whole(text: str) -> str:
    """Return the text with the halves of surrogate pairs joined."""
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
        if objects > MAX_OBJECTS:
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
        beyond=beyond or text_objects > MAX_TEXT_OBJECTS,
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
    """Return whether the page shows fields of a form, stamps or text typed onto it."""
    for place in range(min(pdfium.FPDFPage_GetAnnotCount(page), MAX_NOTES)):
        note = pdfium.FPDFPage_GetAnnot(page, place)
        if note:
            kind = pdfium.FPDFAnnot_GetSubtype(note)
            pdfium.FPDFPage_CloseAnnot(note)
            if kind in _SHOWN:
                return True
    return False


def _read_utf16(ask: Callable[[Any, int], int]) -> str:
    """Return a text that the library writes into a buffer as UTF-16 with a NUL at its end."""
    size = ask(None, 0)
    if not 2 < size <= MAX_FACT_LENGTH:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    ask(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return ctypes.string_at(buffer, size).decode("utf-16-le", "replace").rstrip("\0")
