"""What comes of a PDF, and what whoever reads pictures is given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Route = Literal["pdf", "pdf/partial", "pdf/ocr"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfExtraction:
    """What a PDF says, and what it says of itself. Absent facts are empty."""

    text: str
    """Paragraphs with an empty line between them; rows of a table, items and verses each a line."""
    title: str
    author: str
    date: str
    """ISO 8601 day of its creation."""
    declared_language: str
    """Of the document catalog, else of its XMP, as written."""
    license: str
    """Address of a Creative Commons licence, of its XMP."""
    pages: int
    """In the document, as it counts them."""
    scanned: int = 0
    """Pages left out: pictures of text that nobody read."""
    garbled: int = 0
    """Pages left out: their characters do not say what is seen on them."""
    beyond: int = 0
    """Pages left out: too many, too long or too complex."""
    lost: int = 0
    """Pages left out: they cannot be read, as behind the end of a truncated file."""
    ocr: int = 0
    """Pages whose text was read from their picture."""
    is_cut_off: bool = False
    """The document has no end: some server or archive cut it off."""

    @property
    def route(self) -> Route:
        """`pdf/partial` where pages were left out, `pdf/ocr` where none was and some were read from their pictures."""
        if self.scanned or self.garbled or self.beyond or self.lost:
            return "pdf/partial"
        return "pdf/ocr" if self.ocr else "pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raster:
    """The picture of a page as a reader sees it."""

    width: int
    """Pixels."""
    height: int
    dpi: int
    pixels: bytes
    """Rows from the top, a byte a pixel: 0 black, 255 white."""

    @property
    def pgm(self) -> bytes:
        """As a file of the Netpbm format, which every OCR reads."""
        return b"P5\n%d %d\n255\n" % (self.width, self.height) + self.pixels

    def __repr__(self) -> str:
        return f"<raster: {self.width} x {self.height} pixels, {self.dpi} dpi>"


Ocr: TypeAlias = Callable[[Raster, int], str | None]
"""`ocr(picture, page)`: the text of a page, numbered from 0, its paragraphs with an empty line between them; None where it
cannot be read. It must give the same text for the same picture."""
