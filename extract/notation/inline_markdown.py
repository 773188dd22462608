"""Write the inline marks of Markdown: code, emphasis and links. Pure.

1. The reader of a page puts marks into the text of a block, which are control characters; `write_inline` replaces them.
2. Emphasis is written only where CommonMark reads it as emphasis (section 6.2): not if a letter before `**` and a
   bracket after it, as in Chinese or Japanese, would make the asterisks text.
3. `<` is escaped if it would begin a tag; code and formulas are unchanged. Nothing else is escaped, because the text is
   meant to be read.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from thresher.core.unicode14 import category
from thresher.extract.notation import formulas

EMPHASIS, STRONG, CODE, LINK = "\x10", "\x11", "\x12", "\x13"
"""Begin a part of a text; the target of a link follows `LINK` and ends with `TARGET_END`."""
ENDS = {EMPHASIS: "\x14", STRONG: "\x15", CODE: "\x16", LINK: "\x17"}
"""The ends of parts, by their beginnings."""
TARGET_END = "\x18"
ELEMENTS = {
    **dict.fromkeys(("em", "i"), EMPHASIS), **dict.fromkeys(("strong", "b"), STRONG),
    **dict.fromkeys(("code", "tt", "kbd", "samp"), CODE),
}  # fmt: skip
"""Marks of elements."""
MIN_FENCE_LENGTH = 3

_BEGIN = rf"(?:[{EMPHASIS}{STRONG}{CODE}]|{LINK}[^{LINK}{TARGET_END}]*+{TARGET_END})"
_END = "[\x14-\x17]"
_TOKEN = re.compile(rf"({_BEGIN}|{_END}|[{formulas.BEGIN}{formulas.END}])")
_MEETING = re.compile("\x14\x10|\x15\x11|\x16\x12")
_BLANKS_AFTER_BEGIN = re.compile(
    rf"(?<![{EMPHASIS}{STRONG}{CODE}{TARGET_END}])({_BEGIN}(?:{_BEGIN}|)*+)([ \n]++)"
)
_BLANKS_BEFORE_END = re.compile(rf"(?<![ \n])([ \n]++)({_END}++)")
_BLANKS = re.compile(r"  ++")
_TAG_BEGIN = re.compile(r"<(?=[A-Za-z/!?])")
_BACKTICKS = re.compile("`++")
_BEGINNINGS = {end: begin for begin, end in ENDS.items()}
_DELIMITERS = {EMPHASIS: "*", STRONG: "**"}

Resolver = Callable[[str], str]
"""Returns the absolute URL of a target; returns `""` for a target that is not to be written."""


class _Open(NamedTuple):
    """A part that has not ended yet."""

    mark: str
    number: int
    """Number of the piece in which it begins; the target of a link stands there."""
    before: str
    """The character before it; empty at the start of the text."""


def fenced(code: str, language: str = "") -> str:
    """Return code between fences that are longer than any run of backticks in it."""
    fence = "`" * max(MIN_FENCE_LENGTH, 1 + max(map(len, _BACKTICKS.findall(code)), default=0))
    return f"{fence}{language}\n{code}\n{fence}"


def code_span(code: str) -> str:
    """Return code on a line, between backticks of which the code has no run as long."""
    code = " ".join(code.split())
    runs = set(map(len, _BACKTICKS.findall(code)))
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{fence}{pad}{code}{pad}{fence}" if code else ""


def escape(text: str) -> str:
    r"""Return text without code and formulas so that Markdown shows it: `\<` for `<` before a letter."""
    return _TAG_BEGIN.sub(r"\\<", text) if "<" in text else text


def write_inline(marked: str, resolve: Resolver | None = None, *, is_heading: bool = False) -> str:
    """Return a text with marks as Markdown. Links are written if `resolve` is given. Headings have no emphasis."""
    marked = _BLANKS_BEFORE_END.sub(r"\2\1", _BLANKS_AFTER_BEGIN.sub(r"\2\1", _MEETING.sub("", marked)))
    parts = _TOKEN.split(marked)
    out: list[str] = []
    opened: list[_Open] = []
    in_code = in_formula = 0
    before = ""
    for number, part in enumerate(parts):
        if not number % 2:
            if part:
                out.append(part if in_code or in_formula else escape(part))
                before = part[-1]
            continue
        mark = part[0]
        if mark in ENDS:
            if any(each.mark == mark for each in opened):
                continue  # no part is within one of its own kind, so at most four are open
            opened.append(_Open(mark, len(out), before))
            out.append(part[1:-1] if mark == LINK else "")
            in_code += mark == CODE
        elif mark in _BEGINNINGS:
            begin = _BEGINNINGS[mark]
            if any(each.mark == begin for each in opened):
                while (each := opened.pop()).mark != begin:
                    out[each.number] = ""
                    in_code -= each.mark == CODE
                in_code -= begin == CODE
                is_written = not in_code and not (is_heading and begin in _DELIMITERS)
                inside = "".join(out[each.number + 1 :])
                after = _after(parts, number) if is_written else ""
                target, out[each.number :] = out[each.number], []
                out.append(
                    _written(begin, inside, target, each.before, after, resolve) if is_written else inside
                )
        else:
            in_formula = mark == formulas.BEGIN
    for each in opened:
        out[each.number] = ""
    lines = _BLANKS.sub(" ", "".join(out)).split("\n")
    return "\n".join(filter(None, (line.strip() for line in lines)))


def _after(parts: list[str], number: int) -> str:
    """Return the character after a mark; `""` at the end of the text."""
    for at in range(number + 1, min(number + 10, len(parts))):
        if parts[at] and (not at % 2 or parts[at] == CODE):
            return parts[at][0] if not at % 2 else "`"
    return ""


def _written(mark: str, inside: str, target: str, before: str, after: str, resolve: Resolver | None) -> str:
    """Return a part that has ended, in Markdown."""
    if not inside.strip():
        return inside
    if mark == CODE:
        return code_span(inside)
    if mark == LINK:
        url = resolve(target) if resolve is not None else ""
        return f"[{_link_text(inside)}]({_target(url)})" if url else inside
    delimiter = _DELIMITERS[mark]
    if not (_is_flanking(before, inside[0]) and _is_flanking(after, inside[-1])):
        return inside
    return f"{delimiter}{inside}{delimiter}"


def _is_flanking(outer: str, inner: str) -> bool:
    return not inner.isspace() and (
        not _is_punctuation(inner) or not outer or outer.isspace() or _is_punctuation(outer)
    )


def _is_punctuation(character: str) -> bool:
    return category(character)[0] in "PS"


def _link_text(text: str) -> str:
    text = text.replace("\n", " ")
    return text if text.count("[") == text.count("]") else text.replace("[", "\\[").replace("]", "\\]")


def _target(url: str) -> str:
    return url.replace("(", "%28").replace(")", "%29").replace(" ", "%20")
