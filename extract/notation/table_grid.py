"""Turn the cells of a table into a grid, and write its rows. Pure.

1. A cell that spans columns or rows is repeated in each of them, so every row can be read alone. A cell that is alone
   in its row is a heading of the rows below, and stands once.
2. The repeated characters are at most `MAX_GROWTH` times those of the table, so the text grows at most linearly.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_COLUMNS, MAX_ROWS = 1_000, 65_534
"""Columns and rows that a cell spans at most (HTML standard, section 4.9.11)."""
MAX_GROWTH = 8
"""Repeated characters at most, relative to the characters of the table."""
SEPARATOR = " | "

_NUMBER = re.compile(r"\s*+([0-9]{1,9})")


class Cell(NamedTuple):
    """A cell of a table as its source states it."""

    text: str
    columns: int = 1
    rows: int = 1


class Span(NamedTuple):
    """The number of columns and rows that a cell covers."""

    columns: int = 1
    rows: int = 1


ONE = Span()


def read_span(colspan: str, rowspan: str) -> Span:
    """Return the span that two attributes state; a missing or wrong number is 1; `rowspan="0"` means all rows below."""
    columns, rows = _NUMBER.match(colspan), _NUMBER.match(rowspan)
    wide = min(max(int(columns[1]), 1), MAX_COLUMNS) if columns else 1
    high = min(int(rows[1]) or MAX_ROWS, MAX_ROWS) if rows else 1
    return Span(wide, high)


def expand_spans(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:  # noqa: C901 - one walk over the columns
    """Return the texts of each row by column."""
    budget = MAX_GROWTH * sum(len(cell.text) + len(SEPARATOR) for row in rows for cell in row)
    pending: dict[
        int, tuple[int, str]
    ] = {}  # number of further rows and text of a cell from above, by its column
    grid: list[list[str]] = []
    for row in rows:
        texts: list[str] = []
        below: dict[int, tuple[int, str]] = {}
        is_alone = len(row) == 1 and not pending
        cells = iter(row)
        while True:
            column = len(texts)
            if budget <= 0:
                pending.clear()
            if column in pending:
                left, text = pending.pop(column)
                budget -= len(text) + len(SEPARATOR)
                texts.append(text)
                if left > 1 and budget > 0:
                    below[column] = (left - 1, text)
                continue
            cell = next(cells, None)
            if cell is None:
                if not pending or budget <= 0:
                    break
                texts.append("")  # a column between the last cell and a cell from above
                budget -= len(SEPARATOR)
                continue
            wide = (
                1 if is_alone else min(cell.columns, 1 + max(budget, 0) // (len(cell.text) + len(SEPARATOR)))
            )
            budget -= (wide - 1) * (len(cell.text) + len(SEPARATOR))
            for number in range(wide):
                if number and column + number in pending:  # cells that overlap: the one from above stays
                    break
                texts.append(cell.text)
                if cell.rows > 1:
                    below[column + number] = (cell.rows - 1, cell.text)
        pending = below
        grid.append(texts)
    return grid


def without_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows without the columns that are empty in all of them, which keep cells apart on the page."""
    used = sorted({column for row in rows for column, text in enumerate(row) if text})
    return [[row[column] for column in used if column < len(row)] for row in rows]


def plain_row(texts: Iterable[str]) -> str:
    """Return a row as a line of plain text; ` | ` separates its cells, of which some may be empty."""
    return SEPARATOR.join(texts).strip()


def markdown_row(texts: Iterable[str]) -> str:
    """Return a row of a table in GitHub's Markdown; `|` within a cell is escaped."""
    return f"| {SEPARATOR.join(text.replace('|', chr(92) + '|') for text in texts)} |"


def markdown_rule(columns: int) -> str:
    """Return the line between the head of a table and its other rows."""
    return f"|{' --- |' * columns}"
