"""Blocks written down: as plain text, a line a block, or as Markdown. Pure.

1. Plain text: an item of a list begins with `- `, the cells of a row have ` | ` between them, code keeps its lines.
2. Markdown (CommonMark, and tables as GitHub has them): headings, lists with their depth and numbers, tables, code in fences, quotations.
   Nothing in a text is escaped: it is written to be read.
3. A row is one where each cell is a block of its own and short; the tables with which pages were once laid out are not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from extract.page.boxes import Block, Box

MOST_CELL = 200
"""Characters of a cell of a table that is one."""
HEADINGS = {f"h{level}": level for level in range(1, 7)}
FENCE = "```"


def plain(blocks: Iterable[Block]) -> str:
    """One line a block, a row, or a line that the page breaks."""
    lines = []
    begun: Box | None = None
    for row, cells in _rows(blocks):
        if row is not None:
            lines.append(" | ".join(_one_line(cell) for cell in cells))
            continue
        for block in cells:
            item = _around(block.box, "li")
            lines.append(f"- {block.text}" if item is not None and item is not begun else block.text)
            begun = item or begun
    return "\n".join(lines)


def markdown(blocks: Iterable[Block]) -> str:
    """Paragraphs with an empty line between them; items and rows without."""
    written: list[str] = []
    begun: Box | None = None
    table: Box | None = None
    tight = False
    counted: Counter[int] = Counter()
    for row, cells in _rows(blocks):
        if row is not None:
            inside = _around(row, "table")
            line = f"| {' | '.join(_one_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"
            if inside is table and tight:
                written.append(f"\n{line}")
            else:
                written += ["\n\n", line, f"\n|{' --- |' * len(cells)}"]
            table, tight = inside, True
            continue
        for block in cells:
            item = _around(block.box, "li")
            if item is not None and item is not begun:
                depth = sum(box.tag in {"ul", "ol"} for box in _chain(item)) - 1
                written += [
                    "\n" if begun is not None and tight else "\n\n",
                    "  " * max(0, depth),
                    f"{_marker(item, counted)} {_marked(block)}",
                ]
                begun, tight = item, True
            else:
                written += ["\n\n", _marked(block)]
                begun, tight = None, False
            table = None
    return "".join(written).strip("\n")


def _rows(blocks: Iterable[Block]) -> Iterator[tuple[Box | None, list[Block]]]:
    """Blocks of one row of a table together, with its box; all others with None."""
    for row, group in groupby(blocks, key=lambda block: _around(block.box, "tr")):
        cells = list(group)
        yield (row if row is not None and _is_row(cells) else None), cells


def _is_row(cells: list[Block]) -> bool:
    boxes = [_cell(block.box) for block in cells]
    return (
        len(cells) > 1
        and len({id(box) for box in boxes}) == len(cells)
        and max(block.length for block in cells) <= MOST_CELL
    )


def _cell(box: Box) -> Box:
    return next((each for each in _chain(box) if each.tag in {"td", "th"}), box)


def _around(box: Box, tag: str) -> Box | None:
    """The innermost box of a tag that is the box or around it."""
    return next((each for each in _chain(box) if each.tag == tag), None)


def _chain(box: Box) -> Iterator[Box]:
    around: Box | None = box
    while around is not None:
        yield around
        around = around.parent


def _marker(item: Box, counted: Counter[int]) -> str:
    inside = item.parent
    if inside is None or inside.tag != "ol":
        return "-"
    counted[inside.number] += 1
    return f"{counted[inside.number]}."


def _marked(block: Block) -> str:
    if block.tag in HEADINGS:
        return f"{'#' * HEADINGS[block.tag]} {_one_line(block)}"
    if block.tag == "pre":
        fence = FENCE if FENCE not in block.text else "~~~~"
        return f"{fence}\n{block.text}\n{fence}"
    if _around(block.box, "blockquote") is not None:
        return "> " + block.text.replace("\n", "\n> ")
    return block.text.replace("\n", "  \n")


def _one_line(block: Block) -> str:
    return " ".join(block.text.split())
