"""`PdfExtraction`, the result of a PDF, and the interface of an OCR."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Route = Literal["pdf", "pdf/partial", "pdf/ocr"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfExtraction:
    """The text of a PDF and the facts that it states about itself. Absent facts are empty."""

    text: str
    """Paragraphs, separated by empty lines; each row of a table, item and verse is a line."""
    title: str
    author: str
    date: str
    """Day of its creation in ISO 8601."""
    declared_language: str
    """Language of the document catalog, otherwise of the XMP, as written."""
    license: str
    """URL of a Creative Commons licence in the XMP."""
    pages: int
    """Number of pages that the document declares."""
    scanned: int = 0
    """Pages left out because they are pictures of text without OCR."""
    garbled: int = 0
    """Pages left out because their characters differ from what a reader sees."""
    beyond: int = 0
    """Pages left out because they are too many, too long or too complex."""
    lost: int = 0
    """Pages left out because they cannot be read, for example after the end of a truncated file."""
    ocr: int = 0
    """Pages whose text an OCR has read."""
    is_cut_off: bool = False
    """Whether the document has no end because a server or an archive cut it off."""

    @property
    def route(self) -> Route:
        """`pdf/partial` if pages were left out; otherwise `pdf/ocr` if an OCR read some pages; otherwise `pdf`."""
        if self.scanned or self.garbled or self.beyond or self.lost:
            return "pdf/partial"
        return "pdf/ocr" if self.ocr else "pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raster:
    """The picture of a page as a reader sees it."""

    width: int
    """Width in pixels; `height` is in pixels too."""
    height: int
    dpi: int
    pixels: bytes
    """Rows from the top, one byte per pixel: 0 is black, 255 white."""

    @property
    def pgm(self) -> bytes:
        """The picture as a file in the Netpbm format, which every OCR reads."""
        return b"P5\n%d %d\n255\n" % (self.width, self.height) + self.pixels

    def __repr__(self) -> str:
        return f"<raster: {self.width} x {self.height} pixels, {self.dpi} dpi>"


Ocr: TypeAlias = Callable[[Raster, int], str | None]
"""`ocr(picture, page)` returns the text of a page, with empty lines between paragraphs, or None if it cannot be read.

Pages are numbered from 0. The same picture must give the same text.
"""
