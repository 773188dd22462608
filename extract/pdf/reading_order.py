"""Sort the lines of a page in reading order: columns one after another, tables row by row.

1. A page is cut into bands where white space runs across it. Bands are joined again from the top as long as a vertical
   white space runs through all of them, because such a space separates columns.
2. Two parts beside a vertical space are columns if both hold lines of text, or if their lines are not side by side.
   Cells of a table, numbers and labels of a form are side by side, and are read row by row.
3. Columns are read from the left; from the right if most of the text is written right to left. Each column is sorted in
   the same way, because it may have columns of its own.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from thresher.extract.pdf.page_text import Line
from thresher.extract.pdf.pdf_lines import height, is_right_to_left, rows

GUTTER = 0.55
"""Minimum distance between columns, in line heights."""
MAX_INDENT_GUTTERS = 4.0
"""Gutters by which a line of a column may be indented or outdented."""
MIN_LINES = 3
"""Minimum number of lines of a column."""
MIN_WORDS = 2.5
"""Minimum number of words of a column's line on average; cells of tables have fewer."""
WIDE = 8.0
"""Minimum width of a column's line on average, in line heights, if spaces do not separate words."""
MAX_GAPS = 16
"""Vertical white spaces through a row or a band that are considered: the widest."""
ALIGNED = 0.15
"""Line heights by which the cells of a row may differ in height."""
SAME_ROWS = 0.6
"""Share of the rows of one column beside rows of the other beyond which the two are a table."""
DEEPEST = 4
"""Levels of columns within columns at most."""

Gap = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBlock:
    """Consecutive lines, one below the other."""

    lines: tuple[Line, ...]
    is_table: bool = False
    """Whether each line is a row of a table."""


def reading_order(lines: Sequence[Line]) -> list[LineBlock]:
    """Return the lines of a page in reading order, as blocks."""
    return _blocks(list(lines), DEEPEST) if lines else []


def _blocks(lines: list[Line], depth: int) -> list[LineBlock]:
    found: list[LineBlock] = []
    across: list[LineBlock] = []
    gutter = GUTTER * height(lines)
    for band, gaps in _bands(lines, gutter):
        columns = _columns(band, gaps) if gaps and depth > 0 else []
        if columns:
            found += _merged(across)
            across = []
            for column in columns:
                found += _blocks(column, depth - 1)
        else:
            across += _across(band)
    return found + _merged(across)


def _bands(lines: list[Line], gutter: float) -> list[tuple[list[Line], list[Gap]]]:
    """Return bands from the top, each with the vertical white spaces that run through it between text on both sides."""
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    found: list[tuple[list[Line], list[Gap]]] = []
    band: list[Line] = []
    free: list[Gap] = []
    inside: Gap = (0.0, 0.0)
    for row in _slices(lines):
        beside, within = _free(row, left, right, gutter), _inside(row)
        both, common = beside, within
        if band:
            both = _common(free, beside, gutter)
            common = (min(inside[0], within[0]), max(inside[1], within[1]))
        own = _between(free, inside) if band else []
        new = _between(beside, within)
        kept = _between(both, common)
        if not (own and new):
            kept = [gap for gap in kept if not _is_entered(gap, own or new, gutter)]
        if band and not kept and (own or new):
            found.append((band, own))
            band, free, inside = row, beside, within
        else:
            band += row
            free, inside = both, common
    found.append((band, _between(free, inside)))
    return found


def _is_entered(gap: Gap, spaces: list[Gap], gutter: float) -> bool:
    """Return whether `gap` is the rest of a much wider space that starts at the same place: then a title enters the
    space.
    """
    begin, end = gap
    return any(
        first <= begin + 0.1 and end <= last and last - end > MAX_INDENT_GUTTERS * gutter
        for first, last in spaces
    )


def _inside(lines: list[Line]) -> Gap:
    """Return the range from the leftmost end of a line to the rightmost start: a space within it has text on both
    sides.
    """
    return min(line.right for line in lines), max(line.left for line in lines)


def _slices(lines: list[Line]) -> list[list[Line]]:
    """Return groups of lines that horizontal white space separates, from the top."""
    found: list[list[Line]] = []
    end = 0.0
    for line in sorted(lines, key=lambda line: (line.top, line.left)):
        # The boxes of letters include some space above and below, so lines overlap a little.
        room = 0.25 * (line.bottom - line.top)
        if found and line.top + room < end:
            found[-1].append(line)
            end = max(end, line.bottom - room)
        else:
            found.append([line])
            end = line.bottom - room
    return found


def _free(lines: list[Line], left: float, right: float, gutter: float) -> list[Gap]:
    """Return the horizontal ranges without any line, from `left` to `right`, including margins."""
    found: list[Gap] = []
    at = left
    for line in sorted(lines, key=lambda line: line.left):
        if line.left - at >= gutter:
            found.append((at, line.left))
        at = max(at, line.right)
    if right - at >= gutter:
        found.append((at, right))
    return _widest(found)


def _widest(gaps: list[Gap]) -> list[Gap]:
    if len(gaps) <= MAX_GAPS:
        return gaps
    return sorted(sorted(gaps, key=lambda gap: gap[0] - gap[1])[:MAX_GAPS])


def _common(some: list[Gap], others: list[Gap], gutter: float) -> list[Gap]:
    """Return the common parts of two sorted lists of gaps, in one pass."""
    found: list[Gap] = []
    i = j = 0
    while i < len(some) and j < len(others):
        begin, end = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if end - begin >= gutter:
            found.append((begin, end))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return _widest(found)


def _between(gaps: list[Gap], inside: Gap) -> list[Gap]:
    first, last = inside
    return [gap for gap in gaps if gap[0] >= first - 0.1 and gap[1] <= last + 0.1]


def _columns(lines: list[Line], gaps: list[Gap]) -> list[list[Line]]:
    """Return the lines of each column, in reading order of the columns; return `[]` if the gaps do not separate
    columns.
    """
    bounds = [(begin + end) / 2 for begin, end in gaps]
    columns: list[list[Line]] = [[] for _ in range(len(bounds) + 1)]
    for line in lines:
        middle = (line.left + line.right) / 2
        columns[sum(bound < middle for bound in bounds)].append(line)
    found: list[list[Line]] = []
    for column in filter(None, columns):
        if found and not _are_apart(found[-1], column):
            found[-1] += column
        else:
            found.append(column)
    if len(found) < 2:
        return []
    return found[::-1] if is_right_to_left(" ".join(line.text for line in lines)) else found


def _are_apart(one: list[Line], other: list[Line]) -> bool:
    """Return whether two parts are columns: both are text, or their lines are not in the same rows."""
    left, right = rows(one), rows(other)
    if min(len(left), len(right)) < MIN_LINES:
        return False
    return (_is_text(one) and _is_text(other)) or not _is_aligned(left, right)


def _is_aligned(left: list[list[Line]], right: list[list[Line]]) -> bool:
    few, many = sorted((left, right), key=len)
    bottoms = sorted(row[0].bottom for row in many)
    slack = ALIGNED * height([row[0] for row in few])
    same = 0
    for row in few:
        place = bisect_left(bottoms, row[0].bottom - slack)
        same += place < len(bottoms) and bottoms[place] <= row[0].bottom + slack
    return same > SAME_ROWS * len(few)


def _is_text(column: list[Line]) -> bool:
    words = sum(line.text.count(" ") + 1 for line in column) / len(column)
    width = math.fsum(line.right - line.left for line in column) / len(column)
    return words >= MIN_WORDS or (words < 1.5 and width >= WIDE * height(column))


def _across(lines: list[Line]) -> list[LineBlock]:
    """Return rows from the top; rows of several cells belong to a table."""
    found: list[LineBlock] = []
    for row in rows(lines):
        if len(row) == 1:
            found.append(LineBlock(lines=(row[0],)))
            continue
        cells = sorted(row, key=lambda line: line.left)
        if is_right_to_left(" ".join(line.text for line in cells)):
            cells.reverse()
        whole = Line(
            min(cell.left for cell in cells),
            min(cell.top for cell in cells),
            max(cell.right for cell in cells),
            max(cell.bottom for cell in cells),
            "  ".join(cell.text for cell in cells),
        )
        found.append(LineBlock(lines=(whole,), is_table=True))
    return found


def _merged(rows: list[LineBlock]) -> list[LineBlock]:
    """Join consecutive blocks of the same kind."""
    return [
        LineBlock(lines=tuple(line for row in same for line in row.lines), is_table=is_table)
        for is_table, same in groupby(rows, key=lambda row: row.is_table)
    ]
