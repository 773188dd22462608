"""Words and lines of a page, in the coordinates of someone who reads them: x grows to the right, y downwards."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

PdfPageKind = Literal["text", "blank", "scanned", "garbled", "beyond", "lost"]

HYPHEN = "\ufffe"
"""What PDFium writes for a hyphen at the end of a line."""


class Word(NamedTuple):
    """Characters without a space between them. Lengths are in points (1/72 inch), from the page's own origin."""

    left: float
    top: float
    right: float
    bottom: float
    text: str
    angle: int
    """Degrees that it is turned counter-clockwise, 0 to 359."""
    unmapped: bool
    """The font does not say which character its first glyph is."""


class Line(NamedTuple):
    """Words of one line of text, or of one cell of it."""

    left: float
    top: float
    right: float
    bottom: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPageText:
    """What a page holds."""

    kind: PdfPageKind
    lines: tuple[Line, ...] = ()
    """In the direction that most of the page is written in; not yet in reading order."""
    rotated_text: tuple[str, ...] = ()
    """Text that is written in another direction: stamps in the margin, labels of axes."""
    height: float = 0.0
