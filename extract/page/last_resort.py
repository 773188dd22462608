"""Choose the blocks of a page that has hardly any content. Pure.

A page with little text gives little text: the parts that never are content (`nav`, `aside`, `footer`, lists of links)
are left out even if nothing else is there.
"""

from collections.abc import Iterator, Sequence

from extract.page import cues
from extract.page.boxes import Block, Box, ParsedPage
from extract.page.class_hints import ALWAYS_UNLIKELY
from extract.page.headline import headline
from extract.page.scores import excluded_boxes

MAX_LINKED = 0.5
"""Share of links in a block or a list from which on it leads elsewhere."""
LISTS = frozenset(("ul", "ol", "table", "dl", "tr", "li"))
MIN_CHARACTERS = 20
"""Characters that a marked region must have beside links."""


def choose_little(page: ParsedPage, title: str, excluded: Sequence[bool]) -> list[Block]:
    """Return the blocks beside links in the first of: the main element, the article, what follows the headline, the
    page. Return none if there are none. Boxes in `excluded` count nothing.
    """
    unlikely = excluded_boxes(page.boxes, lambda box: excluded[box.number] or _leads_elsewhere(box, page))
    live = [
        not unlikely[block.box.number] and not _is_linked(block) and not cues.is_junk(block.text)
        for block in page.blocks
    ]
    head = headline(title, page.blocks, len(page.blocks))
    for first, last in _regions(page.boxes, head, len(page.blocks)):
        found = [page.blocks[number] for number in range(first, last) if live[number]]
        if sum(block.length for block in found) >= MIN_CHARACTERS:
            return found
    return []


def _regions(boxes: Sequence[Box], head: int | None, blocks: int) -> Iterator[tuple[int, int]]:
    yield from ((box.first, box.last) for box in boxes if box.is_main)
    yield from ((box.first, box.last) for box in boxes if box.tag == "article")
    if head is not None:
        yield head, blocks
    yield 0, blocks


def _leads_elsewhere(box: Box, page: ParsedPage) -> bool:
    if box.unlikely >= ALWAYS_UNLIKELY:
        return True
    if box.tag not in LISTS:
        return False
    blocks = page.blocks[box.first : box.last]
    return sum(block.link for block in blocks) > MAX_LINKED * sum(block.length for block in blocks)


def _is_linked(block: Block) -> bool:
    return block.tag[0] != "h" and block.link > MAX_LINKED * block.length
