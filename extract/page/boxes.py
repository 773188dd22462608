"""`Page`: a page as two arrays.

1. A `Block` is a run of text that begins and ends on a line of its own; blocks stand in the order of the page.
2. A `Box` is an element that begins and ends on a line of its own; it has all blocks from `first` to before `last`. Boxes stand in the
   order in which they begin, and each names the one around it.

They are made by `extract.page.page_reader`, and not changed afterwards.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MOST_ELEMENTS = 300_000
"""Elements of a page: some seven microseconds each, and as many again for each look at them; of 2,675 real pages the most are 10,534."""
DEEPEST = 255
"""Boxes around a box; what lies deeper belongs to the innermost of them."""

_COMMAS = re.compile("[\u060c\ufe50\ufe10\ufe11\u2e41\u2e34\u2e32\uff0c\u3001]")


class Block:
    """A run of text."""

    __slots__ = ("box", "commas", "length", "link", "tag", "text")

    def __init__(self, box: "Box", text: str, link: int) -> None:
        length = len(text)
        self.box = box
        """The innermost box around it."""
        self.tag = box.tag
        self.text = text
        """White space collapsed, lines that the page breaks kept; as it stands in a <pre>."""
        self.length = length
        self.link = min(length, link)
        """Characters of it that are links."""
        self.commas = text.count(",") + (0 if text.isascii() else len(_COMMAS.findall(text)))

    def __repr__(self) -> str:
        return f"<{self.tag} {self.text!r}>"


class Box:
    """An element that stands on lines of its own."""

    # Of the class where an element has none of it, as most have: a page has hundreds of boxes.
    controls = images = players = 0
    """Of its own, not those of its children."""
    weight = 0
    unlikely = 0.0
    comments = is_boilerplate = False
    """See `extract.page.class_hints`."""
    children: Sequence["Box"] = ()

    def __init__(self, number: int, tag: str, parent: "Box | None", first: int) -> None:
        self.number = number
        self.tag = tag
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.first = first
        self.last = first

    def __repr__(self) -> str:
        return f"<box {self.number}: {self.tag}, blocks {self.first} to {self.last}>"


class MetadataElement(NamedTuple):
    """An element that says something of the page."""

    tag: str
    """`html`, `meta`, `link`, `a`, `title`, `time`, or `script` of JSON-LD."""
    attributes: Mapping[str, str]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPage:
    """A page that was read."""

    boxes: list[Box]
    blocks: list[Block]
    metadata: list[MetadataElement]
    """Elements that say something of the page, in their order."""
    elements: int
    """How many it has; where they are more than `MOST_ELEMENTS`, the page was not read to its end."""
