"""Read a page into boxes and blocks while it is parsed; no tree is built.

1. Invisible elements are left out: scripts, styles, controls, drawings, and elements that an attribute hides.
2. Elements that state facts about the page are collected for `extract.facts`: <meta>s, links with a relation,
   titles, and scripts of JSON-LD.
3. A formula becomes its TeX between dollar signs if the page has it: in MathML, in MathJax, or in the text of an image.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial

from lxml import etree

from extract.page.boxes import DEEPEST, MAX_ELEMENTS, Block, Box, MetadataElement, ParsedPage
from extract.page.element_attributes import (
    MARKS,
    apply_attributes,
    apply_tag,
    is_hidden,
    numbers_lines,
    stated_fact,
)

INLINE = frozenset((
    "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "label", "mark", "q", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u",
    "var", "wbr", "nobr",
))  # fmt: skip
INVISIBLE_TAGS = frozenset((
    "applet", "area", "audio", "base", "basefont", "canvas", "figcaption", "frame", "frameset", "map", "marquee",
    "noembed", "option", "param", "rp", "source", "style", "svg", "track",
))  # fmt: skip
SHADOW = frozenset(("open", "closed"))
CONTROLS = frozenset(("input", "textarea", "select", "button"))
PLAYERS = frozenset(("iframe", "object", "embed", "video"))
MAX_FACT_LENGTH = 200
"""Characters of the text of an element that states an author or a day, at most."""
SIGNS = frozenset(("\u00b6", "#", "\u00a7", "\U0001f517", "[source]", "[src]", "[edit]"))
"""Texts of links that belong to a heading or a signature and lead to itself or to its source."""
MAX_SIGN_PIECES = 5
"""Pieces of text in such a link at most."""
NEW_LINE = "\v"
"""Marks a line break of the page among white space without meaning."""
LINE_END = "\f"
"""Marks the end of an element in a <pre> that is a line of its own; the page may have a line break there too."""
POWER = "\x0e"
"""Separates a number from the superscript that follows it, which may be an exponent."""
TEX = ("application/x-tex", "TeX", "LaTeX")
STYLES = ("{\\displaystyle", "{\\textstyle")
"""Start of a formula that is wrapped in a command for its size."""
ANNOTATIONS = frozenset(("annotation", "annotation-xml"))
JSON_LD = "application/ld+json"


_EXPONENT = re.compile(rf"{POWER}(?=[\d+\u2212-])")
_UNSEEN_SIGNS = dict.fromkeys(map(ord, "\xad\u200b"))
"""Soft hyphens and zero-width spaces, which mark places where a word may be broken."""
_FORMULA = re.compile(r"\b(?:mwe-math|latex|tex|math)(?![a-z])", re.IGNORECASE)


class TooManyError(Exception):
    """The page has more elements than are read."""


class Reader:
    """Collect the boxes, blocks and facts of one page from the parser's events (lxml's parser target interface)."""

    def __init__(self, *, reveals: bool = False) -> None:
        self._reveals = reveals
        """Whether `noscript` and elements that an attribute hides are read too."""
        self.concealed = 0
        """Characters in such elements, if they are not read."""
        self._conceals = False
        outermost = Box(0, "", None, 0)
        self.boxes = [outermost]
        self.blocks: list[Block] = []
        self.metadata: list[MetadataElement] = []
        self.elements = 0
        self._box = outermost
        self._pieces: list[str] = []
        self._link_characters = self._links = 0
        """Characters of links since the block began, and number of open links."""
        self._verbatim = 0
        self._hidden_depth = 0
        """Number of open elements from the outermost hidden one on; 0 if no open element is hidden."""
        self._ignored_depth = 0
        """Value of `_hidden_depth` at an annotation that repeats a formula; its text is ignored. Otherwise 0."""
        self._captured: list[str] | None = None
        """Text of a hidden element that is needed nevertheless; None if none is being captured."""
        self._on_captured: Callable[[str], None] = self._ignore_text
        """Receives the captured text."""
        self._ends: list[Callable[[], None] | None] = []
        """For each open element, the function to call when it ends."""
        self._box_ends, self._link_end = self._block_ends, self._link_ends  # bound once, because all use them
        self._starts: dict[str, Callable[[str, Mapping[str, str]], None]] = {
            **dict.fromkeys(INLINE, self._inline),
            **dict.fromkeys(INVISIBLE_TAGS, self._unseen),
            **dict.fromkeys(CONTROLS, self._control),
            **dict.fromkeys(PLAYERS, self._player),
            "a": self._link, "br": self._break, "head": self._head, "hr": self._rule, "html": self._html,
            "img": self._image, "link": self._fact, "math": self._math, "meta": self._fact, "pre": self._pre,
            "noscript": self._noscript, "script": self._script, "sup": self._superscript,
            "template": self._template, "time": self._time, "title": self._title,
        }  # fmt: skip

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element. Raise `TooManyError` if the page has too many."""
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise TooManyError
        if self._hidden_depth:
            self._hidden_depth += 1
            if self._captured is not None and tag in ANNOTATIONS and not self._ignored_depth:
                if attributes.get("encoding") in TEX:
                    self._captured.clear()
                    self._on_captured = self._add_tex
                else:
                    self._ignored_depth = self._hidden_depth
            return
        start = self._starts.get(tag)
        if start is None:
            self._block(tag, attributes)
        else:
            start(tag, attributes)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        if self._hidden_depth:
            self._hidden_depth -= 1
            if not self._hidden_depth:
                self._conceals = False
            if self._ignored_depth > self._hidden_depth:
                self._ignored_depth = 0
            elif (
                not self._ignored_depth
                and self._captured is not None
                and (not self._hidden_depth or tag == "annotation")
            ):
                captured, self._captured = "".join(self._captured), None
                self._on_captured(captured)
            return
        end = self._ends.pop()
        if end is not None:
            end()

    def data(self, text: str) -> None:
        """Handle a piece of text."""
        if self._hidden_depth:
            if self._captured is not None:
                if not self._ignored_depth:
                    self._captured.append(text)
            elif self._conceals:
                self.concealed += len(text)
            return
        if not self._pieces and not self._verbatim and text.isspace():
            return  # white space between elements, which is half of all texts
        self._pieces.append(text)
        if self._links:
            self._link_characters += len(text.strip())

    def close(self) -> None:
        """Do nothing. lxml's parser target interface requires this method."""

    def page(self) -> ParsedPage:
        """Return the page. Call it once, after the parser has finished."""
        self._flush()
        self.boxes[0].last = len(self.blocks)
        return ParsedPage(
            boxes=self.boxes,
            blocks=self.blocks,
            metadata=self.metadata,
            elements=self.elements,
            concealed=self.concealed,
        )

    def _flush(self) -> None:
        pieces = self._pieces
        if pieces:
            text = "".join(pieces)
            pieces.clear()
            if self._verbatim:
                text = text.replace(f"{LINE_END}\n", "\n").replace(LINE_END, "\n").replace(NEW_LINE, "\n")
                text = text.rstrip().strip("\n")
            elif NEW_LINE in text:
                text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split(NEW_LINE))))
            else:
                text = " ".join(text.split())
            if not text.isascii() and ("\xad" in text or "\u200b" in text):
                text = text.translate(_UNSEEN_SIGNS)
            if POWER in text:
                text = _EXPONENT.sub("^", text).replace(POWER, "")
            if text and not (text[0].isdigit() and numbers_lines(text)):
                # Links in code lead to what the code names, so they do not count as links.
                self.blocks.append(Block(self._box, text, 0 if self._verbatim else self._link_characters))
        self._link_characters = 0

    def _block(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin a box; within a <pre>, begin a line."""
        # Some pages hide their <body> until a script has run, so a hidden <body> is read.
        if attributes and tag != "body" and not self._reveals and is_hidden(attributes):
            self._conceal()
            return
        if self._verbatim:
            if self._pieces and not self._pieces[-1].endswith("\n"):
                self._pieces.append("\n")
            self._ends.append(self._line_ends)
            return
        if self._pieces:
            self._flush()
        around = self._box
        if around.depth == DEEPEST:
            self._ends.append(self._flush)
            return
        self._box = box = Box(len(self.boxes), tag, around, len(self.blocks))
        self.boxes.append(box)
        if isinstance(around.children, list):
            around.children.append(box)
        else:
            around.children = [box]
        self._ends.append(self._box_ends)
        if attributes:
            apply_attributes(box, attributes)
        if tag in MARKS:
            apply_tag(box)

    def _block_ends(self) -> None:
        if self._pieces:
            self._flush()
        box = self._box
        box.last = len(self.blocks)
        if box.parent is not None:
            self._box = box.parent

    def _line_ends(self) -> None:
        if self._pieces and not self._pieces[-1].endswith(("\n", LINE_END)):
            self._pieces.append(LINE_END)

    def _html(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.metadata.append(MetadataElement(tag, dict(attributes)))
        self._block(tag, {})

    def _head(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._ends.append(None)

    def _pre(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._block(tag, attributes)
        if not self._hidden_depth:
            self._ends[-1] = self._pre_ends if not self._verbatim else self._inner_pre_ends
            self._verbatim += 1

    def _pre_ends(self) -> None:
        if self._box.tag == "pre":
            self._block_ends()
        else:
            self._flush()  # the <pre> was too deep for a box of its own
        self._verbatim = 0

    def _inner_pre_ends(self) -> None:
        self._verbatim -= 1

    def _inline(self, _tag: str, attributes: Mapping[str, str]) -> None:
        if not attributes:
            self._ends.append(None)
        elif is_hidden(attributes):
            self._hidden_depth = 1
        else:
            self._ends.append(self._marked(attributes))

    def _marked(self, attributes: Mapping[str, str]) -> Callable[[], None] | None:
        """Return what to call at the end of an inline element that states an author or a day; return None for any
        other.
        """
        tag = None if self._verbatim else stated_fact(attributes)
        if tag is None:
            return None
        return partial(self._marked_ends, tag, dict(attributes), len(self.blocks), len(self._pieces))

    def _marked_ends(self, tag: str, attributes: Mapping[str, str], blocks: int, pieces: int) -> None:
        if len(self.blocks) == blocks and not (tag == "author" and self._is_comment()):
            text = " ".join("".join(self._pieces[pieces:]).split())
            self.metadata.append(MetadataElement(tag, attributes, text[:MAX_FACT_LENGTH]))

    def _is_comment(self) -> bool:
        box: Box | None = self._box
        while box is not None:
            if box.comments:
                return True
            box = box.parent
        return False

    def _superscript(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._inline(tag, attributes)
        if not self._hidden_depth and self._pieces and self._pieces[-1][-1:].isdigit():
            self._pieces.append(POWER)

    def _time(self, tag: str, attributes: Mapping[str, str]) -> None:
        if is_hidden(attributes):
            self._hidden_depth = 1
        else:
            self._ends.append(
                partial(self._marked_ends, tag, dict(attributes), len(self.blocks), len(self._pieces))
            )

    def _link(self, tag: str, attributes: Mapping[str, str]) -> None:
        if is_hidden(attributes):
            self._hidden_depth = 1
        elif "href" in attributes:
            if "rel" in attributes:
                self.metadata.append(MetadataElement(tag, dict(attributes)))
            self._links += 1
            marked = self._marked(attributes)
            if marked is not None or "#" in attributes["href"]:
                self._ends.append(
                    partial(self._notable_link_ends, marked, len(self.blocks), len(self._pieces))
                )
            else:
                self._ends.append(self._link_end)
        else:
            self._ends.append(self._marked(attributes) if attributes else None)

    def _link_ends(self) -> None:
        self._links -= 1

    def _notable_link_ends(self, marked: Callable[[], None] | None, blocks: int, pieces: int) -> None:
        """End a link that states a fact or leads to a place on a page; remove it if its text is a sign."""
        self._links -= 1
        if marked is not None:
            marked()
        if self._verbatim or len(self.blocks) != blocks:
            return
        text = "".join(self._pieces[pieces : pieces + MAX_SIGN_PIECES])
        if text.strip() in SIGNS and len(self._pieces) <= pieces + MAX_SIGN_PIECES:
            self._link_characters -= len(text.strip())
            del self._pieces[pieces:]

    def _break(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        """Break the line; a second break in a row begins a new block."""
        self._ends.append(None)
        pieces = self._pieces
        follows_break = pieces and (
            pieces[-1] == NEW_LINE or (len(pieces) > 1 and pieces[-2] == NEW_LINE and pieces[-1].isspace())
        )
        if follows_break and not self._verbatim:
            self._flush()
        else:
            pieces.append(NEW_LINE)

    def _rule(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._ends.append(None)
        if not self._verbatim:
            self._flush()

    def _image(self, _tag: str, attributes: Mapping[str, str]) -> None:
        self._ends.append(None)
        self._box.images += 1
        if "alt" in attributes and "class" in attributes and _FORMULA.search(attributes["class"]):
            self._add_tex(attributes["alt"])

    def _fact(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._ends.append(None)
        self.metadata.append(MetadataElement(tag, dict(attributes)))

    def _unseen(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._hidden_depth = 1

    def _noscript(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._reveals:
            self._block(tag, attributes)
        else:
            self._conceal()

    def _conceal(self) -> None:
        """Hide an element whose text may be needed if the page has little else."""
        self._hidden_depth, self._conceals = 1, True

    def _template(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Read a declared shadow root, which browsers show (HTML standard, section 4.12.3); hide any other template."""
        if attributes.get("shadowrootmode", "").lower() in SHADOW:
            self._block(tag, {})
        else:
            self._unseen(tag, attributes)

    def _control(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._box.controls += 1
        self._hidden_depth = 1

    def _player(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._box.players += 1
        self._hidden_depth = 1

    def _math(self, _tag: str, attributes: Mapping[str, str]) -> None:
        self._hidden_depth = 1
        if "alttext" in attributes:
            self._add_tex(attributes["alttext"])
        else:
            self._capture(self._add_formula)

    def _script(self, _tag: str, attributes: Mapping[str, str]) -> None:
        self._hidden_depth = 1
        type_ = attributes.get("type", "")
        if type_ == JSON_LD:
            self._capture(self._add_json_ld)
        elif type_.startswith("math/tex"):
            self._capture(self._add_tex)

    def _title(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._hidden_depth = 1
        self._capture(self._add_title)

    def _capture(self, receiver: Callable[[str], None]) -> None:
        self._captured, self._on_captured = [], receiver

    def _add_title(self, text: str) -> None:
        self.metadata.append(MetadataElement("title", {}, text))

    def _add_json_ld(self, text: str) -> None:
        self.metadata.append(MetadataElement("script", {}, text))

    def _add_tex(self, text: str) -> None:
        tex = text.strip()
        if tex.startswith(STYLES) and tex.endswith("}"):
            tex = tex[tex.index("style") + len("style") : -1].strip()
        if tex:
            self._pieces.append(f" ${tex}$ " if not tex.startswith("$") else f" {tex} ")

    def _add_formula(self, text: str) -> None:
        """Add MathML without TeX as its symbols, in their order."""
        self._pieces.append("".join(text.split()))

    def _ignore_text(self, _text: str) -> None:
        pass


def read_page(html: bytes, *, reveals: bool = False) -> ParsedPage | None:
    """Return the page in `html`, which is UTF-8; return None if the parser finds nothing in it.

    If `reveals` is set, elements that an attribute hides and `noscript` are read too.
    """
    reader = Reader(reveals=reveals)
    try:
        etree.fromstring(html, etree.HTMLParser(encoding="utf-8", target=reader))
    except etree.ParseError:
        return None
    except TooManyError:
        pass
    return reader.page()
