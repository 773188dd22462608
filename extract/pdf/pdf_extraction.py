"""`PdfExtraction`: the text of a PDF and what the file states about itself."""

from dataclasses import dataclass
from typing import Literal

Route = Literal["pdf", "pdf/partial"]


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
    """Pages left out: pictures of text."""
    garbled: int = 0
    """Pages left out: their characters do not say what is seen on them."""
    beyond: int = 0
    """Pages left out: too many, too long or too complex."""
    lost: int = 0
    """Pages left out: they cannot be read, as behind the end of a truncated file."""
    is_cut_off: bool = False
    """The document has no end: some server or archive cut it off."""

    @property
    def route(self) -> Route:
        """`pdf/partial` where pages were left out."""
        return "pdf/partial" if self.scanned or self.garbled or self.beyond or self.lost else "pdf"
