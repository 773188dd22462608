"""Choose the posts of a discussion: every post once, in the order of the page. Pure."""

from collections.abc import Sequence
from itertools import accumulate

from extract.page import trim
from extract.page.boxes import Block, Box, ParsedPage

MIN_POSTS = 2
"""Number of bodies of posts from which on a page is a discussion that states its posts."""
MIN_CHARACTERS = 100
"""Minimum number of characters of all posts together."""
MOST = 0.5
"""Share of a body's text from which on a body within it stands for it."""


def choose_posts(page: ParsedPage, title: str) -> list[Block]:
    """Return the blocks of the bodies of posts and the headline; return none if the page does not mark them."""
    texts = [0, *accumulate(block.length for block in page.blocks)]
    posts = _bodies(page.boxes, texts)
    if len(posts) < MIN_POSTS or sum(texts[box.last] - texts[box.first] for box in posts) < MIN_CHARACTERS:
        return []
    taken = [False] * len(page.blocks)
    for box in posts:
        taken[box.first : box.last] = [True] * (box.last - box.first)
    trim.add_headline(page.blocks, taken, title, [True] * len(page.boxes))
    return [block for block, is_taken in zip(page.blocks, taken, strict=True) if is_taken]


def _bodies(boxes: Sequence[Box], texts: Sequence[int]) -> list[Box]:
    """Return the bodies of posts, none within another: the inner one if it has most of the outer one's text."""
    found: list[Box] = []
    for box in boxes:
        if not box.is_post or box.first == box.last:
            continue
        if found and box.last <= found[-1].last:
            outer = found[-1]
            if texts[box.last] - texts[box.first] >= MOST * (texts[outer.last] - texts[outer.first]):
                found[-1] = box
        else:
            found.append(box)
    return found
