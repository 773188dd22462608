"""Choose the content of a reference page, such as a manual: all of the element that the template marks. Pure.

A reference has what running text has not: tables of code, lines of syntax, indexes of links. So nothing in its content
is judged by its words or its links; only what states that it is navigation is left out.
"""

from collections.abc import Sequence
from itertools import accumulate

from extract.page import trim
from extract.page.boxes import Block, Box, ParsedPage
from extract.page.class_hints import ALWAYS_UNLIKELY
from extract.page.scores import excluded_boxes

MIN_SHARE = 0.5
"""Minimum share of the page's text beside links and navigation that the marked element must have."""


def choose_reference(page: ParsedPage, title: str, excluded: Sequence[bool]) -> list[Block]:
    """Return the blocks of the element that is marked as the content; return none if no element is."""
    unlikely = excluded_boxes(
        page.boxes, lambda box: excluded[box.number] or (box.unlikely >= ALWAYS_UNLIKELY and not box.is_main)
    )
    live = [not unlikely[block.box.number] for block in page.blocks]
    sums = [0]
    for block, is_live in zip(page.blocks, live, strict=True):
        sums.append(sums[-1] + (block.length - block.link if is_live else 0))
    least = max(1.0, MIN_SHARE * sums[-1])

    def holds(box: Box) -> bool:
        return sums[box.last] - sums[box.first] >= least

    root = next((box for box in page.boxes if box.is_main and any(live[box.first : box.last])), None) or next(
        (box for box in page.boxes if box.is_content and holds(box)), None
    )
    if root is None:
        return []
    taken = [root.first <= number < root.last and is_live for number, is_live in enumerate(live)]
    trim.add_headline(page.blocks, taken, title, excluded)
    return [block for block, is_taken in zip(page.blocks, taken, strict=True) if is_taken]
