"""Cut repeats out of a text: which characters go, and which of the repeats takes which. Pure.

1. Repeats may overlap. A character goes once, and counts for the first repeat that has it.
2. White space between two repeats goes with them. A cut within a line takes the white space behind it if there is some
   before it too, and at the end of a line that before it. A cut of whole lines takes the line break behind them, and
   after an empty line or at the start of the text all white space behind them. So no cut joins two lines or two words,
   and none leaves two empty lines.
3. Repeats begin and end at words (`repeat_units`), so no cut divides a word.
"""

from collections.abc import Sequence
from itertools import pairwise

from thresher.core import Edit
from thresher.filters.edits import removals

Span = tuple[int, int]


def new_characters(spans: Sequence[Span]) -> list[int]:
    """Return for each span, in the order of their starts, how many of its characters no span before it has."""
    found, done = [], 0
    for start, end in spans:
        found.append(max(0, end - max(start, done)))
        done = max(done, end)
    return found


def cuts(text: str, spans: Sequence[Span]) -> tuple[Edit, ...]:
    """Return the edits that remove spans of a text and the white space that belongs to them. The spans are in the order
    of their starts, and begin and end with a character that is no white space.
    """
    merged: list[Span] = []
    for start, end in spans:
        if merged and (start <= merged[-1][1] or text[merged[-1][1] : start].isspace()):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    widened = [_widened(text, span) for span in merged]
    assert all(before[1] <= after[0] for before, after in pairwise(widened))
    return removals(widened)


def _widened(text: str, span: Span) -> Span:
    start, end = span
    left, right = start, end
    while left and text[left - 1].isspace() and text[left - 1] != "\n":
        left -= 1
    while right < len(text) and text[right].isspace() and text[right] != "\n":
        right += 1
    is_begin, is_end = left == 0 or text[left - 1] == "\n", right == len(text)
    if not (is_end or text[right] == "\n"):
        # What follows takes the place of the cut, unless that would join it to a letter without a space before.
        return start, right if left < start or is_begin else end
    if not is_begin:
        return left, right
    if is_end:
        while left and text[left - 1].isspace():
            left -= 1
        return left, right
    above = left - 2
    while above >= 0 and text[above].isspace() and text[above] != "\n":
        above -= 1
    is_after_empty_line = above < 0 or text[above] == "\n"
    return left, _behind(text, right) if is_after_empty_line else right + 1


def _behind(text: str, at: int) -> int:
    """Return where the white space at a place ends, or the indent of the line behind it begins."""
    end = at
    while end < len(text) and text[end].isspace():
        end += 1
    if end == len(text):
        return end
    while end > at and text[end - 1] != "\n":
        end -= 1
    return end
