"""`PdfExtraction`: the text of a PDF and the facts that it states about itself."""

from dataclasses import dataclass
from typing import Literal

Route = Literal["pdf", "pdf/partial"]


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
    """Pages left out because they are pictures of text."""
    garbled: int = 0
    """Pages left out because their characters differ from what a reader sees."""
    beyond: int = 0
    """Pages left out because they are too many, too long or too complex."""
    lost: int = 0
    """Pages left out because they cannot be read, for example after the end of a truncated file."""
    is_cut_off: bool = False
    """Whether the document has no end because a server or an archive cut it off."""

    @property
    def route(self) -> Route:
        """`pdf/partial` if pages were left out; otherwise `pdf`."""
        return "pdf/partial" if self.scanned or self.garbled or self.beyond or self.lost else "pdf"
