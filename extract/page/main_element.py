"""Take the whole main element of a page if the chosen content is only a part of it. Pure.

Listings, start pages, and the pages of services and products are made of cards and short sections. None of them has
most of the text, so a choice by running text finds one of them.
"""

from collections.abc import Collection, Sequence

from extract.page.boxes import Block, ParsedPage
from extract.page.page_kind import PageKind
from extract.page.reference import HEADINGS, choose_reference

MIN_RUNNING = 300
"""Characters of running text in the main element from which on the content must have a share of it."""
MIN_COVERED, MIN_COVERED_IF_STATED = 0.6, 0.5
"""Share of this running text that the content has at least, or else the whole element is taken: in a page of no stated
kind, and in an article or a product.
"""
MIN_COVERED_TEXT = 0.6
"""The same share of all text, in a page of no stated kind."""
MIN_CARDS, MIN_COVERED_CARDS = 10, 0.3
"""Number of <article>s from which on a page is a listing even if it states that it is an article or a product; and the
share of its text that the content has at least.
"""
MIN_HEADINGS, MIN_COVERED_UNMARKED = 30, 0.15
"""Number of headings from which on a page that marks no main element is a listing; and the share of its text that the
content has at least.
"""


def whole_main(
    page: ParsedPage,
    title: str,
    kind: PageKind,
    chosen: Sequence[Block],
    good: Sequence[int],
    notices: Collection[int],
) -> list[Block]:
    """Return the blocks of the main element, or of a page of cards that marks none, if the chosen blocks have too
    little of it; return none otherwise. `good` has the characters of running text of each block.
    """
    is_marked = any(box.is_main and box.first < box.last for box in page.boxes)
    if kind not in ({"page", "article", "product"} if is_marked else {"page"}):
        return []
    whole = choose_reference(page, title, notices)
    size = sum(block.length for block in whole)
    share = sum(block.length for block in chosen) / max(size, 1)
    if share > 1:
        return []
    if not is_marked:
        is_part = (
            share < MIN_COVERED_UNMARKED and sum(block.tag in HEADINGS for block in whole) >= MIN_HEADINGS
        )
    elif kind == "page":
        is_part = share < MIN_COVERED_TEXT or _has_less(page, whole, chosen, good, MIN_COVERED)
    else:
        is_part = _has_less(page, whole, chosen, good, MIN_COVERED_IF_STATED) or (
            share < MIN_COVERED_CARDS and sum(box.tag == "article" for box in page.boxes) >= MIN_CARDS
        )
    return whole if is_part else []


def _has_less(
    page: ParsedPage, whole: Sequence[Block], chosen: Sequence[Block], good: Sequence[int], least: float
) -> bool:
    """Return whether the share of the whole's running text that the chosen blocks have is less than `least`."""
    of_whole, of_chosen = set(map(id, whole)), set(map(id, chosen))
    running = covered = 0
    for block, size in zip(page.blocks, good, strict=True):
        if size:
            running += size * (id(block) in of_whole)
            covered += size * (id(block) in of_chosen)
    return running > MIN_RUNNING and covered < least * running
