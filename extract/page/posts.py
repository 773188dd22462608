"""Choose the posts of a discussion: every post once, in the order of the page. Pure."""

import re
from collections.abc import Sequence
from itertools import accumulate

from thresher.extract.page import trim
from thresher.extract.page.boxes import Block, Box, ParsedPage

MIN_POSTS = 2
"""Number of bodies of posts from which on a page is a discussion that states its posts."""
MIN_CHARACTERS = 100
"""Minimum number of characters of all posts together."""
MOST = 0.5
"""Share of a body's text from which on a body within it stands for it."""
NEARLY_ALL = 0.9
"""Share of the running text in boxes of one class from which on another class may stand for it."""
MIN_RUNNING = 0.7
"""Minimum share of the page's running text in posts that no name marks."""
_PARAGRAPHS = frozenset(("p", "li", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "tr"))
_NUMBER = re.compile(r"[0-9]++")


def choose_posts(page: ParsedPage, title: str, good: Sequence[int], excluded: Sequence[bool]) -> list[Block]:
    """Return the blocks of the bodies of posts and the headline; return none if nothing tells them from the rest.

    `good` holds the characters of running text in each block. Boxes in `excluded` are no posts.
    """
    texts = [0, *accumulate(block.length for block in page.blocks)]
    posts = _bodies(page.boxes, texts) or _repeated(page.boxes, texts, [0, *accumulate(good)], excluded)
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


def _repeated(
    boxes: Sequence[Box], texts: Sequence[int], running: Sequence[int], excluded: Sequence[bool]
) -> list[Box]:
    """Return the boxes of the class that holds nearly all running text that any repeated class holds, with as little
    other text as possible; return none if no repeated class holds most of the page's running text.
    """
    found: dict[tuple[str, str], list[Box]] = {}
    for box in boxes:
        if box.names and box.first < box.last and not excluded[box.number] and box.tag not in _PARAGRAPHS:
            group = found.setdefault((box.tag, _NUMBER.sub("", box.names)), [])
            if not group or box.first >= group[-1].last:
                group.append(box)
    groups = [
        (_sum(group, running), _sum(group, texts), group)
        for group in found.values()
        if len(group) >= MIN_POSTS
    ]
    most = max((size for size, _, _ in groups), default=0)
    if most <= MIN_RUNNING * running[-1]:
        return []
    return min((group for group in groups if group[0] >= NEARLY_ALL * most), key=lambda group: group[1])[2]


def _sum(boxes: Sequence[Box], sums: Sequence[int]) -> int:
    return sum(sums[box.last] - sums[box.first] for box in boxes)
