"""Define words and lines of a page, in the coordinates of a reader: x grows to the right, y downwards."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

PdfPageKind = Literal["text", "blank", "scanned", "garbled", "beyond", "lost"]

HYPHEN = "\ufffe"
"""The character that PDFium returns for a hyphen at the end of a line."""


class Word(NamedTuple):
    """Characters without a space between them. Lengths are points (1/72 inch) from the origin of the page."""

    left: float
    top: float
    right: float
    bottom: float
    text: str
    angle: int
    """Rotation in degrees counter-clockwise, 0 to 359."""
    unmapped: bool
    """Whether the font does not state which character its first glyph is."""


class Line(NamedTuple):
    """The words of one line of text, or of one cell in it."""

    left: float
    top: float
    right: float
    bottom: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPageText:
    """The text of a page."""

    kind: PdfPageKind
    lines: tuple[Line, ...] = ()
    """Lines in the main direction of the page, not yet in reading order."""
    rotated_text: tuple[str, ...] = ()
    """Text in other directions: stamps in the margin, labels of axes."""
    height: float = 0.0
