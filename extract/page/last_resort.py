"""Choose the blocks of a page that has hardly any content. Pure.

A page with little text gives little text: the parts that never are content (`nav`, `aside`, `footer`, lists of links)
are left out even if nothing else is there.
"""

from collections.abc import Collection, Iterator, Sequence

from thresher.extract.page.boxes import Block, Box, ParsedPage
from thresher.extract.page.class_hints import ALWAYS_UNLIKELY, DOUBTFUL
from thresher.extract.page.headline import headline
from thresher.extract.page.scores import ancestors, excluded_boxes
from thresher.extract.page.trim import is_furniture

MAX_LINKED = 0.5
"""Share of links in a block or a list from which on it leads elsewhere."""
LISTS = frozenset(("ul", "ol", "table", "dl", "tr", "li"))
MAX_STRAY = 1_500
"""Characters of text beside the content at most: a site describes itself in a few paragraphs."""
MIN_CHARACTERS = 20
"""Characters that a marked region must have beside links."""


def choose_little(
    page: ParsedPage, title: str, excluded: Sequence[bool], notices: Collection[int]
) -> list[Block]:
    """Return the blocks beside links in the first of these that has any: the main element, the article, the innermost
    box around the headline, what follows the headline, the page. Return none if there are none. Boxes in `excluded`
    and blocks in `notices` count nothing.
    """
    head = headline(title, page.blocks, len(page.blocks))
    for least in (DOUBTFUL, ALWAYS_UNLIKELY):
        live = _live(page, excluded, head, least)
        for number in notices:
            live[number] = False
        for first, last in _regions(page, head):
            found = [page.blocks[number] for number in range(first, last) if live[number]]
            if (
                sum(block.length for block in found if head is None or block is not page.blocks[head])
                >= MIN_CHARACTERS
            ):
                return found
    return [block for block, is_live in zip(page.blocks, live, strict=True) if is_live]


def is_stray(page: ParsedPage, title: str, head: int, chosen: Sequence[Block]) -> bool:
    """Return whether everything that is chosen is outside the content that block `head` is the headline of: it ends
    before the headline, or it is in boxes whose names suggest parts around the content.
    """
    block = page.blocks[head]
    return (
        sum(each.length for each in chosen) < MAX_STRAY
        and 2 * block.length >= len(title)
        and not any(box.unlikely > DOUBTFUL or box.comments for box in (block.box, *ancestors(block.box)))
        and all(each is block or each.box.last <= head or _is_around(each.box, head) for each in chosen)
    )


def _is_around(box: Box, head: int) -> bool:
    """Return whether the box, or a box around it that does not hold the headline, has such a name."""
    around: Box | None = box
    while around is not None and not around.first <= head < around.last:
        if around.unlikely:
            return True
        around = around.parent
    return False


def _live(page: ParsedPage, excluded: Sequence[bool], head: int | None, least: float) -> list[bool]:
    """Return for each block whether it may be content: no box around it is at least so unlikely, unless the headline
    is in that box too.
    """
    roots = (
        box
        for box in page.boxes
        if box.is_navigation
        or (box.unlikely >= least and (head is None or not box.first <= head < box.last))
        or _is_link_list(box, page)
    )
    unlikely = excluded_boxes(page.boxes, roots, excluded)
    return [
        not unlikely[block.box.number] and not _is_linked(block) and not is_furniture(block)
        for block in page.blocks
    ]


def _regions(page: ParsedPage, head: int | None) -> Iterator[tuple[int, int]]:
    yield from ((box.first, box.last) for box in page.boxes if box.is_main)
    yield from ((box.first, box.last) for box in page.boxes if box.tag == "article")
    if head is not None:
        around = page.blocks[head].box
        yield from ((head, box.last) for box in ancestors(around) if box.tag not in {"body", "html"})
        yield head, len(page.blocks)
    yield 0, len(page.blocks)


def _is_link_list(box: Box, page: ParsedPage) -> bool:
    if box.tag not in LISTS:
        return False
    blocks = page.blocks[box.first : box.last]
    return sum(block.link for block in blocks) > MAX_LINKED * sum(block.length for block in blocks)


def _is_linked(block: Block) -> bool:
    return block.tag[0] != "h" and block.link > MAX_LINKED * block.length
