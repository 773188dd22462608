"""`ParsedPage`: a page as two arrays, boxes and blocks.

1. A `Block` is a run of text that begins and ends on a line of its own. Blocks are in the order of the page.
2. A `Box` is an element that begins and ends on a line of its own. It contains the blocks from `first` (included) to
   `last` (excluded). Boxes are in the order in which they begin, and each refers to the box around it.

`extract.page.page_reader` creates them; nothing changes them until `ParsedPage.release`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from thresher.extract.notation.table_grid import ONE, Span

MAX_ELEMENTS = 300_000
"""Elements of a page at most. Each takes about 7 microseconds to read, and as long again in each pass over the page. Of
2,675 real pages, the largest has 10,534 elements.
"""
DEEPEST = 255
"""Boxes around a box at most; a deeper element belongs to the innermost of them."""
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))

_COMMAS = re.compile("[\u060c\ufe50\ufe10\ufe11\u2e41\u2e34\u2e32\uff0c\u3001]")


class Block:
    """A run of text."""

    __slots__ = ("box", "commas", "length", "link", "marked", "tag", "text")

    def __init__(self, box: "Box", text: str, link: int, marked: str = "") -> None:
        length = len(text)
        self.box = box
        """The innermost box around it."""
        self.tag = box.tag
        self.text = text
        """Text with white space collapsed and the line breaks of the page kept; unchanged if it is in a <pre>."""
        self.length = length
        self.link = min(length, link) if link else 0
        """Number of its characters that are links."""
        self.marked = marked
        """Text with the marks of `extract.notation.inline_markdown`; empty if there are none."""
        self.commas = text.count(",") + (0 if text.isascii() else len(_COMMAS.findall(text)))

    def __repr__(self) -> str:
        return f"<{self.tag} {self.text!r}>"


class Box:
    """An element that begins and ends on a line of its own."""

    # Slots, although most boxes keep most defaults: the passes over a page read them far more often than they are set.
    __slots__ = (
        "children",
        "comments",
        "controls",
        "depth",
        "first",
        "images",
        "is_boilerplate",
        "is_content",
        "is_link_discussion",
        "is_main",
        "is_navigation",
        "is_post",
        "is_reference",
        "language",
        "last",
        "names",
        "number",
        "ordinal",
        "parent",
        "players",
        "span",
        "tag",
        "unlikely",
        "weight",
    )

    def __init__(self, number: int, tag: str, parent: "Box | None", first: int) -> None:
        self.number = number
        self.tag = tag
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.first = self.last = first
        self.children: Sequence[Box] = ()
        self.controls = self.images = self.players = 0
        """Elements of each sort directly in the box, without those of its child boxes."""
        self.weight = 0
        self.unlikely = 0.0
        self.comments = self.is_boilerplate = self.is_content = False
        self.is_reference = self.is_post = self.is_link_discussion = False
        """See `extract.page.class_hints`."""
        self.is_navigation = False
        """Whether the page marks the box as `nav`, `aside` or `footer`, by its tag, its role or its name."""
        self.is_main = False
        """Whether the page marks the box as its main content: `<main>`, `role="main"`, `itemprop="articleBody"`."""
        self.names = ""
        """The class as written; empty if there is none."""
        self.span: Span = ONE
        """The columns and rows that a cell covers."""
        self.ordinal: int | None = None
        """The number that a list states for its first item, or an item for itself."""
        self.language = ""
        """The language of code; empty if the page states none."""

    def is_in_cell(self) -> bool:
        """Return whether the box is a cell of a table, or in one."""
        box: Box | None = self
        while box is not None:
            if box.tag in {"td", "th"}:
                return True
            box = box.parent
        return False

    def is_in_comments(self) -> bool:
        """Return whether the names of the box, or of one around it, suggest readers' comments."""
        box: Box | None = self
        while box is not None:
            if box.comments:
                return True
            box = box.parent
        return False

    def __repr__(self) -> str:
        return f"<box {self.number}: {self.tag}, blocks {self.first} to {self.last}>"


class MetadataElement(NamedTuple):
    """An element that states a fact about the page."""

    tag: str
    """`html`, `meta`, `link`, `a`, `title`, `time`, `author`, `author link`, `neighbour link`, `user` of a forum,
    `name` of anything, or `script` of JSON-LD.
    """
    attributes: Mapping[str, str]
    text: str = ""
    block: int = 0
    """The number of blocks in front of it, for a day, an author, a user, a name or a link to a neighbour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPage:
    """The result of reading a page."""

    boxes: list[Box]
    blocks: list[Block]
    metadata: list[MetadataElement]
    """Elements that state facts about the page, in their order."""
    elements: int
    """Number of elements. If it exceeds `MAX_ELEMENTS`, the page was not read to its end."""
    has_marks: bool = False
    """Whether the blocks have their inline marks."""
    concealed: int = 0
    """Characters in `noscript` and in elements that an attribute hides, which were not read."""

    def release(self) -> None:
        """Drop the references from boxes to their children. Call it when the page is no longer needed.

        Boxes refer to the boxes around them, so without this only the garbage collector would free a page. Its runs
        took a sixth of the CPU time of extraction.
        """
        for box in self.boxes:
            box.children = ()
