"""Write blocks as plain text, one a line, or as Markdown. Pure.

1. In plain text, an item of a list begins with `- `, ` | ` separates the cells of a row, and code keeps its lines.
2. Markdown (CommonMark with GitHub's tables) has headings, lists with depth and numbers, tables, fenced code with its
   language, quotations, and inline marks (`extract.notation.inline_markdown`). Only `|` in tables and `<` before a name
   are escaped, because the text is meant to be read.
3. Rows of tables are found by `extract.writing.page_tables`.
"""

from collections.abc import Iterable
from functools import partial

from thresher.extract.notation.inline_markdown import Resolver, escape, fenced, write_inline
from thresher.extract.notation.table_grid import markdown_row, markdown_rule, plain_row
from thresher.extract.page.boxes import Block, Box
from thresher.extract.writing.page_tables import BlockContext, ContextFinder, Row, find_rows

HEADINGS = {f"h{level}": level for level in range(1, 7)}
MAX_ORDINAL = 999_999_999
"""The largest number of an item in CommonMark."""


def plain(blocks: Iterable[Block]) -> str:
    """Return plain text: one line for each block or row; line breaks of the page are kept."""
    lines = []
    begun_items: set[int] = set()
    context_of = _context_finder()
    for entry in find_rows(blocks, context_of, _one_line):
        if isinstance(entry, Row):
            lines.append(plain_row(entry.texts))
            continue
        for block in entry:
            item = context_of(block.box).item
            begins = item is not None and item.number not in begun_items
            lines.append(f"- {block.text}" if begins else block.text)
            if item is not None:
                begun_items.add(item.number)
    return "\n".join(lines)


def markdown(blocks: Iterable[Block], resolve: Resolver | None = None) -> str:
    """Return Markdown: empty lines separate paragraphs, but not items and rows.

    Links are written if `resolve` is given, which returns the absolute URL of a target.
    """

    def write(block: Block) -> str:
        return _inline(block, resolve).replace("\n", " ")

    written: list[str] = []
    columns: dict[int, int] = {}  # column in which the text of an item begins, by its number
    counted: dict[int, int] = {}
    context_of = _context_finder()
    before: Box | None = None  # the item that has just begun, or the table of the previous row
    for entry in find_rows(blocks, context_of, write):
        if isinstance(entry, Row):
            if entry.table is not None and entry.table is before:
                written.append(f"\n{markdown_row(entry.texts)}")
            else:
                head = [*entry.texts, *[""] * (entry.columns - len(entry.texts))]
                written.append(f"\n\n{markdown_row(head)}\n{markdown_rule(len(head))}")
            before = entry.table
            continue
        for block in entry:
            context = context_of(block.box)
            item, marker = context.item, ""
            column = 0 if item is None else _column(item, columns, context_of)
            begins = item is not None and item.number not in columns
            if item is not None and begins:
                marker = " " * column + f"{_marker(item, counted)} "
                column = columns[item.number] = len(marker)
            is_tight = begins and before is not None and before.tag == "li"
            text = _item(_marked(block, resolve), context, marker or " " * column, column)
            written += ["\n" if is_tight else "\n\n", text]
            before = item if begins else None
    return "".join(written).strip("\n")


def _context_finder() -> ContextFinder:
    """Return a function that finds the context of a box; it visits each box only once."""
    return partial(_find_context, {})


def _find_context(known: dict[int, BlockContext], box: Box) -> BlockContext:
    found = known.get(box.number)
    if found is None:
        around = BlockContext() if box.parent is None else _find_context(known, box.parent)
        found = known[box.number] = _inner_context(around, box)
    return found


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


def _column(item: Box, columns: dict[int, int], context_of: ContextFinder) -> int:
    """Return the column of an item: of its text if it has begun, otherwise of its marker, below its parent's text."""
    around: Box | None = item
    while around is not None and around.number not in columns:
        around = None if around.parent is None else context_of(around.parent).item
    return 0 if around is None else columns[around.number]


def _marker(item: Box, counted: dict[int, int]) -> str:
    inside = item.parent
    if inside is None or inside.tag != "ol":
        return "-"
    if item.ordinal is not None:
        number = item.ordinal
    elif inside.number in counted:
        number = counted[inside.number] + 1
    else:
        number = 1 if inside.ordinal is None else inside.ordinal
    counted[inside.number] = number
    return f"{min(max(number, 0), MAX_ORDINAL)}."


def _item(text: str, context: BlockContext, start: str, column: int) -> str:
    """Return the text of a block after `start`, which is a marker or indentation.

    A quotation is inside the item or around it.
    """
    quotation, item = context.quotation, context.item
    is_within = quotation is not None and (item is None or quotation.depth > item.depth)
    if is_within:
        text = _quoted(text)
    text = start + text.replace("\n", "\n" + " " * column)
    return text if quotation is None or is_within else _quoted(text)


def _quoted(text: str) -> str:
    return "> " + text.replace("\n", "\n> ")


def _marked(block: Block, resolve: Resolver | None) -> str:
    if block.tag in HEADINGS:
        text = _inline(block, resolve, is_heading=True).replace("\n", " ")
        return f"{'#' * HEADINGS[block.tag]} {text}"
    if block.tag == "pre":
        return fenced(block.text, block.box.language)
    return _inline(block, resolve).replace("\n", "  \n")


def _inline(block: Block, resolve: Resolver | None, *, is_heading: bool = False) -> str:
    return write_inline(block.marked, resolve, is_heading=is_heading) if block.marked else escape(block.text)


def _one_line(block: Block) -> str:
    return " ".join(block.text.split())
