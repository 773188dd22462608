"""Find the rows of tables among blocks, and the texts of their cells. Pure.

1. A row is written as a row if its cells are short (`MAX_CELL_CHARACTERS`). The tables that lay out old pages are not.
   The paragraphs of a cell are joined, unless most rows of a table without heads have such cells. Code, headings and
   nested tables are never parts of a row.
2. A row with one cell that has text is a row only among other rows of its table.
3. Cells are expanded as `extract.notation.table_grid` says. Empty cells stay; columns without any text stay only in a
   table with heads, because elsewhere they keep columns apart.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from thresher.extract.notation.table_grid import Cell, expand_spans, without_empty_columns
from thresher.extract.page.boxes import Block, Box
from thresher.extract.page.element_attributes import CELLS

MAX_CELL_CHARACTERS, MAX_DATA_CHARACTERS = 200, 1_000
"""A row with a longer cell is not written as a row: in general, and if the table has heads and the cell one block."""
MIN_ROWS = 2
"""Number of rows of several cells from which on a table without heads holds data."""
NEVER_IN_ROWS = frozenset(("pre", "h1", "h2", "h3", "h4", "h5", "h6"))


class BlockContext(NamedTuple):
    """The innermost box of each sort around a block."""

    item: Box | None = None
    row: Box | None = None
    cell: Box | None = None
    table: Box | None = None
    quotation: Box | None = None


class Row(NamedTuple):
    """A row of a table."""

    table: Box | None
    texts: list[str]
    """Texts of the cells by column; some may be empty."""
    columns: int
    """Columns of the widest row of the table."""


ContextFinder = Callable[[Box], BlockContext]
_Group = tuple[Box | None, list[Block]]


def find_rows(
    blocks: Iterable[Block], context_of: ContextFinder, write: Callable[[Block], str]
) -> Iterator[Row | list[Block]]:
    """Yield each row of a table, and the runs of other blocks. `write` returns the text of a block in a row."""
    blocks = list(blocks)
    if not any(context_of(block.box).row is not None for block in blocks):
        yield blocks
        return
    groups: list[_Group] = [
        (row, list(each)) for row, each in groupby(blocks, key=lambda block: context_of(block.box).row)
    ]
    tables: dict[int, list[int]] = {}  # numbers of the groups that are rows of each table
    for number, (row, _) in enumerate(groups):
        if row is not None:
            table = context_of(row).table
            tables.setdefault(-1 - row.number if table is None else table.number, []).append(number)
    rows: dict[int, Row] = {}
    for numbers in tables.values():
        rows.update(_rows_of_table([(number, groups[number]) for number in numbers], context_of, write))
    for number, (_, each) in enumerate(groups):
        yield rows.get(number, each)


def _rows_of_table(
    numbered: list[tuple[int, _Group]], context_of: ContextFinder, write: Callable[[Block], str]
) -> dict[int, Row]:
    """Return the rows of one table by the numbers of their groups."""
    first = numbered[0][1][0]
    table = context_of(first).table if first is not None else None
    boxes = _row_boxes(table) if table is not None else []
    has_heads = any(cell.tag == "th" for row in boxes for cell in row.children)
    cells = {number: _cells(blocks, context_of) for number, (_, blocks) in numbered}
    longest = MAX_DATA_CHARACTERS if has_heads else MAX_CELL_CHARACTERS
    fitting = {number for number in cells if all(_fits(blocks, longest) for blocks in cells[number].values())}
    several = sum(len(cells[number]) > 1 for number in fitting)
    joined = sum(any(len(blocks) > 1 for blocks in cells[number].values()) for number in fitting)
    if not has_heads and 2 * joined > several:  # the paragraphs of a layout stay apart
        fitting = {number for number in fitting if all(len(blocks) == 1 for blocks in cells[number].values())}
    if several >= (1 if has_heads else max(MIN_ROWS, len(cells) / 2)):
        chosen = {
            number
            for number in fitting
            if len(cells[number]) > 1 or all(len(blocks) == 1 for blocks in cells[number].values())
        }
    else:
        chosen = {number for number in fitting if len(cells[number]) > 1}
    if not chosen:
        return {}
    texts = {
        number: {cell: " ".join(map(write, blocks)) for cell, blocks in cells[number].items()}
        for number in chosen
    }
    by_box = {row.number: number for number, (row, _) in numbered if row is not None and number in chosen}
    numbers: list[int] = []
    stated: list[list[Cell]] = []
    for box in boxes:
        number = by_box.pop(box.number, -1)
        stated.append(_stated_cells(box, texts.get(number, {})))
        numbers.append(number)
    for number in by_box.values():  # a row that is not directly in its table
        stated.append([Cell(text) for text in texts[number].values()])
        numbers.append(number)
    grid = expand_spans(stated)
    found = [(number, row) for number, row in zip(numbers, grid, strict=True) if number >= 0]
    written = [row for _, row in found]
    written = written if has_heads else without_empty_columns(written)
    columns = max(map(len, written))
    return {number: Row(table, row, columns) for (number, _), row in zip(found, written, strict=True)}


def _row_boxes(table: Box) -> list[Box]:
    """Return the rows of a table, without those of tables in it."""
    found: list[Box] = []
    for child in table.children:
        if child.tag == "tr":
            found.append(child)
        elif child.tag in {"thead", "tbody", "tfoot"}:
            found += (row for row in child.children if row.tag == "tr")
    return found


def _cells(blocks: list[Block], context_of: ContextFinder) -> dict[int, list[Block]]:
    """Return the blocks of each cell of a row, by the number of the cell."""
    found: dict[int, list[Block]] = {}
    for block in blocks:
        found.setdefault((context_of(block.box).cell or block.box).number, []).append(block)
    return found


def _fits(blocks: list[Block], longest: int) -> bool:
    if any(block.tag in NEVER_IN_ROWS for block in blocks):
        return False
    if len(blocks) == 1:
        return blocks[0].length <= longest
    return sum(block.length + 1 for block in blocks) <= MAX_CELL_CHARACTERS


def _stated_cells(row: Box, texts: dict[int, str]) -> list[Cell]:
    """Return the cells of a row with the texts that are chosen; the others are empty."""
    boxes = [box for box in row.children if box.tag in CELLS]
    if not texts.keys() <= {box.number for box in boxes}:
        return [Cell(text) for text in texts.values()]
    return [Cell(texts.get(box.number, ""), *box.span) for box in boxes]
