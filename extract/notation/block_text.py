"""`BlockText`: the pieces of a block while a page is read, and its text: white space, superscripts, ruby, formulas."""

import re
from collections.abc import Iterable, Sequence

from extract.notation import formulas, superscripts
from extract.notation.inline_markdown import ENDS

NEW_LINE = "\v"
"""Marks a line break of the page among white space without meaning."""
LINE_END = "\f"
"""Marks the end of an element in code that is a line of its own; the page may have a line break there too."""
LINE_ENDS = ("\n", NEW_LINE, LINE_END)

_UNSEEN_SIGNS = dict.fromkeys(map(ord, "\xad\u200b"))
"""Soft hyphens and zero-width spaces, which mark places where a word may be broken."""
_HIDDEN_PLUS = re.compile(r"(?<=\d)\+(?=\d++\u2044\d)")
"""The sign between a number and a fraction that Wikipedia's pages read aloud and do not show."""


def running_text(pieces: Iterable[str]) -> str:
    """Return running text: white space collapsed, line breaks of the page kept."""
    text = "".join(pieces)
    if NEW_LINE in text:
        text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split(NEW_LINE))))
    else:
        text = " ".join(text.split())
    if not text.isascii():
        if "\xad" in text or "\u200b" in text:
            text = text.translate(_UNSEEN_SIGNS)
        if "\u2044" in text:
            text = _HIDDEN_PLUS.sub(" ", text)
    if superscripts.BEGIN in text or superscripts.END in text:
        text = superscripts.write_superscripts(text)
    if formulas.BEGIN in text:
        text = formulas.separate_formulas(text)
    return text


def code_text(pieces: Iterable[str], *, is_listing: bool) -> str:
    """Return code with its lines and blanks. In a listing, lines end with elements, not with line breaks of the page."""
    if is_listing:
        pieces = (piece for piece in pieces if piece in LINE_ENDS or not (piece.isspace() and "\n" in piece))
    text = "".join(pieces)
    text = text.replace(f"{LINE_END}\n", "\n").replace(LINE_END, "\n").replace(NEW_LINE, "\n")
    if not text.isascii():
        text = text.replace("\xa0", " ").translate(_UNSEEN_SIGNS)
    return text.rstrip().strip("\n")


def insert_marks(pieces: Sequence[str], marks: Iterable[tuple[int, str]]) -> list[str]:
    """Return the pieces with each mark before the piece that it names."""
    out: list[str] = []
    at = 0
    for number, mark in marks:
        out += pieces[at:number]
        out.append(mark)
        at = number
    return [*out, *pieces[at:]]


class BlockText:
    """The pieces of the text of a block, in their order, and the marks between them."""

    __slots__ = ("_drawn_at", "_has_marks", "_marks", "_open_marks", "is_listing", "pieces")

    def __init__(self, *, has_marks: bool) -> None:
        self.pieces: list[str] = []
        self.is_listing = False
        """Whether the code is a listing of other elements than <pre>, whose white space has no meaning."""
        self._has_marks = has_marks
        self._marks: list[tuple[int, str]] = []
        """Inline marks since the block began, each with the number of pieces before it."""
        self._open_marks = dict.fromkeys(ENDS, 0)
        """Number of open elements of each mark."""
        self._drawn_at = -1
        """Number of pieces after a formula that MathJax 2 has drawn; the TeX in the script behind it replaces it."""

    def take_code(self) -> str:
        """Return the pieces as code, and forget them."""
        text = code_text(self.pieces, is_listing=self.is_listing)
        self.pieces.clear()
        self._marks.clear()
        return text

    def take_running(self) -> tuple[str, str]:
        """Return the pieces as running text, and the same text with marks if it has any; forget them."""
        text, marked = running_text(self.pieces), ""
        if self._has_marks and (self._marks or formulas.BEGIN in text):
            marked = running_text(insert_marks(self.pieces, self._marks))
        if formulas.BEGIN in text:
            text = text.replace(formulas.BEGIN, "").replace(formulas.END, "")
        self.pieces.clear()
        self._marks.clear()
        return text, marked

    def begin_mark(self, mark: str, target: str = "") -> None:
        """Begin an element that Markdown marks."""
        self._open_marks[mark] += 1
        if self._open_marks[mark] == 1:
            self._marks.append((len(self.pieces), mark + target))

    def end_mark(self, mark: str) -> None:
        """End an element that Markdown marks."""
        self._open_marks[mark] -= 1
        if not self._open_marks[mark]:
            self._marks.append((len(self.pieces), ENDS[mark]))

    def begin_superscript(self) -> bool:
        """Begin a superscript if there is text that it may belong to; return whether there is."""
        if not self.pieces or self.pieces[-1][-1:].isspace():
            return False
        self.pieces.append(superscripts.BEGIN)
        return True

    def end_superscript(self) -> None:
        """End a superscript."""
        self.pieces.append(superscripts.END)

    def begin_link(self) -> None:
        """Begin a link. A superscript that begins with a link is the number of a footnote."""
        if self.pieces and self.pieces[-1] == superscripts.BEGIN:
            self.pieces[-1] = ""

    def begin_ruby(self) -> None:
        """Begin the reading of a word, which is written in parentheses after it."""
        self.pieces.append("(")

    def end_ruby(self) -> None:
        """End the reading of a word."""
        if self.pieces and self.pieces[-1] == "(":
            self.pieces.pop()
        else:
            self.pieces.append(")")

    def begin_line(self) -> None:
        """Begin an element of code that is a line of its own."""
        if self.pieces and not self.pieces[-1].endswith(LINE_ENDS):
            self.pieces.append(LINE_END if self.is_listing else "\n")

    def end_line(self) -> None:
        """End an element of code that is a line of its own."""
        if self.pieces and not self.pieces[-1].endswith(LINE_ENDS):
            self.pieces.append(LINE_END)

    def end_code_line(self) -> None:
        """End a line of code, which may be empty."""
        if self.pieces and not self.pieces[-1].isspace():
            self.pieces[-1] = self.pieces[-1].rstrip("\n")
        self.pieces.append(NEW_LINE)

    def add_formula(self, formula: str, *, is_drawn: bool = False) -> None:
        """Add a formula between its delimiters; nothing if it is empty."""
        if formula:
            self.pieces.append(f"{formulas.BEGIN}{formula}{formulas.END}")
            self._drawn_at = len(self.pieces) if is_drawn else -1

    def add_source(self, formula: str) -> None:
        """Add the formula in a script, in the place of what MathJax 2 has drawn for it."""
        if formula and self.pieces and self._drawn_at == len(self.pieces):
            self.pieces.pop()
        self.add_formula(formula)
