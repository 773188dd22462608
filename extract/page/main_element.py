"""Take the whole main element of a page if the chosen content is only a part of it. Pure.

Listings, start pages, and the pages of services and products are made of cards and short sections. None of them has
most of the text, so a choice by running text finds one of them. The shares were chosen on the pages of decision 74.
"""

from collections.abc import Collection, Iterable, Sequence

from thresher.extract.page.boxes import HEADINGS, Block, Box, ParsedPage
from thresher.extract.page.page_kind import PageKind
from thresher.extract.page.reference import choose_reference

MIN_COVERED = 0.6
"""Size of the content at least, relative to the main element, or else the whole element is taken: in a page of no
stated kind.
"""
MIN_COVERED_RUNNING = 0.5
"""Share of the running text of the main element that the content has at least, in an article or a product."""
MAX_ARTICLE = 1_000
"""Characters of content of an article from which on it is the article, and the rest are other articles."""
MIN_CARDS, MIN_COVERED_CARDS = 10, 0.3
"""Number of <article>s from which on a page is a listing even if it states that it is an article or a product; and the
size of its content at least, relative to the main element.
"""
MIN_HEADINGS, MIN_COVERED_UNMARKED = 30, 0.15
"""Number of headings from which on a page that marks no main element is a listing; and the size of its content at
least, relative to all that is not navigation.
"""


def whole_main(
    page: ParsedPage,
    title: str,
    kind: PageKind,
    chosen: Sequence[Block],
    good: Sequence[int],
    notices: Collection[int],
) -> list[Block]:
    """Return the blocks of the main element, or of a page of cards that marks none, if the chosen blocks are only a
    part of it; return none otherwise. `good` has the characters of running text of each block.
    """
    if kind not in {"page", "article", "product"}:
        return []
    whole = choose_reference(page, title, notices)
    of_whole, of_chosen = set(map(id, whole)), set(map(id, chosen))
    beside = of_chosen - of_whole
    running = [
        (id(block), characters) for block, characters in zip(page.blocks, good, strict=True) if characters
    ]
    running_whole = sum(characters for block, characters in running if block in of_whole)
    if sum(characters for block, characters in running if block in beside) > running_whole:
        return []  # the content is beside the main element
    size, found = _size(whole), _size(chosen)
    if not any(box.is_main and _has_any(page, box, of_whole) for box in page.boxes):
        headings = sum(block.tag in HEADINGS for block in whole)
        is_part = kind == "page" and headings >= MIN_HEADINGS and found < MIN_COVERED_UNMARKED * size
    elif kind == "page":
        is_part = found < MIN_COVERED * size
    else:
        cards = sum(box.tag == "article" for box in page.boxes)
        covered = sum(characters for block, characters in running if block in of_chosen)
        is_part = (kind == "product" or found < MAX_ARTICLE) and (
            covered < MIN_COVERED_RUNNING * running_whole
            or (cards >= MIN_CARDS and found < MIN_COVERED_CARDS * size)
        )
    return whole if is_part else []


def _size(blocks: Iterable[Block]) -> int:
    return sum(block.length for block in blocks)


def _has_any(page: ParsedPage, box: Box, blocks: Collection[int]) -> bool:
    return any(id(block) in blocks for block in page.blocks[box.first : box.last])
