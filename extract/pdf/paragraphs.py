"""Join lines, which are in reading order, into paragraphs.

1. A paragraph ends if the space below a line is larger than usual, or if the next line is indented, has letters of
   another size, or belongs to another block.
2. A line was broken on purpose if the first word of the next line would have fitted on it: items, verses and addresses
   stay lines, and after the end of a sentence the paragraph ends. All other lines of a paragraph become one line of
   text.
3. A paragraph continues on the next page or column if no sentence has ended and the next part begins with a small
   letter, or if its last line is full and the next part has letters of the same size.
4. Text in smaller letters between the two parts (footnotes, captions, stamps in the margin) stands after the whole.
5. Rows of a table stay lines.
"""

import re
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from thresher.core.unicode14 import is_lower
from thresher.extract.pdf.hyphens import Lexicon, ends_hyphenated, join_hyphenated
from thresher.extract.pdf.page_text import Line
from thresher.extract.pdf.pdf_lines import height, is_right_to_left
from thresher.extract.pdf.reading_order import LineBlock

LEADING = 1.35
"""Multiple of the usual distance between lines beyond which a new paragraph begins."""
MIN_STEP = 1.2
"""Distance in line heights up to which lines are of one paragraph, as the lines of a heading are."""
INDENT = 0.7
"""Minimum indentation in line heights."""
OTHER_SIZE = 1.25
"""Ratio of line heights beyond which letters have another size, as those of a heading."""
ROOM = 0.6
"""Line heights that must be free beside the width of the word, because right margins are ragged."""
LEAST = 40
"""Minimum number of characters of a paragraph that may continue after the end of its page or column."""
SMALLER = 0.93
"""Ratio of line heights below which letters are smaller than those of the text, as those of footnotes."""
MAX_ASIDE = 20
"""Paragraphs in smaller letters between two parts of a paragraph at most."""
MIN_FULL_LINES = (3, 2)
"""Minimum number of lines of the two parts if the second begins with a capital letter: a heading has fewer."""
TAIL = 12
"""Characters at the end of a line that show how it ends."""

_ENDED = re.compile(r"[.!?:;…。！？：؟۔।]['\"”’»)\]]*$")
_BROKEN_OFF = re.compile(r"[^\W\d_,]$|,$|\w-$")
_ITEM = re.compile(r"(?:[•●○■▪◦‣·*–—-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
_CONTENTS_LINE = re.compile(r"(?<![.…·])(?<![.…·] )(?: ?[.…·]){3}(?: ?[.…·]|)*+\s*+[\divxl]++$")
"""A line of a table of contents."""
_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


class Paragraph(NamedTuple):
    """A paragraph of a page. Lengths are points."""

    text: str
    """A line feed separates lines that stay lines."""
    page: int
    top: float
    """Top of its first line."""
    last_top: float
    """Top of its last line."""
    height: float
    """Median height of its lines; 0 for text in another direction."""
    lines: int
    room: float
    """Free width behind its last line."""
    first_width: float
    """Width of its first word."""


def paragraphs(blocks: Sequence[LineBlock], page: int, lexicon: Lexicon) -> list[Paragraph]:
    """Return the paragraphs of a page, in their order."""
    found: list[Paragraph] = []
    for block in blocks:
        if block.is_table:
            found.append(
                _paragraph("\n".join(line.text for line in block.lines), block.lines, page, room=0.0)
            )
        else:
            found += _block_paragraphs(block.lines, page, lexicon)
    return found


def aside(text: str, page: int) -> Paragraph:
    """Return a text in another direction as a paragraph."""
    return Paragraph(text, page, 0.0, 0.0, 0.0, 1, 0.0, 0.0)


def join_continued(paragraphs: Sequence[Paragraph], lexicon: Lexicon) -> list[str]:
    """Return the texts of the paragraphs, with those joined that continue on the next page or column."""
    found: list[list[str]] = []
    ends: list[Paragraph] = []  # the last part of each
    for paragraph in paragraphs:
        place = len(ends) - 1
        while (
            len(ends) - place <= MAX_ASIDE and place > 0 and ends[place].height < SMALLER * paragraph.height
        ):
            place -= 1
        is_apart = 0 <= place < len(ends) - 1
        if place >= 0 and _continues(ends[place], paragraph, is_apart=is_apart):
            parts = found[place]
            parts[-1] = _with_separator(parts[-1], paragraph.text, lexicon)
            parts.append(paragraph.text)
            ends[place] = paragraph
        else:
            found.append([paragraph.text])
            ends.append(paragraph)
    return ["".join(parts) for parts in found]


def _continues(before: Paragraph, after: Paragraph, *, is_apart: bool) -> bool:
    """Return whether `after` continues `before`. If they are apart, other paragraphs stand between them."""
    if "\n" in before.text or len(before.text) < LEAST:
        return False
    if _BROKEN_OFF.search(before.text[-2:]) is None and not ends_hyphenated(before.text):
        return False
    is_elsewhere = after.page != before.page or after.top <= before.last_top
    is_same_size = before.height > 0 and SMALLER * before.height <= after.height <= before.height / SMALLER
    if is_lower(after.text[:1]):
        return not is_apart or (is_elsewhere and is_same_size)
    if is_apart or not is_elsewhere or not is_same_size or _ITEM.match(after.text):
        return False
    has_lines = before.lines >= MIN_FULL_LINES[0] and after.lines >= MIN_FULL_LINES[1]
    return has_lines and before.room <= after.first_width + ROOM * after.height


def _paragraph(text: str, lines: Sequence[Line], page: int, *, room: float) -> Paragraph:
    return Paragraph(
        text=text,
        page=page,
        top=lines[0].top,
        last_top=lines[-1].top,
        height=height(lines),
        lines=len(lines),
        room=room,
        first_width=_first_width(lines[0]),
    )


def _block_paragraphs(lines: Sequence[Line], page: int, lexicon: Lexicon) -> list[Paragraph]:
    right, left = max(line.right for line in lines), min(line.left for line in lines)
    steps = [below.top - above.top for above, below in pairwise(lines) if below.top > above.top]
    usual = statistics.median_low(steps) if steps else 0.0
    from_right = is_right_to_left(" ".join(line.text for line in lines))
    begin, end = (right, left) if from_right else (left, right)
    # A paragraph is a list of parts: joining strings line by line would copy a long paragraph again and again.
    found: list[list[str]] = [[lines[0].text]]
    starts = [0]
    for number, (above, line) in enumerate(pairwise(lines), 1):
        parts = found[-1]
        ends = _ITEM.match(line.text) is not None or _had_room(above, line, end, from_right=from_right)
        if _begins_paragraph(above, line, usual, begin, from_right=from_right):
            found.append([line.text])
            starts.append(number)
        elif ends_hyphenated(above.text) or not ends:
            parts[-1] = _with_separator(parts[-1], line.text, lexicon)
            parts.append(line.text)
        elif _ENDED.search(above.text[-TAIL:]) and not _ITEM.match(line.text):
            found.append([line.text])
            starts.append(number)
        else:
            parts += ["\n", line.text]
    return [
        _paragraph(
            "".join(parts), lines[first:after], page, room=_room(lines[after - 1], end, from_right=from_right)
        )
        for parts, (first, after) in zip(found, pairwise([*starts, len(lines)]), strict=True)
    ]


def _begins_paragraph(above: Line, line: Line, usual: float, edge: float, *, from_right: bool) -> bool:
    """Return whether `line` begins a paragraph."""
    high, low = line.bottom - line.top, above.bottom - above.top
    step = line.top - above.top
    if step <= 0 or step > max(LEADING * usual, MIN_STEP * max(high, low)) or step > 2.2 * max(high, low):
        return True
    if max(high, low) > OTHER_SIZE * min(high, low) > 0:
        return True
    inwards = (above.right - line.right) if from_right else (line.left - above.left)
    at_edge = abs((above.right if from_right else above.left) - edge) <= INDENT * high
    return INDENT * high < inwards < 5 * high and at_edge and _ENDED.search(above.text[-TAIL:]) is not None


def _had_room(above: Line, line: Line, edge: float, *, from_right: bool) -> bool:
    """Return whether the first word of `line` would have fitted on the line above."""
    if _CONTENTS_LINE.search(above.text[-TAIL:]):
        return True
    return _room(above, edge, from_right=from_right) > _first_width(line) + ROOM * (line.bottom - line.top)


def _room(line: Line, edge: float, *, from_right: bool) -> float:
    return line.left - edge if from_right else edge - line.right


def _first_width(line: Line) -> float:
    first = line.text.split(" ", 1)[0]
    return (line.right - line.left) * len(first) / max(1, len(line.text))


def _with_separator(before: str, after: str, lexicon: Lexicon) -> str:
    """Return a line with the separator before the line that continues it."""
    joined = join_hyphenated(before, after, lexicon)
    if joined is not None:
        return joined
    is_wide = _WIDE.match(before[-1:]) and _WIDE.match(after[:1])
    return before if is_wide else f"{before} "
