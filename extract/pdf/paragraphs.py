"""Join lines, which are in reading order, into paragraphs.

1. A paragraph ends if the space below a line is larger than usual, or if the next line is indented, has letters of
   another size, or belongs to another block.
2. A line was broken on purpose if the first word of the next line would have fitted on it: items, verses and addresses
   stay lines, and after the end of a sentence the paragraph ends. All other lines of a paragraph become one line of
   text.
3. A paragraph continues on the next page or column if no sentence has ended and the next part begins with a small
   letter.
4. Rows of a table stay lines.
"""

import re
import statistics
from collections.abc import Sequence
from itertools import pairwise

from extract.pdf.hyphens import Lexicon, ends_hyphenated, join_hyphenated
from extract.pdf.page_text import Line
from extract.pdf.pdf_lines import is_right_to_left
from extract.pdf.reading_order import LineBlock

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
TAIL = 12
"""Characters at the end of a line that show how it ends."""

_ENDED = re.compile(r"[.!?:;…。！？：؟۔।]['\"”’»)\]]*$")
_BROKEN_OFF = re.compile(r"[^\W\d_,]$|,$|\w-$")
_ITEM = re.compile(r"(?:[•●○■▪◦‣·*–—-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
_CONTENTS_LINE = re.compile(r"(?<![.…·])(?<![.…·] )(?: ?[.…·]){3,}+\s*+[\divxl]++$")
"""A line of a table of contents."""
_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def paragraphs(blocks: Sequence[LineBlock], lexicon: Lexicon) -> list[str]:
    """Return the text of each paragraph, in their order; a line feed separates lines that stay lines."""
    found: list[str] = []
    for block in blocks:
        if block.is_table:
            found.append("\n".join(line.text for line in block.lines))
        else:
            found += _block_paragraphs(block.lines, lexicon)
    return found


def join_continued(paragraphs: Sequence[str], lexicon: Lexicon) -> list[str]:
    """Return the paragraphs, with those joined that continue on the next page or column."""
    found: list[list[str]] = []
    for paragraph in paragraphs:
        if found and _continues(found[-1][-1], paragraph):
            found[-1][-1] = _with_separator(found[-1][-1], paragraph, lexicon)
            found[-1].append(paragraph)
        else:
            found.append([paragraph])
    return ["".join(parts) for parts in found]


def _continues(before: str, after: str) -> bool:
    if "\n" in before or len(before) < LEAST or not after[:1].islower():
        return False
    return _BROKEN_OFF.search(before[-2:]) is not None or ends_hyphenated(before)


def _block_paragraphs(lines: Sequence[Line], lexicon: Lexicon) -> list[str]:
    right, left = max(line.right for line in lines), min(line.left for line in lines)
    steps = [below.top - above.top for above, below in pairwise(lines) if below.top > above.top]
    usual = statistics.median_low(steps) if steps else 0.0
    from_right = is_right_to_left(" ".join(line.text for line in lines))
    begin, end = (right, left) if from_right else (left, right)
    # A paragraph is a list of parts: joining strings line by line would copy a long paragraph again and again.
    found: list[list[str]] = [[lines[0].text]]
    for above, line in pairwise(lines):
        parts = found[-1]
        ends = _ITEM.match(line.text) is not None or _had_room(above, line, end, from_right=from_right)
        if _begins_paragraph(above, line, usual, begin, from_right=from_right):
            found.append([line.text])
        elif ends_hyphenated(above.text) or not ends:
            parts[-1] = _with_separator(parts[-1], line.text, lexicon)
            parts.append(line.text)
        elif _ENDED.search(above.text[-TAIL:]) and not _ITEM.match(line.text):
            found.append([line.text])
        else:
            parts += ["\n", line.text]
    return ["".join(parts) for parts in found]


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
    first = line.text.split(" ", 1)[0]
    width = (line.right - line.left) * len(first) / max(1, len(line.text))
    left_over = above.left - edge if from_right else edge - above.right
    if _CONTENTS_LINE.search(above.text[-TAIL:]):
        return True
    return left_over > width + ROOM * (line.bottom - line.top)


def _with_separator(before: str, after: str, lexicon: Lexicon) -> str:
    """Return a line with the separator before the line that continues it."""
    joined = join_hyphenated(before, after, lexicon)
    if joined is not None:
        return joined
    is_wide = _WIDE.match(before[-1:]) and _WIDE.match(after[:1])
    return before if is_wide else f"{before} "
