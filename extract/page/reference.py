"""Choose the content of a reference page, such as a manual: all of the element that the template marks. Pure.

A reference has what running text has not: tables of code, lines of syntax, indexes of links. So nothing in its content
is judged by its words or its links; only what states that it is navigation is left out.
"""

from collections.abc import Collection, Sequence
from itertools import accumulate

from extract.page import trim
from extract.page.boxes import Block, Box, ParsedPage
from extract.page.class_hints import ALWAYS_UNLIKELY
from extract.page.scores import excluded_boxes

MIN_SHARE = 0.3
"""Minimum share of the page's text beside navigation that the marked element must have."""
NEARLY_ALL = 0.9
"""Share of an element's text from which on a marked element within it stands for it."""
MAX_COMMENTS = 0.3
"""Share of the page's text from which on a box is content, although its names suggest readers' comments."""


def choose_reference(page: ParsedPage, title: str, notices: Collection[int]) -> list[Block]:
    """Return the blocks of the element that is marked as the content; return none if no element is. Blocks in
    `notices` are not content.
    """
    excluded = _navigation(page)
    live = [not excluded[block.box.number] for block in page.blocks]
    for number in notices:
        live[number] = False
    root = _root(page, live)
    if root is None:
        return _whole(page, title, live, excluded)
    taken = [root.first <= number < root.last and is_live for number, is_live in enumerate(live)]
    trim.add_headline(page.blocks, taken, title, excluded)
    return [block for block, is_taken in zip(page.blocks, taken, strict=True) if is_taken]


def _whole(page: ParsedPage, title: str, live: Sequence[bool], excluded: Sequence[bool]) -> list[Block]:
    """Return all blocks of a page that marks no content, without the links at its start and its end; an index is all
    links.
    """
    taken = list(live)
    is_index = 2 * sum(block.link for block in page.blocks) > sum(block.length for block in page.blocks)
    for numbers in () if is_index else (range(len(taken)), reversed(range(len(taken)))):
        for number in numbers:
            block = page.blocks[number]
            if taken[number] and 2 * block.link < block.length:
                break
            taken[number] = False
    trim.add_headline(page.blocks, taken, title, excluded)
    return [block for block, is_taken in zip(page.blocks, taken, strict=True) if is_taken]


def _navigation(page: ParsedPage) -> list[bool]:
    sums = [0]
    for block in page.blocks:
        sums.append(sums[-1] + block.length)
    most = MAX_COMMENTS * sums[-1]
    roots = (
        box
        for box in page.boxes
        if (box.comments or box.unlikely >= ALWAYS_UNLIKELY)
        and not box.is_main
        and (box.tag in NAVIGATION or not box.comments or sums[box.last] - sums[box.first] < most)
    )
    return excluded_boxes(page.boxes, roots)


NAVIGATION = frozenset(("nav", "footer", "aside"))


def _root(page: ParsedPage, live: Sequence[bool]) -> Box | None:
    """Return the first main element with text, or else the innermost box that its names mark as the content."""
    texts = [0, *accumulate(block.length * flag for block, flag in zip(page.blocks, live, strict=True))]
    linked = [0, *accumulate(block.link * flag for block, flag in zip(page.blocks, live, strict=True))]

    def text(box: Box) -> int:
        return texts[box.last] - texts[box.first]

    def beside_links(box: Box) -> int:
        return text(box) - linked[box.last] + linked[box.first]

    root = next((box for box in page.boxes if box.is_main and text(box)), None)
    if root is None:
        marked = [box for box in page.boxes if box.is_content]
        root = max(marked, key=text, default=None)
        if root is None or text(root) < MIN_SHARE * texts[-1]:
            return None
        for box in marked:
            if (
                root.first <= box.first
                and box.last <= root.last
                and beside_links(box) >= NEARLY_ALL * beside_links(root)
                and text(box) >= MIN_SHARE * text(root)
            ):
                root = box
    return root
