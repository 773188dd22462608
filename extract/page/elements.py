"""`apply_attributes`: what the tag and the attributes of an element say about its box. Pure."""

import re
from collections.abc import Mapping
from functools import lru_cache

from extract.notation.code_listings import known_language, language
from extract.notation.formulas import rewrite_delimiters
from extract.notation.table_grid import read_span
from extract.page.boxes import Block, Box
from extract.page.class_hints import ALWAYS_UNLIKELY, NO_HINTS, class_hints

INLINE = frozenset((
    "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "label", "mark", "q", "rb", "rtc", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u",
    "var", "wbr", "nobr",
))  # fmt: skip
INVISIBLE_TAGS = frozenset((
    "applet", "area", "audio", "basefont", "canvas", "figcaption", "frame", "frameset", "map", "marquee",
    "noembed", "option", "param", "rp", "source", "style", "svg", "track",
))  # fmt: skip
SHADOW = frozenset(("open", "closed"))
CONTROLS = frozenset(("input", "textarea", "select", "button"))
PLAYERS = frozenset(("iframe", "object", "embed", "video"))
UNLIKELY_TAGS = frozenset(("nav", "footer", "aside"))
UNLIKELY_ROLES = frozenset(
    (
        "menu",
        "menubar",
        "complementary",
        "navigation",
        "alert",
        "alertdialog",
        "dialog",
        "banner",
        "contentinfo",
    )
)
MAIN_PROPERTIES = frozenset(("articleBody", "mainContentOfPage"))
NEVER_UNLIKELY = frozenset(("body", "html", "article", "main", "blockquote"))
JSON_LD = "application/ld+json"
MATH_SCRIPT = "math/tex"
"""Start of the type of a script with a formula for MathJax 2."""
TYPESETTERS = re.compile("mathjax|katex", re.IGNORECASE)
"""Parts of the address of a script that draws the TeX of a page."""
CODE_ROOTS = frozenset(("pre", "body", "html", "article", "main", "code"))
"""Tags whose names say something of all that is in them; such an element is neither a listing nor a column of one."""
DATE_PROPERTIES = frozenset(("datePublished", "dateCreated", "dateModified"))
MAX_FACT_LENGTH = 200
"""Characters of the text of an element that states an author or a day, at most."""
SIGNS = frozenset(("\u00b6", "#", "\u00a7", "\U0001f517", "[source]", "[src]", "[edit]"))
"""Texts of links that belong to a heading or a signature and lead to itself or to its source."""
MAX_SIGN_PIECES = 5
"""Pieces of text in such a link at most."""
CELLS = frozenset(("td", "th"))
ORDINALS = {"ol": "start", "li": "value"}
"""Attributes that state the number of an item: of the first one of a list, and of the item itself."""
MEASURED = CELLS | ORDINALS.keys()
LANGUAGE_ATTRIBUTES = ("data-lang", "data-language", "data-code-language")
LANGUAGE_REACH = 6
"""Boxes around code whose names may state its language: highlighters wrap a <pre> in a table."""
MAX_SOURCE_CHARACTERS = 200
"""Characters of the address of an image that are read."""
DRAWINGS = re.compile(r"codecogs\.com/|mathtex\.cgi|mimetex\.cgi|latex\.php\?|/math/render/", re.IGNORECASE)
"""Addresses of programs that draw a formula; the text of such an image is its TeX."""
MAX_LINE_NUMBER_LENGTH = 9
"""Digits of a line number at most: no listing has a billion lines."""


_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_BYLINE = re.compile(
    r"(?:^|[\s_-])(?:author|byline|by-line|fn|writer)(?:$|[\s_-]?name)|(?:^|\s)(?:author|byline)\s|(?:post|entry|article)-?author",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"-?[0-9]{1,9}")
_FORMULA = re.compile(r"\b(?:mwe-math|latex|tex|math)(?![a-z])", re.IGNORECASE)


def apply_attributes(box: Box, attributes: Mapping[str, str]) -> None:
    """Set the fields of a box that the attributes of its element give."""
    class_, id_ = attributes.get("class"), attributes.get("id")
    if class_:
        box.names = class_
    if (class_ or id_) and (hints := class_hints(class_ or "", id_ or "")) is not NO_HINTS:
        weight, unlikely, comments, is_boilerplate, is_content, is_reference, is_post = hints
        if weight:
            box.weight = weight
        if is_boilerplate:
            box.is_boilerplate = True
        if is_content:
            box.is_content = True
        if is_reference:
            box.is_reference = True
        if is_post:
            box.is_post = True
        if unlikely and box.tag not in NEVER_UNLIKELY:
            box.unlikely = unlikely
            box.is_navigation = unlikely == ALWAYS_UNLIKELY and not comments
        if comments and box.tag not in NEVER_UNLIKELY:
            box.comments = True
    if "role" in attributes:
        role = attributes["role"]
        if role in UNLIKELY_ROLES:
            box.unlikely, box.is_navigation = ALWAYS_UNLIKELY, True
        elif role == "main":
            mark_main(box)
    if "itemprop" in attributes and attributes["itemprop"] in MAIN_PROPERTIES:
        box.is_main = True
    if box.tag not in MEASURED:
        return
    if box.tag in CELLS:
        if "colspan" in attributes or "rowspan" in attributes:
            box.span = read_span(attributes.get("colspan", ""), attributes.get("rowspan", ""))
    elif box.tag in ORDINALS and (stated := attributes.get(ORDINALS[box.tag])) is not None:
        box.ordinal = int(stated) if _ORDINAL.fullmatch(stated) else None


def mark_main(box: Box) -> None:
    """Mark the main element. What is around it is not navigation, but has lost its end."""
    box.is_main = True
    around = box.parent
    while around is not None:
        around.unlikely, around.is_navigation, around.comments = 0.0, False, False
        around = around.parent


@lru_cache(maxsize=1 << 12)
def is_byline(class_: str) -> bool:
    """Return whether a class names the author of a page."""
    return _BYLINE.search(class_) is not None


def numbers_lines(text: str) -> bool:
    """Return whether a text is the line numbers of a listing: at least three consecutive numbers."""
    words = text.split()
    if len(words) < 3 or len(words[0]) > MAX_LINE_NUMBER_LENGTH or not all(map(str.isdecimal, words[:3])):
        return False
    first = int(words[0])
    return words == [str(number) for number in range(first, first + len(words))]


def is_hidden(attributes: Mapping[str, str]) -> bool:
    """Return whether an attribute hides the element."""
    return "hidden" in attributes or (
        ("style" in attributes and _HIDDEN.search(attributes["style"]) is not None)
        or ("aria-hidden" in attributes and attributes["aria-hidden"] == "true")
    )


def is_formula(attributes: Mapping[str, str]) -> bool:
    """Return whether an image is a formula: its class or its address says so."""
    return ("class" in attributes and _FORMULA.search(attributes["class"]) is not None) or (
        "src" in attributes and DRAWINGS.search(attributes["src"][:MAX_SOURCE_CHARACTERS]) is not None
    )


def code_language(attributes: Mapping[str, str]) -> str:
    """Return the language of code that the attributes of its element state; return `""` if they state none."""
    for name in LANGUAGE_ATTRIBUTES:
        if stated := attributes.get(name):
            return language(f"language-{stated}")
    return language(attributes.get("class", ""))


def outer_language(box: Box | None) -> str:
    """Return the language of code that the names of the boxes around it state."""
    for _ in range(LANGUAGE_REACH):
        if box is None:
            break
        if box.names and (found := known_language(box.names)):
            return found
        box = box.parent
    return ""


def with_delimiters(block: Block) -> Block:
    """Return a block of a page whose TeX a script draws, with dollar signs around formulas."""
    if block.tag == "pre" or "\\" not in block.text:
        return block
    text, marked = rewrite_delimiters(block.text), rewrite_delimiters(block.marked, is_marked=True)
    return Block(block.box, text, block.link, marked)
