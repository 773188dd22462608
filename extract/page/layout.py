"""Write blocks as plain text, one a line, or as Markdown. Pure.

1. In plain text, an item of a list begins with `- `, ` | ` separates the cells of a row, and code keeps its lines.
2. Markdown (CommonMark with GitHub's tables) has headings, lists with depth and numbers, tables, fenced code and
   quotations. Only `|` in tables is escaped, because the text is meant to be read.
3. A row of a table is written as a row only if each cell is one short block. The tables that lay out old pages are not.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from extract.page.boxes import Block, Box

MAX_CELL_CHARACTERS = 200
"""A row with a longer cell is not written as a row."""
HEADINGS = {f"h{level}": level for level in range(1, 7)}
MIN_FENCE_LENGTH = 3

_BACKTICKS = re.compile("`+")


class BlockContext(NamedTuple):
    """The innermost box of each sort around a block."""

    item: Box | None = None
    row: Box | None = None
    cell: Box | None = None
    table: Box | None = None
    quotation: Box | None = None


ContextFinder = Callable[[Box], BlockContext]


def plain(blocks: Iterable[Block]) -> str:
    """Return plain text: one line for each block or row; line breaks of the page are kept."""
    lines = []
    begun_items: set[int] = set()
    context_of = _context_finder()
    for row, cells in _rows(blocks, context_of):
        if row is not None:
            lines.append(" | ".join(_one_line(cell) for cell in cells))
            continue
        for block in cells:
            item = context_of(block.box).item
            begins = item is not None and item.number not in begun_items
            lines.append(f"- {block.text}" if begins else block.text)
            if item is not None:
                begun_items.add(item.number)
    return "\n".join(lines)


def markdown(blocks: Iterable[Block]) -> str:
    """Return Markdown: empty lines separate paragraphs, but not items and rows."""
    written: list[str] = []
    columns: dict[int, int] = {}  # column in which the text of an item begins, by its number
    counted: Counter[int] = Counter()
    context_of = _context_finder()
    before: Box | None = None  # the item that has just begun, or the table of the previous row
    for row, cells in _rows(blocks, context_of):
        if row is not None:
            texts = [text.replace("|", "\\|") for text in _cell_texts(row, cells, context_of)]
            line = f"| {' | '.join(texts)} |"
            table = context_of(row).table
            if table is not None and table is before:
                written.append(f"\n{line}")
            else:
                written.append(f"\n\n{line}\n|{' --- |' * len(texts)}")
            before = table
            continue
        for block in cells:
            context = context_of(block.box)
            item, marker = context.item, ""
            column = 0 if item is None else _column(item, columns, context_of)
            begins = item is not None and item.number not in columns
            if item is not None and begins:
                marker = " " * column + f"{_marker(item, counted)} "
                column = columns[item.number] = len(marker)
            is_tight = begins and before is not None and before.tag == "li"
            written += ["\n" if is_tight else "\n\n", _item(block, context, marker or " " * column, column)]
            before = item if begins else None
    return "".join(written).strip("\n")


def _context_finder() -> ContextFinder:
    """Return a function that finds the context of a box; it visits each box only once."""
    known: dict[int, BlockContext] = {}

    def find_context(box: Box) -> BlockContext:
        found = known.get(box.number)
        if found is None:
            found = known[box.number] = _inner_context(
                BlockContext() if box.parent is None else find_context(box.parent), box
            )
        return found

    return find_context


def _inner_context(around: BlockContext, box: Box) -> BlockContext:
    match box.tag:
        case "li":
            return around._replace(item=box)
        case "tr":
            return around._replace(row=box)
        case "td" | "th":
            return around._replace(cell=box)
        case "table":
            return around._replace(table=box)
        case "blockquote":
            return around._replace(quotation=box)
    return around


def _rows(blocks: Iterable[Block], context_of: ContextFinder) -> Iterator[tuple[Box | None, list[Block]]]:
    """Yield the blocks of each row of a table with the box of the row, and all other blocks with None."""
    for row, group in groupby(blocks, key=lambda block: context_of(block.box).row):
        cells = list(group)
        yield (row if row is not None and _is_row(cells, context_of) else None), cells


def _is_row(cells: list[Block], context_of: ContextFinder) -> bool:
    return (
        len(cells) > 1
        and all(block.tag != "pre" for block in cells)
        and len({_cell(block, context_of) for block in cells}) == len(cells)
        and max(block.length for block in cells) <= MAX_CELL_CHARACTERS
    )


def _cell(block: Block, context_of: ContextFinder) -> int:
    return (context_of(block.box).cell or block.box).number


def _cell_texts(row: Box, cells: list[Block], context_of: ContextFinder) -> list[str]:
    """Return the texts of a row by column; an empty cell gives an empty text."""
    texts = {_cell(block, context_of): _one_line(block) for block in cells}
    columns = [box.number for box in row.children if box.tag in {"td", "th"}]
    return [texts.get(column, "") for column in (columns if texts.keys() <= set(columns) else texts)]


def _column(item: Box, columns: dict[int, int], context_of: ContextFinder) -> int:
    """Return the column of an item: of its text if it has begun, otherwise of its marker, below its parent's text."""
    around: Box | None = item
    while around is not None and around.number not in columns:
        around = None if around.parent is None else context_of(around.parent).item
    return 0 if around is None else columns[around.number]


def _marker(item: Box, counted: Counter[int]) -> str:
    inside = item.parent
    if inside is None or inside.tag != "ol":
        return "-"
    counted[inside.number] += 1
    return f"{counted[inside.number]}."


def _item(block: Block, context: BlockContext, start: str, column: int) -> str:
    """Return a block after `start`, its marker or indentation. A quotation is inside the item or around it."""
    text, quotation, item = _marked(block), context.quotation, context.item
    is_within = quotation is not None and (item is None or quotation.depth > item.depth)
    if is_within:
        text = _quoted(text)
    text = start + text.replace("\n", "\n" + " " * column)
    return text if quotation is None or is_within else _quoted(text)


def _quoted(text: str) -> str:
    return "> " + text.replace("\n", "\n> ")


def _marked(block: Block) -> str:
    if block.tag in HEADINGS:
        return f"{'#' * HEADINGS[block.tag]} {_one_line(block)}"
    if block.tag == "pre":
        longest = max(map(len, _BACKTICKS.findall(block.text)), default=0)
        fence = "`" * max(MIN_FENCE_LENGTH, longest + 1)
        return f"{fence}\n{block.text}\n{fence}"
    return block.text.replace("\n", "  \n")


def _one_line(block: Block) -> str:
    return " ".join(block.text.split())
