"""`BoxReader`: the boxes and blocks of a page while it is parsed, with its code and formulas."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any, ClassVar

from thresher.extract.notation.block_text import BlockText, code_text, running_text
from thresher.extract.notation.code_languages import code_language, known_language
from thresher.extract.notation.mathml import MathReader
from thresher.extract.notation.styled_parts import StyledPart, styled_part
from thresher.extract.page.boxes import DEEPEST, Block, Box, MetadataElement
from thresher.extract.page.element_attributes import (
    CELLS,
    MARKS,
    apply_attributes,
    apply_tag,
    is_hidden_for_good,
    is_hidden_from_screen_readers,
    numbers_lines,
)

CODE_ROOTS = frozenset(("pre", "body", "html", "article", "main", "code"))
"""Tags whose names say something of all that is in them; such an element is neither a listing nor a column of one."""
MAX_FACT_LENGTH = 200
"""Characters of the text of an element that states an author or a day, at most."""
LANGUAGE_REACH = 6
"""Boxes around code whose names may state its language: highlighters wrap a <pre> in a table."""


def _letters(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return "".join(filter(str.isalnum, text.lower()))


def end_of_box() -> None:
    """Stand for the end of a box among the functions that end elements; `Reader.end` ends boxes itself."""


def end_of_link() -> None:
    """Stand for the end of a link that states nothing else."""


def both_ends(first: Callable[[], None] | None, second: Callable[[], None]) -> Callable[[], None]:
    """Return what to call at the end of an element that has two meanings."""
    if first is None:
        return second

    def end() -> None:
        first()
        second()

    return end


class BoxReader:
    """Collect boxes and blocks."""

    __slots__ = (
        "_box",
        "_captured",
        "_conceals",
        "_ends",
        "_has_marks",
        "_hidden_depth",
        "_hidden_in_button",
        "_in_button",
        "_is_typeset",
        "_link_characters",
        "_links",
        "_math",
        "_on_captured",
        "_pieces",
        "_reveals",
        "_text",
        "_verbatim",
        "_without_shown",
        "_without_words",
        "blocks",
        "boxes",
        "concealed",
        "elements",
        "metadata",
    )

    def __init__(self, *, reveals: bool = False, marks: bool = False) -> None:
        self._has_marks = marks
        self._reveals = reveals
        """Whether `noscript` and elements that an attribute hides are read too."""
        self.begin()

    def begin(self) -> None:
        """Begin a page."""
        self.concealed = 0
        """Characters in such elements, if they are not read."""
        self._conceals = False
        self._in_button = False
        """Whether the outermost hidden element is a button that no attribute hides."""
        self._hidden_in_button = 0
        """Value of `_hidden_depth` within an element of this button that would be hidden anywhere; 0 outside of any."""
        outermost = Box(0, "", None, 0)
        self.boxes = [outermost]
        self.blocks: list[Block] = []
        self.metadata: list[MetadataElement] = []
        self.elements = 0
        self._box = outermost
        self._text = BlockText(has_marks=self._has_marks)
        self._pieces = self._text.pieces
        self._link_characters = self._links = 0
        """Characters of links since the block began, and number of open links."""
        self._verbatim = 0
        """Number of open <pre>s."""
        self._without_words: tuple[Box, str] = outermost, ""
        """The last words for screen readers that were left out, in small letters, and the box that they were in."""
        self._without_shown: Box | None = None
        """The last box of whose text something was left out that screen readers do not say, but browsers show."""
        self._hidden_depth = 0
        """Number of open elements from the outermost hidden one on; 0 if no open element is hidden."""
        self._captured: list[str] | None = None
        """Text of a hidden element that is needed nevertheless; None if none is being captured."""
        self._on_captured: Callable[[str], None] | None = None
        """Receives the captured text."""
        self._math: MathReader | None = None
        """Reads the formula in a hidden element; None if none is being read."""
        self._is_typeset = False
        """Whether a script draws the TeX of the page."""
        self._ends: list[Callable[[], None] | None] = []
        """For each open element, the function to call when it ends. `end_of_box` and `end_of_link` are not called: most
        elements have them, and a comparison takes less time than a call."""

    def data(self, text: str) -> None:
        """Handle a piece of text."""
        if self._hidden_depth:
            if self._math is not None:
                self._math.data(text)
            if self._captured is not None:
                self._captured.append(text)
            elif self._conceals:
                self.concealed += len(text)
            return
        pieces = self._pieces
        if not pieces and text.isspace() and not self._verbatim:
            return  # white space between elements, which is half of all texts
        pieces.append(text)
        if self._links:
            self._link_characters += len(text.strip())

    def _flush(self) -> None:
        pieces = self._pieces
        if pieces:
            marked = ""
            if self._verbatim:
                text = code_text(pieces, is_listing=self._text.is_listing)
                if self._text.has_signs:
                    text, _ = self._text.take_signs(text)
            else:
                text = running_text(pieces)
                if self._text.has_signs or self._has_marks:
                    text, marked = self._text.take_signs(text)
            pieces.clear()
            if text and not (text[0].isdigit() and numbers_lines(text)):
                # Links in code lead to what the code names, so they do not count as links.
                links = 0 if self._verbatim else self._link_characters
                self.blocks.append(Block(self._box, text, links, marked))
        self._link_characters = 0

    def _block(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin a box; within a <pre>, begin a line."""
        # Some pages hide their <body> until a script has run, so a hidden <body> is read.
        if attributes and tag != "body" and not self._reveals and is_hidden_for_good(attributes):
            self._conceal()
            return
        if attributes and "class" in attributes:
            part = styled_part(attributes["class"])
            if part is not None and self._styled_part_starts(part, tag, attributes):
                return
        if self._verbatim:
            self._text.begin_line()
            self._ends.append(self._text.end_line)
            return
        if self._pieces:
            self._flush()
        around = self._box
        if around.depth == DEEPEST:
            self._ends.append(self._flush)
            return
        boxes = self.boxes
        self._box = box = Box(len(boxes), tag, around, len(self.blocks))
        boxes.append(box)
        if isinstance(around.children, list):
            around.children.append(box)
        else:
            around.children = [box]
        self._ends.append(end_of_box)
        if attributes:
            apply_attributes(box, attributes)
        if tag in MARKS:
            apply_tag(box)

    def _author_box_starts(self, attributes: Mapping[str, str]) -> None:
        """Note that the element just started is marked as the author, if it has become a box."""
        if not self._hidden_depth and self._ends[-1] is end_of_box:
            facts, blocks = len(self.metadata), len(self.blocks)
            self._ends[-1] = partial(self._author_box_ends, dict(attributes), facts, blocks)

    def _author_box_ends(self, attributes: Mapping[str, str], facts: int, first: int) -> None:
        """End a box that is marked as the author. It states a name, or else its first line is one."""
        is_comment = self._box.is_in_comments()
        self._block_ends()
        if is_comment:
            return
        stated = (
            each.attributes.get("content", each.text)
            for each in self.metadata[facts:]
            if each.attributes.get("itemprop") == "name"
        )
        lines = (block.text for block in self.blocks[first : first + 1])
        if name := next(filter(None, chain(stated, lines)), ""):
            self.metadata.append(MetadataElement("author", attributes, name[:MAX_FACT_LENGTH], first))

    def _styled_part_starts(self, part: StyledPart, tag: str, attributes: Mapping[str, str]) -> bool:
        """Apply what the class says of the element; return whether the element has been started."""
        if self._hides(part, tag):
            self._hidden_depth = 1
            return True
        match part:
            case StyledPart.LISTING if not self._verbatim and tag not in CODE_ROOTS:
                self._code_starts(attributes)
                self._text.is_listing = True
            case StyledPart.LINE if self._verbatim:
                self._text.begin_code_line()
                self._ends.append(self._text.end_code_line)
            case StyledPart.TYPESET:
                self._typeset(tag, attributes)
            case _:
                return self._sign_starts(part, tag)
        return True

    def _sign_starts(self, part: StyledPart, tag: str) -> bool:
        """Apply that an element is a formula or has signs that the style sheet writes; return as above."""
        match part:
            case StyledPart.SOURCE:
                self._is_typeset = True
            case StyledPart.CLASSIFIER if tag == "span" and not self._verbatim:
                self._text.begin_classifier()
            case StyledPart.SEPARATOR if tag == "span" and not self._verbatim:
                self._ends.append(partial(self._text.end_separator, len(self._pieces)))
                return True
            case _:
                pass
        return False

    def _hides(self, part: StyledPart, tag: str) -> bool:
        """Return whether an element is not shown, or not a part of the code that it is in."""
        match part:
            case StyledPart.GUTTER:
                return self._verbatim > 0 and tag not in CODE_ROOTS
            case StyledPart.GUTTER_CELL:
                return (self._verbatim > 0 or tag in CELLS) and tag not in CODE_ROOTS
            case _:
                return part is StyledPart.PREVIEW

    def _block_ends(self) -> None:
        if self._pieces:
            self._flush()
        box = self._box
        box.last = len(self.blocks)
        if box.parent is not None:
            self._box = box.parent

    def _pre(self, _tag: str, attributes: Mapping[str, str]) -> None:
        if attributes and not self._reveals and is_hidden_for_good(attributes):
            self._conceal()
        elif self._verbatim:
            self._text.begin_line()
            self._ends.append(self._inner_pre_ends)
            self._verbatim += 1
            self._text.is_listing = False  # white space in a <pre> has a meaning
            self._box.language = self._box.language or code_language(attributes)
        else:
            self._code_starts(attributes)

    def _code_starts(self, attributes: Mapping[str, str]) -> None:
        around = self._box
        self._block("pre", attributes)
        if self._hidden_depth:
            return  # its class names the preview of a formula
        self._ends[-1] = self._pre_ends
        self._verbatim = 1
        if self._box is not around:
            self._box.language = code_language(attributes) or _outer_language(around)

    def _pre_ends(self) -> None:
        if self._box.tag == "pre":
            self._block_ends()
        else:
            self._flush()  # the <pre> was too deep for a box of its own
        self._verbatim, self._text.is_listing = 0, False

    def _inner_pre_ends(self) -> None:
        self._verbatim -= 1

    def _conceal(self) -> None:
        """Hide an element whose text may be needed if the page has little else."""
        self._hidden_depth, self._conceals = 1, True

    def _math_starts(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._hidden_depth, self._math = 1, MathReader()
        self._math.start(tag, attributes)

    def _typeset(self, _tag: str, attributes: Mapping[str, str]) -> None:
        """Read a formula that MathJax has drawn; its MathML is for screen readers."""
        self._hidden_depth, self._math = 1, MathReader()
        self._math.is_block = attributes.get("display") == "true" or "Display" in attributes.get("class", "")
        self._capture(self._add_drawn)

    def _hidden_ends(self) -> None:
        math, self._math = self._math, None
        captured, self._captured = self._captured, None
        if math is not None and (formula := math.formula()):
            self._text.add_formula(formula, is_drawn=True)
        elif captured is not None and self._on_captured is not None:
            self._on_captured("".join(captured))

    def _add_drawn(self, text: str) -> None:
        """Add a formula that the page calls drawn, but that has only its TeX."""
        if "\\" in text or "$" in text:
            self._is_typeset = True
            self.data(text)

    def _hidden_inline(self, attributes: Mapping[str, str]) -> None:
        """Hide a part of a line, unless browsers show it and words for screen readers were left out in its place."""
        self._hidden_depth = 1
        if is_hidden_from_screen_readers(attributes):
            self._capture(self._add_shown)

    def _add_shown(self, text: str) -> None:
        """Add what browsers show, if the words left out before it have it; otherwise note that it is left out."""
        box, words = self._without_words
        letters = _letters(text)
        if letters and box is self._box and letters in words:
            self.data(text)
        elif letters:
            self._without_shown = self._box

    def _is_for_screen_readers(self, attributes: Mapping[str, str]) -> bool:
        """Return whether the words of an element are for screen readers alone. In a cell they say what a sign shows."""
        return (
            self._without_shown is not self._box
            and "not-sr-only" not in attributes["class"]
            and not self._box.is_in_cell()
        )

    def _add_screen_reader_text(self, text: str) -> None:
        """Add signs that style sheets draw in another way, such as the plus of a mixed fraction; leave out words."""
        if letters := _letters(text):
            self._without_words = self._box, letters
        else:
            self.data(text)

    def _capture(self, receiver: Callable[[str], None]) -> None:
        self._captured, self._on_captured = [], receiver

    STARTS: ClassVar[dict[str, Callable[[Any, str, Mapping[str, str]], None]]] = {
        "math": _math_starts,
        "mjx-container": _typeset,
        "pre": _pre,
    }
    """What handles the start of code and formulas."""


def _outer_language(box: Box | None) -> str:
    """Return the language of code that the names of the boxes around it state."""
    for _ in range(LANGUAGE_REACH):
        if box is None:
            break
        if box.names and (found := known_language(box.names)):
            return found
        box = box.parent
    return ""
