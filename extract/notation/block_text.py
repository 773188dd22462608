"""`BlockText`: the pieces of a block while a page is read, and its text: white space, superscripts, ruby, formulas."""

import re
from collections.abc import Iterable, Sequence

from thresher.extract.notation import formulas, superscripts
from thresher.extract.notation.inline_markdown import ENDS

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
    """Return running text: white space collapsed, line breaks of the page kept. Signs and marks stay."""
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
    return text


def code_text(pieces: Iterable[str], *, is_listing: bool) -> str:
    """Return code with its lines and blanks. In a listing, only elements end lines."""
    if is_listing:
        pieces = (piece for piece in pieces if not _is_between_elements(piece))
    text = "".join(pieces)
    text = text.replace(f"{LINE_END}\n", "\n").replace(LINE_END, "\n").replace(NEW_LINE, "\n")
    if not text.isascii():
        text = text.replace("\xa0", " ").translate(_UNSEEN_SIGNS)
    if is_listing:
        text = "\n".join(map(str.rstrip, text.split("\n")))
    return text.rstrip().strip("\n")


def _is_between_elements(piece: str) -> bool:
    return "\n" in piece and piece.isspace()


def insert_marks(pieces: Sequence[str], marks: Iterable[tuple[int, str]]) -> list[str]:
    """Return the pieces with each mark before the piece that it names."""
    out: list[str] = []
    at = 0
    for number, mark in marks:
        out += pieces[at:number]
        out.append(mark)
        at = number
    return [*out, *pieces[at:]]


def _write_signs(text: str) -> str:
    """Return a text with its superscripts written, and its formulas apart from words; the marks of formulas stay."""
    return formulas.separate_formulas(superscripts.write_superscripts(text))


class BlockText:
    """The pieces of the text of a block, in their order, and the marks between them."""

    __slots__ = (
        "_drawn",
        "_has_marks",
        "_line_at",
        "_marks",
        "_open_marks",
        "has_signs",
        "is_listing",
        "pieces",
    )

    def __init__(self, *, has_marks: bool) -> None:
        self.pieces: list[str] = []
        self.is_listing = False
        """Whether the code is a listing of other elements than <pre>, whose white space has no meaning."""
        self.has_signs = False
        """Whether the pieces have superscripts or formulas."""
        self._has_marks = has_marks
        self._marks: list[tuple[int, str]] = []
        """Inline marks since the block began, each with the number of pieces before it."""
        self._open_marks = dict.fromkeys(ENDS, 0)
        """Number of open elements of each mark."""
        self._line_at = 0
        """Number of pieces before the line of code that has begun last."""
        self._drawn = ""
        """The last formula that MathJax 2 has drawn; the TeX in the script behind it replaces it."""

    def take_signs(self, text: str) -> tuple[str, str]:
        """Return the running text of the pieces with its signs written, and the same with marks if it has any."""
        marked = ""
        if self._has_marks and (self._marks or self.has_signs):
            marked = _write_signs(running_text(insert_marks(self.pieces, self._marks)))
            self._marks.clear()
        if self.has_signs:
            self.has_signs = False
            text = _write_signs(text).replace(formulas.BEGIN, "").replace(formulas.END, "")
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
        self.has_signs = True
        return True

    def end_superscript(self) -> None:
        """End a superscript."""
        self.pieces.append(superscripts.END)
        self.has_signs = True

    def begin_ruby(self) -> None:
        """Begin the reading of a word, which is written in parentheses after it."""
        self.pieces.append("(")

    def end_ruby(self) -> None:
        """End the reading of a word."""
        if self.pieces and self.pieces[-1] == "(":
            self.pieces.pop()
        else:
            self.pieces.append(")")

    def begin_classifier(self) -> None:
        """Begin the type of a term, which stands after a colon."""
        if self.pieces:
            self.pieces.append(" " if "".join(self.pieces[-2:]).rstrip().endswith(":") else " : ")

    def end_separator(self, begun: int) -> None:
        """End an element that began after `begun` pieces; if it has no text, white space stands for it."""
        if len(self.pieces) == begun:
            self.pieces.append(" ")

    def begin_line(self) -> None:
        """Begin an element of code that is a line of its own."""
        self._drop_blanks()
        if self.pieces and not self.pieces[-1].endswith(LINE_ENDS):
            self.pieces.append(LINE_END if self.is_listing else "\n")

    def end_line(self) -> None:
        """End an element of code that is a line of its own."""
        self._drop_blanks()
        if self.pieces and not self.pieces[-1].endswith(LINE_ENDS):
            self.pieces.append(LINE_END)

    def begin_code_line(self) -> None:
        """Begin a line of code, which may be empty."""
        self.begin_line()
        self._line_at = len(self.pieces)

    def end_code_line(self) -> None:
        """End a line of code."""
        if len(self.pieces) > self._line_at:
            self.pieces[-1] = self.pieces[-1].removesuffix("\n")
        self.pieces.append(NEW_LINE)

    def _drop_blanks(self) -> None:
        """Drop white space between the elements of a listing."""
        while self.is_listing and self.pieces and _is_between_elements(self.pieces[-1]):
            self.pieces.pop()

    def add_formula(self, formula: str, *, is_drawn: bool = False) -> None:
        """Add a formula between its delimiters; nothing if it is empty."""
        if formula:
            self.has_signs = True
            self.pieces.append(f"{formulas.BEGIN}{formula}{formulas.END}")
            self._drawn = self.pieces[-1] if is_drawn else ""

    def add_source(self, formula: str) -> None:
        """Add the formula in a script, in the place of what MathJax 2 has drawn for it."""
        if formula and self.pieces and self._drawn and self.pieces[-1] is self._drawn:
            self.pieces.pop()
        self.add_formula(formula)
