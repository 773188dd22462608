"""Take the whole main element of a page if the chosen content is only a part of it. Pure.

Listings, start pages, and the pages of services and products are made of cards and short sections. None of them has
most of the text, so a choice by running text finds one of them. The shares were chosen on the pages of decision 74.
"""

from collections.abc import Collection, Sequence
from functools import partial

from extract.page.boxes import Block, ParsedPage
from extract.page.page_kind import PageKind
from extract.page.reference import HEADINGS, choose_reference

MIN_RUNNING = 300
"""Characters of running text in the main element of which the content must have its share; of less, none."""
MIN_COVERED, MIN_COVERED_IF_STATED = 0.6, 0.5
"""Share of this running text that the content has at least, or else the whole element is taken: in a page of no stated
kind, and in an article or a product.
"""
MAX_ARTICLE = 1_000
"""Characters of content of an article from which on it is the article, and the rest are other articles."""
MIN_COVERED_TEXT = 0.6
"""Size of the content at least, relative to the main element, in a page of no stated kind."""
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
    is_marked = any(box.is_main and box.first < box.last for box in page.boxes)
    if kind not in ({"page", "article", "product"} if is_marked else {"page"}):
        return []
    whole = choose_reference(page, title, notices)
    size, found = sum(block.length for block in whole), sum(block.length for block in chosen)
    if size <= found:
        return []  # the content is not in the main element
    has_less = partial(_has_less, page, whole, chosen, good)
    if not is_marked:
        headings = sum(block.tag in HEADINGS for block in whole)
        is_part = headings >= MIN_HEADINGS and found < MIN_COVERED_UNMARKED * size
    elif kind == "page":
        is_part = found < MIN_COVERED_TEXT * size or has_less(MIN_COVERED)
    else:
        cards = sum(box.tag == "article" for box in page.boxes)
        is_part = (cards >= MIN_CARDS and found < MIN_COVERED_CARDS * size) or (
            (kind == "product" or found < MAX_ARTICLE) and has_less(MIN_COVERED_IF_STATED)
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
    return running >= MIN_RUNNING and covered < least * running
