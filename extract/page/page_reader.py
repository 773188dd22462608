"""Read a page into boxes and blocks while it is parsed; no tree is built.

1. Invisible elements are left out: scripts, styles, controls, drawings, words for screen readers, and elements that an
   attribute hides, unless a reader opens them. A button that the page does not close does not hide what follows.
2. Elements that state facts about the page are collected for `extract.facts`: <meta>s, links with a relation,
   titles, and scripts of JSON-LD.
3. A formula becomes TeX between dollar signs: the TeX that the page has (in MathML, MathJax, KaTeX or the text of an
   image), otherwise the TeX for its MathML.
4. Code of highlighters (`extract.notation.styled_parts`) becomes one block, without line numbers.
"""

import re
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from lxml import etree

from thresher.extract.notation.block_text import NEW_LINE
from thresher.extract.notation.code_languages import code_language
from thresher.extract.notation.formulas import is_drawing, rewrite_delimiters, write_formula
from thresher.extract.notation.inline_markdown import ELEMENTS, ENDS, LINK, TARGET_END
from thresher.extract.notation.styled_parts import BOX_PARTS, StyledPart, styled_part
from thresher.extract.notation.superscripts import BEGIN as SUPERSCRIPT
from thresher.extract.page.box_reader import MAX_FACT_LENGTH, BoxReader, both_ends, end_of_box, end_of_link
from thresher.extract.page.boxes import HEADINGS, MAX_ELEMENTS, Block, MetadataElement, ParsedPage
from thresher.extract.page.element_attributes import FACTUAL, is_hidden, stated_fact

INLINE = frozenset((
    "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "label", "mark", "q", "rb", "rtc", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt",
    "u", "var", "wbr", "nobr",
))  # fmt: skip
INVISIBLE_TAGS = frozenset((
    "applet", "area", "audio", "basefont", "canvas", "figcaption", "frame", "frameset", "map", "marquee",
    "noembed", "option", "param", "rp", "source", "style", "svg", "track",
))  # fmt: skip
LINES = HEADINGS | {"p", "dt"}
"""Tags of boxes whose contents are one line, whatever elements they have."""
PANEL_HEADINGS = LINES - {"p"}
"""Tags of boxes that may be the heading of a panel, with a button that opens it."""
NAMES = frozenset(("class", "id"))
SHADOW = frozenset(("open", "closed"))
CONTROLS = frozenset(("input", "textarea", "select", "button"))
AFTER_BUTTONS = frozenset(("main", "article", "h1", "footer"))
"""Elements whose start shows that a page probably forgot to close the button before them: HTML allows none of them in a
button. A closed button that has one is read too.
"""
PLAYERS = frozenset(("iframe", "object", "embed", "video"))
NEVER_SHOWN = INVISIBLE_TAGS | PLAYERS | {"dialog", "noscript", "template"}
"""Elements whose contents are hidden wherever they are."""
SIGNS = frozenset(("\u00b6", "#", "\u00a7", "\U0001f517", "[source]", "[src]", "[edit]"))
"""Texts of links that belong to a heading or a signature and lead to itself or to its source."""
AUTHOR_PAGE = re.compile(
    r"/(?:authors?|autor(?:en|es|in)?|auteurs?|autori|writers?)/[^/?#]+/?$", re.IGNORECASE
)
"""End of the address of a page about an author."""
NEIGHBOURS = frozenset(("next", "prev", "previous", "up"))
"""Relations of links that lead to the pages around a page."""
MAX_SIGN_PIECES = 5
"""Pieces of text in such a link at most."""
JSON_LD = "application/ld+json"
MATH_SCRIPT = "math/tex"
"""Start of the type of a script with a formula for MathJax 2."""
TYPESETTERS = re.compile("mathjax|katex", re.IGNORECASE)
"""Parts of the address of a script that draws the TeX of a page."""


class TooManyError(Exception):
    """The page has more elements than are read."""


class Reader(BoxReader):
    """Collect the boxes, blocks and facts of one page from the parser's events (lxml's parser target interface)."""

    __slots__ = ("_mark_ends", "_starts")

    def __init__(self, *, reveals: bool = False, marks: bool = False) -> None:
        super().__init__(reveals=reveals, marks=marks)
        self._starts = self._MARKED_STARTS if marks else self._STARTS

    def begin(self) -> None:
        """Begin a page."""
        super().begin()
        self._mark_ends = {mark: partial(self._text.end_mark, mark) for mark in ENDS if self._has_marks}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element. Raise `TooManyError` if the page has too many."""
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise TooManyError
        if self._in_button:
            self._in_button_starts(tag, attributes)
        if self._hidden_depth:
            self._hidden_depth += 1
            if self._math is not None:
                self._math.start(tag, attributes)
            return
        start = self._starts.get(tag)
        if start is None:
            if "-" in tag:
                self._custom(tag, attributes)
            else:
                self._block(tag, attributes)
            if attributes and attributes.get("itemprop") == "author":
                self._author_box_starts(attributes)
        else:
            start(self, tag, attributes)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        if self._hidden_depth:
            self._hidden_depth -= 1
            if self._hidden_depth < self._hidden_in_button:
                self._hidden_in_button = 0
            if self._math is not None:
                self._math.end(tag)
            if not self._hidden_depth:
                self._conceals = self._in_button = False
                if self._captured is not None or self._math is not None:
                    self._hidden_ends()
            return
        end = self._ends.pop()
        if end is end_of_box:
            if self._pieces:
                self._flush()
            box = self._box
            box.last = len(self.blocks)
            self._box = box.parent or box
        elif end is end_of_link:
            self._links -= 1
        elif end is not None:
            end()

    def close(self) -> None:
        """Do nothing. lxml's parser target interface requires this method."""

    def page(self) -> ParsedPage:
        """Return the page. Call it once, after the parser has finished; the reader is empty afterwards."""
        self._flush()
        self.boxes[0].last = len(self.blocks)
        if self._is_typeset:
            self.blocks = [_with_delimiters(block) for block in self.blocks]
        page = ParsedPage(
            boxes=self.boxes,
            blocks=self.blocks,
            metadata=self.metadata,
            elements=self.elements,
            concealed=self.concealed,
            has_marks=self._has_marks,
        )
        # The reader outlives the page.
        del self.boxes, self.blocks, self.metadata, self._box, self._without_words, self._without_shown
        self._ends.clear()
        return page

    def _html(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.metadata.append(MetadataElement(tag, dict(attributes)))
        self._block(tag, {})

    def _head(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._ends.append(None)

    def _inline(self, tag: str, attributes: Mapping[str, str]) -> None:
        if not attributes:
            self._ends.append(None)
        elif is_hidden(attributes):
            self._hidden_inline(attributes)
        else:
            part = styled_part(attributes["class"]) if "class" in attributes else None
            if part is StyledPart.SCREEN_READER_TEXT and self._is_for_screen_readers(attributes):
                self._hidden_depth = 1
                self._capture(self._add_screen_reader_text)
                return
            if part is not None and part not in BOX_PARTS and self._styled_part_starts(part, tag, attributes):
                return
            if self._verbatim and tag == "code":
                self._box.language = self._box.language or code_language(attributes)
            self._ends.append(self._fact_end(attributes))

    def _marked(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Start an element that Markdown marks."""
        self._inline(tag, attributes)
        if not self._hidden_depth and not self._verbatim:
            self._text.begin_mark(ELEMENTS[tag])
            self._ends[-1] = both_ends(self._ends[-1], self._mark_ends[ELEMENTS[tag]])

    def _fact_end(self, attributes: Mapping[str, str]) -> Callable[[], None] | None:
        """Return what to call at the end of an inline element that states an author or a day; return None for any
        other.
        """
        tag = None if self._verbatim or FACTUAL.isdisjoint(attributes) else stated_fact(attributes)
        if tag is None:
            return None
        return partial(self._fact_ends, tag, dict(attributes), len(self.blocks), len(self._pieces))

    def _fact_ends(self, tag: str, attributes: Mapping[str, str], blocks: int, pieces: int) -> None:
        if len(self.blocks) == blocks and not (tag != "time" and self._box.is_in_comments()):
            text = " ".join("".join(self._pieces[pieces:]).split())
            self.metadata.append(MetadataElement(tag, attributes, text[:MAX_FACT_LENGTH], blocks))

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
        if is_hidden(attributes):
            self._hidden_depth = 1
        else:
            self._ends.append(
                partial(self._fact_ends, tag, dict(attributes), len(self.blocks), len(self._pieces))
            )

    def _link(self, tag: str, attributes: Mapping[str, str]) -> None:
        if is_hidden(attributes):
            self._hidden_depth = 1
            return
        href = attributes.get("href")
        if href is None:
            self._ends.append(self._fact_end(attributes) if attributes else None)
            return
        if "rel" in attributes:
            self.metadata.append(MetadataElement(tag, dict(attributes)))
            if not NEIGHBOURS.isdisjoint(attributes["rel"].lower().split()):
                self.metadata.append(MetadataElement("neighbour link", {}, block=len(self.blocks)))
        pieces = self._pieces
        if pieces and pieces[-1] == SUPERSCRIPT:  # the number of a footnote
            pieces[-1] = ""
        self._links += 1
        marked = None if FACTUAL.isdisjoint(attributes) else self._fact_end(attributes)
        if marked is None and ("/aut" in href or "/writer" in href) and AUTHOR_PAGE.search(href):
            marked = partial(
                self._fact_ends,
                "author link",
                {},
                len(self.blocks),
                len(pieces),
            )
        if marked is not None or "#" in href:
            self._ends.append(partial(self._notable_link_ends, marked, len(self.blocks), len(pieces)))
        else:
            self._ends.append(end_of_link)
        if self._has_marks and not self._verbatim:
            self._text.begin_mark(LINK, "%20".join(href.split()) + TARGET_END)
            end = self._ends[-1]
            self._ends[-1] = both_ends(self._link_ends if end is end_of_link else end, self._mark_ends[LINK])

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
        if "alt" in attributes and is_drawing(attributes.get("class", ""), attributes.get("src", "")):
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

    def _template(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Read a declared shadow root, which browsers show (HTML standard, section 4.12.3); hide any other template."""
        if attributes.get("shadowrootmode", "").lower() in SHADOW:
            self._block(tag, {})
        else:
            self._unseen(tag, attributes)

    def _custom(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Start an element that the page defines: a part of a line within a line, otherwise a box, which is named
        like the element if it states no name.
        """
        if self._verbatim or self._box.tag in LINES:
            self._inline(tag, attributes)
        else:
            self._block("div", attributes if NAMES & attributes.keys() else {**attributes, "id": tag})

    def _dialog(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Read an open dialog; browsers hide any other."""
        if "open" in attributes or self._reveals:
            self._block(tag, attributes)
        else:
            self._conceal()

    def _control(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Hide a control, but not a button that a heading begins with: it opens the panel that the heading is of."""
        if tag == "button" and self._box.tag in PANEL_HEADINGS and not any(map(str.strip, self._pieces)):
            self._inline(tag, attributes)
            return
        self._box.controls += 1
        self._hidden_depth, self._in_button = 1, tag == "button" and not is_hidden(attributes)

    def _in_button_starts(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle an element in a button: show what follows if the page has probably not closed the button."""
        if self._hidden_in_button:
            return
        if tag in AFTER_BUTTONS:
            self._ends.extend([None] * self._hidden_depth)
            self._hidden_depth, self._in_button = 0, False
        elif tag in NEVER_SHOWN or is_hidden(attributes):
            self._hidden_in_button = self._hidden_depth + 1

    def _player(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self._box.players += 1
        self._hidden_depth = 1

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

    def _add_title(self, text: str) -> None:
        self.metadata.append(MetadataElement("title", {}, text))

    def _add_json_ld(self, text: str) -> None:
        self.metadata.append(MetadataElement("script", {}, text))

    def _add_source(self, tex: str, *, is_block: bool) -> None:
        self._text.add_source(write_formula(tex, is_block=is_block))

    _STARTS: ClassVar[dict[str, Callable[[Any, str, Mapping[str, str]], None]]] = {
        **BoxReader.STARTS,
        **dict.fromkeys(INLINE, _inline),
        **dict.fromkeys(INVISIBLE_TAGS, _unseen),
        **dict.fromkeys(CONTROLS, _control),
        **dict.fromkeys(PLAYERS, _player),
        "a": _link, "base": _fact, "br": _break, "dialog": _dialog, "head": _head, "hr": _rule, "html": _html,
        "img": _image, "link": _fact, "meta": _fact, "noscript": _noscript, "rt": _ruby, "script": _script,
        "sup": _superscript, "template": _template, "time": _time, "title": _title,
    }  # fmt: skip
    """What handles the start of an element; any other begins a box."""
    _MARKED_STARTS: ClassVar = {**_STARTS, **dict.fromkeys(ELEMENTS, _marked)}
    """The same if blocks have inline marks."""


def _with_delimiters(block: Block) -> Block:
    """Return a block of a page whose TeX a script draws, with dollar signs around formulas."""
    if block.tag == "pre" or "\\" not in block.text:
        return block
    text, marked = rewrite_delimiters(block.text), rewrite_delimiters(block.marked, is_marked=True)
    return Block(block.box, text, block.link, marked)


def read_page(html: bytes, *, reveals: bool = False, marks: bool = False) -> ParsedPage | None:
    """Return the page in `html`, which is UTF-8; return None if the parser finds nothing in it.

    If `reveals` is set, elements that an attribute hides and `noscript` are read too. If `marks` is set, the blocks
    have their inline marks; the blocks and their texts are the same.
    """
    # Taken out meanwhile, so a parser that has failed is not used again.
    kept = _PARSERS.of.pop((reveals, marks), None)
    reader, parser = _new_parser(reveals=reveals, marks=marks) if kept is None else kept
    reader.begin()
    try:
        etree.fromstring(html, parser)
    except etree.ParseError:
        return None
    except TooManyError:
        return reader.page()
    _PARSERS.of[reveals, marks] = reader, parser
    return reader.page()


class _Parsers(threading.local):
    """The parsers of a thread that have read a page without an error, each with its reader. A parser takes as long to
    make as a small page takes to read, and only the garbage collector frees it.
    """

    def __init__(self) -> None:
        self.of: dict[tuple[bool, bool], tuple[Reader, etree.HTMLParser]] = {}


_PARSERS = _Parsers()


def _new_parser(*, reveals: bool, marks: bool) -> tuple[Reader, etree.HTMLParser]:
    reader = Reader(reveals=reveals, marks=marks)
    return reader, etree.HTMLParser(encoding="utf-8", target=reader)
