"""Read a page into boxes and blocks while it is parsed; no tree is built.

1. Invisible elements are left out: scripts, styles, controls, drawings, and elements that an attribute hides.
2. Elements that state facts about the page are collected for `extract.page_facts`: <meta>s, links with a relation,
   titles, and scripts of JSON-LD.
3. A formula becomes TeX between dollar signs: the TeX that the page has (in MathML, MathJax, KaTeX or the text of an
   image), otherwise the TeX for its MathML.
4. Code of highlighters (`extract.notation.code_listings`) becomes one block, without line numbers.
"""

from collections.abc import Callable, Mapping
from functools import partial

from lxml import etree

from extract.notation.block_text import NEW_LINE, BlockText, code_text, running_text
from extract.notation.code_listings import BOX_PARTS, ListingPart, listing_part
from extract.notation.formulas import write_formula
from extract.notation.inline_markdown import ELEMENTS, ENDS, LINK, TARGET_END
from extract.notation.mathml import MathReader
from extract.notation.superscripts import BEGIN as SUPERSCRIPT
from extract.page.boxes import DEEPEST, MAX_ELEMENTS, Block, Box, MetadataElement, ParsedPage
from extract.page.class_hints import ALWAYS_UNLIKELY
from extract.page.elements import (
    CODE_ROOTS,
    CONTROLS,
    INLINE,
    INVISIBLE_TAGS,
    JSON_LD,
    MATH_SCRIPT,
    PLAYERS,
    SHADOW,
    TYPESETTERS,
    UNLIKELY_TAGS,
    apply_attributes,
    code_language,
    is_formula,
    is_hidden,
    mark_main,
    numbers_lines,
    outer_language,
    with_delimiters,
)


class TooManyError(Exception):
    """The page has more elements than are read."""


class Reader:
    """Collect the boxes, blocks and facts of one page from the parser's events (lxml's parser target interface)."""

    def __init__(self, *, reveals: bool = False, marks: bool = False) -> None:
        self._has_marks = marks
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
        self._text = BlockText(has_marks=marks)
        self._pieces = self._text.pieces
        self._link_characters = self._links = 0
        """Characters of links since the block began, and number of open links."""
        self._verbatim = 0
        """Number of open <pre>s."""
        self._hidden_depth = 0
        """Number of open elements from the outermost hidden one on; 0 if no open element is hidden."""
        self._captured: list[str] | None = None
        """Text of a hidden element that is needed nevertheless; None if none is being captured."""
        self._on_captured: Callable[[str], None] = self._ignore_text
        """Receives the captured text."""
        self._math: MathReader | None = None
        """Reads the formula in a hidden element; None if none is being read."""
        self._is_typeset = False
        """Whether a script draws the TeX of the page."""
        self._ends: list[Callable[[], None] | None] = []
        """For each open element, the function to call when it ends."""
        self._box_ends = self._block_ends  # bound once, because every box uses it
        self._mark_ends = {mark: partial(self._text.end_mark, mark) for mark in ENDS} if marks else {}
        self._starts: dict[str, Callable[[str, Mapping[str, str]], None]] = {
            **dict.fromkeys(INLINE, self._inline),
            **dict.fromkeys(INVISIBLE_TAGS, self._unseen),
            **dict.fromkeys(CONTROLS, self._control),
            **dict.fromkeys(PLAYERS, self._player),
            "a": self._link, "base": self._fact, "br": self._break, "head": self._head, "hr": self._rule, "html": self._html,
            "img": self._image, "link": self._fact, "math": self._math_starts, "meta": self._fact, "pre": self._pre,
            "noscript": self._noscript, "mjx-container": self._typeset, "rt": self._ruby, "script": self._script, "sup": self._superscript,
            "template": self._template, "time": self._time, "title": self._title,
        }  # fmt: skip
        if marks:
            self._starts.update(dict.fromkeys(ELEMENTS, self._marked))

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element. Raise `TooManyError` if the page has too many."""
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise TooManyError
        if self._hidden_depth:
            self._hidden_depth += 1
            if self._math is not None:
                self._math.start(tag, attributes)
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
            if self._math is not None:
                self._math.end(tag)
            if not self._hidden_depth:
                self._conceals = False
                if self._captured is not None or self._math is not None:
                    self._hidden_ends()
            return
        end = self._ends.pop()
        if end is not None:
            end()

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
        if self._is_typeset:
            self.blocks = [with_delimiters(block) for block in self.blocks]
        return ParsedPage(
            boxes=self.boxes,
            blocks=self.blocks,
            metadata=self.metadata,
            elements=self.elements,
            concealed=self.concealed,
            has_marks=self._has_marks,
        )

    def _flush(self) -> None:
        pieces = self._pieces
        if pieces:
            marked = ""
            if self._verbatim:
                text = code_text(pieces, is_listing=self._text.is_listing)
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
        if attributes and tag != "body" and not self._reveals and is_hidden(attributes):
            self._conceal()
            return
        if attributes and "class" in attributes:
            part = listing_part(attributes["class"])
            if part is not None and self._listing_starts(part, tag, attributes):
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
        self._box = box = Box(len(self.boxes), tag, around, len(self.blocks))
        self.boxes.append(box)
        if isinstance(around.children, list):
            around.children.append(box)
        else:
            around.children = [box]
        self._ends.append(self._box_ends)
        if attributes:
            apply_attributes(box, attributes)
        if tag in UNLIKELY_TAGS:
            box.unlikely, box.is_navigation = ALWAYS_UNLIKELY, True
        elif tag == "main":
            mark_main(box)

    def _listing_starts(self, part: ListingPart, tag: str, attributes: Mapping[str, str]) -> bool:
        """Start an element whose class names a part of a listing or a formula; return whether it is one."""
        match part:
            case ListingPart.LISTING if not self._verbatim and tag not in CODE_ROOTS:
                self._code_starts(attributes)
                self._text.is_listing = True
            case ListingPart.LINE if self._verbatim:
                self._text.begin_code_line()
                self._ends.append(self._text.end_code_line)
            case ListingPart.GUTTER if self._verbatim and tag not in CODE_ROOTS:
                self._hidden_depth = 1
            case ListingPart.GUTTER_CELL if (self._verbatim or tag in {"td", "th"}) and tag not in CODE_ROOTS:
                self._hidden_depth = 1
            case ListingPart.PREVIEW:
                self._hidden_depth = 1
            case ListingPart.TYPESET:
                self._typeset(tag, attributes)
            case ListingPart.SOURCE:
                self._is_typeset = True
                return False
            case _:
                return False
        return True

    def _block_ends(self) -> None:
        if self._pieces:
            self._flush()
        box = self._box
        box.last = len(self.blocks)
        if box.parent is not None:
            self._box = box.parent

    def _html(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.metadata.append(MetadataElement(tag, dict(attributes)))
        self._block(tag, {})

    def _head(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._ends.append(None)

    def _pre(self, _tag: str, attributes: Mapping[str, str]) -> None:
        if attributes and not self._reveals and is_hidden(attributes):
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
        self._ends[-1] = self._pre_ends
        self._verbatim = 1
        if self._box is not around:
            self._box.language = code_language(attributes) or outer_language(around)

    def _pre_ends(self) -> None:
        if self._box.tag == "pre":
            self._block_ends()
        else:
            self._flush()  # the <pre> was too deep for a box of its own
        self._verbatim, self._text.is_listing = 0, False

    def _inner_pre_ends(self) -> None:
        self._verbatim -= 1

    def _inline(self, tag: str, attributes: Mapping[str, str]) -> None:
        if attributes:
            if is_hidden(attributes):
                self._hidden_depth = 1
                return
            if "class" in attributes and (part := listing_part(attributes["class"])) is not None:
                if part not in BOX_PARTS and self._listing_starts(part, tag, attributes):
                    return
            if self._verbatim and tag == "code":
                self._box.language = self._box.language or code_language(attributes)
        self._ends.append(None)

    def _marked(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Start an element that Markdown marks."""
        self._inline(tag, attributes)
        if not self._hidden_depth and not self._verbatim:
            self._text.begin_mark(ELEMENTS[tag])
            self._ends[-1] = self._mark_ends[ELEMENTS[tag]]

    def _superscript(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._inline(tag, attributes)
        is_number = self._verbatim or self._links  # of code, or of a footnote
        if not self._hidden_depth and not is_number and self._text.begin_superscript():
            self._ends[-1] = self._text.end_superscript

    def _ruby(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._inline(tag, attributes)
        if not self._hidden_depth:
            self._text.begin_ruby()
            self._ends[-1] = self._text.end_ruby

    def _time(self, tag: str, attributes: Mapping[str, str]) -> None:
        if "datetime" in attributes and (
            "pubdate" in attributes or attributes.get("itemprop") == "datePublished"
        ):
            self.metadata.append(MetadataElement(tag, dict(attributes)))
        self._inline(tag, attributes)

    def _link(self, tag: str, attributes: Mapping[str, str]) -> None:
        if is_hidden(attributes):
            self._hidden_depth = 1
        elif "href" in attributes:
            if "rel" in attributes:
                self.metadata.append(MetadataElement(tag, dict(attributes)))
            if self._pieces and self._pieces[-1] == SUPERSCRIPT:  # the number of a footnote
                self._pieces[-1] = ""
            self._links += 1
            self._ends.append(self._link_ends)
            if self._has_marks and not self._verbatim:
                self._text.begin_mark(LINK, "%20".join(attributes["href"].split()) + TARGET_END)
                self._ends[-1] = self._marked_link_ends
        else:
            self._ends.append(None)

    def _link_ends(self) -> None:
        self._links -= 1

    def _marked_link_ends(self) -> None:
        self._links -= 1
        self._text.end_mark(LINK)

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
        if "alt" in attributes and is_formula(attributes):
            self._text.add_formula(write_formula(attributes["alt"]))

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
        elif captured is not None:
            self._on_captured("".join(captured))

    def _add_drawn(self, text: str) -> None:
        """Add a formula that the page calls drawn, but that has only its TeX."""
        if "\\" in text or "$" in text:
            self._is_typeset = True
            self.data(text)

    def _script(self, _tag: str, attributes: Mapping[str, str]) -> None:
        self._hidden_depth = 1
        type_ = attributes.get("type", "")
        if type_ == JSON_LD:
            self._capture(self._add_json_ld)
        elif type_.startswith(MATH_SCRIPT):
            self._capture(partial(self._add_source, is_block="display" in type_))
        elif "src" in attributes and TYPESETTERS.search(attributes["src"]):
            self._is_typeset = True

    def _title(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._hidden_depth = 1
        self._capture(self._add_title)

    def _capture(self, receiver: Callable[[str], None]) -> None:
        self._captured, self._on_captured = [], receiver

    def _add_title(self, text: str) -> None:
        self.metadata.append(MetadataElement("title", {}, text))

    def _add_json_ld(self, text: str) -> None:
        self.metadata.append(MetadataElement("script", {}, text))

    def _add_source(self, tex: str, *, is_block: bool) -> None:
        self._text.add_source(write_formula(tex, is_block=is_block))

    def _ignore_text(self, _text: str) -> None:
        pass


def read_page(html: bytes, *, reveals: bool = False, marks: bool = False) -> ParsedPage | None:
    """Return the page in `html`, which is UTF-8; return None if the parser finds nothing in it.

    If `reveals` is set, elements that an attribute hides and `noscript` are read too. If `marks` is set, the blocks
    have their inline marks; the blocks and their texts are the same.
    """
    reader = Reader(reveals=reveals, marks=marks)
    try:
        etree.fromstring(html, etree.HTMLParser(encoding="utf-8", target=reader))
    except etree.ParseError:
        return None
    except TooManyError:
        pass
    return reader.page()
