"""Interpret the attributes of elements: what a box is, what is hidden, and what states a fact. Pure."""

import re
from collections.abc import Mapping
from functools import lru_cache

from thresher.extract.notation.table_grid import read_span
from thresher.extract.page.boxes import Box
from thresher.extract.page.class_hints import ALWAYS_UNLIKELY, NO_HINTS, ClassHints, class_hints

UNLIKELY_TAGS = frozenset(("nav", "footer", "aside", "dialog"))
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
MARKS = UNLIKELY_TAGS | {"main"}
"""Tags that alone say what a box is."""
MAIN_PROPERTIES = frozenset(("articleBody", "mainContentOfPage"))
POST_PROPERTIES = frozenset(("text", "commentText"))
NEVER_UNLIKELY = frozenset(("body", "html", "article", "main", "blockquote"))
DATE_PROPERTIES = frozenset(("datePublished", "dateCreated", "dateModified"))
CELLS = frozenset(("td", "th"))
ORDINALS = {"ol": "start", "li": "value"}
"""Attributes that state the number of an item: of the first one of a list, and of the item itself."""
MEASURED = CELLS | ORDINALS.keys()
FACTUAL = frozenset(("itemprop", "class", "rel"))
"""Attributes that may say that an element states a fact."""
ROLES = frozenset(("role", "itemprop"))
"""Attributes that say what a box is, besides its names."""
MAX_LINE_NUMBER_LENGTH = 9
"""Digits of a line number at most: no listing has a billion lines."""

_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_PANEL_NAMES = re.compile(r"accordion|(?<!border-)collaps", re.IGNORECASE)
_LATE_PART = re.compile(r"S:[0-9a-f]+")
_ORDINAL = re.compile(r"-?[0-9]{1,9}")
_BYLINE = re.compile(
    r"(?:^|[\s_-])(?:author|byline|by-line|fn|writer)(?:$|[\s_-]?name)|(?:^|\s)(?:author|byline)\s|(?:post|entry|article)-?author",
    re.IGNORECASE,
)
_USER = re.compile(
    r"(?:^|[\s_-])(?:big|mobile)?user-?name(?:$|[\s_-])"
    r"|(?:^|\s)(?:postuser-name|poster(?:[_-]?name)?|hnuser|u-author)(?:$|\s)",
    re.IGNORECASE,
)
"""Names that the software of forums gives to the name of a user."""


def apply_tag(box: Box) -> None:
    """Set what the tag of the box says, which is one of `MARKS`."""
    if box.tag == "main":
        _mark_main(box)
    else:
        box.unlikely, box.is_navigation = ALWAYS_UNLIKELY, True


def apply_attributes(box: Box, attributes: Mapping[str, str]) -> None:
    """Set what the class, the id, the role and the property of an element say, and the measures of cells and lists."""
    class_, id_ = attributes.get("class"), attributes.get("id")
    if class_:
        box.names = class_
    if (class_ or id_) and (hints := class_hints(class_ or "", id_ or "")) is not NO_HINTS:
        _apply_hints(box, hints)
    if not ROLES.isdisjoint(attributes):
        role = attributes.get("role")
        if role in UNLIKELY_ROLES:
            box.unlikely, box.is_navigation = ALWAYS_UNLIKELY, True
        elif role == "main":
            _mark_main(box)
        if attributes.get("itemprop") in MAIN_PROPERTIES:
            box.is_main = True
        elif attributes.get("itemprop") in POST_PROPERTIES:
            box.is_post = True
    if box.tag in MEASURED:
        _apply_measures(box, attributes)


def _apply_measures(box: Box, attributes: Mapping[str, str]) -> None:
    """Set the span of a cell, or the number that a list or an item states."""
    if box.tag in CELLS:
        if "colspan" in attributes or "rowspan" in attributes:
            box.span = read_span(attributes.get("colspan", ""), attributes.get("rowspan", ""))
    elif (stated := attributes.get(ORDINALS[box.tag])) is not None and _ORDINAL.fullmatch(stated):
        box.ordinal = int(stated)


def _apply_hints(box: Box, hints: ClassHints) -> None:
    """Set what differs from the defaults of a box, which few hints do."""
    weight, unlikely, comments, is_boilerplate, is_content, is_reference, is_post, is_link_discussion = hints
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
    if is_link_discussion:
        box.is_link_discussion = True
    if (unlikely or comments) and box.tag not in NEVER_UNLIKELY:
        box.unlikely, box.comments = unlikely, comments
        box.is_navigation = unlikely == ALWAYS_UNLIKELY and not comments


def _mark_main(box: Box) -> None:
    """Mark the main element. What is around it is not navigation, but has lost its end."""
    box.is_main = True
    around = box.parent
    while around is not None:
        around.unlikely, around.is_navigation, around.comments = 0.0, False, False
        around = around.parent


def stated_fact(attributes: Mapping[str, str]) -> str | None:
    """Return `time`, `author`, `user` or `name` if the element states a day, an author, a user of a forum or the name
    of anything; return None for any other.
    """
    property_ = attributes.get("itemprop")
    if property_ in DATE_PROPERTIES:
        return "time"
    if (
        property_ == "author"
        or ("class" in attributes and _is_byline(attributes["class"]))
        or ("rel" in attributes and "author" in attributes["rel"].lower().split())
    ):
        return "author"
    if property_ == "name":
        return "name"
    if "class" in attributes and _names_user(attributes["class"]):
        return "user"
    return None


@lru_cache(maxsize=1 << 12)
def _names_user(class_: str) -> bool:
    return _USER.search(class_) is not None


@lru_cache(maxsize=1 << 12)
def _is_byline(class_: str) -> bool:
    return _BYLINE.search(class_) is not None


def numbers_lines(text: str) -> bool:
    """Return whether a text is the line numbers of a listing: at least three consecutive numbers."""
    words = text.split()
    if len(words) < 3 or len(words[0]) > MAX_LINE_NUMBER_LENGTH or not all(map(str.isdecimal, words[:3])):
        return False
    first = int(words[0])
    return words == [str(number) for number in range(first, first + len(words))]


def is_hidden(attributes: Mapping[str, str]) -> bool:
    """Return whether an attribute hides the element. A reader can find and open what is hidden until it is found."""
    return (
        ("hidden" in attributes and attributes["hidden"] != "until-found")
        or ("style" in attributes and _HIDDEN.search(attributes["style"]) is not None)
        or ("aria-hidden" in attributes and attributes["aria-hidden"] == "true")
    )


def is_hidden_from_screen_readers(attributes: Mapping[str, str]) -> bool:
    """Return whether `aria-hidden` alone hides the element."""
    return is_hidden(attributes) and not is_hidden({**attributes, "aria-hidden": ""})


def is_hidden_for_good(attributes: Mapping[str, str]) -> bool:
    """Return whether an attribute hides a box, unless another one says that it is a panel of tabs or of an accordion,
    which a reader opens (those are labelled regions in WAI-ARIA's pattern), or a late part whose place is not known.
    """
    role = attributes.get("role")
    return is_hidden(attributes) and not (
        role == "tabpanel"
        or (role == "region" and "aria-labelledby" in attributes)
        or _PANEL_NAMES.search(attributes.get("class", "")) is not None
        or _PANEL_NAMES.search(attributes.get("id", "")) is not None
        or _LATE_PART.fullmatch(attributes.get("id", "")) is not None
    )
