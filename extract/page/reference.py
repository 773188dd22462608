"""Choose the content of a reference page, such as a manual: all of the element that the template marks. Pure.

A reference has what running text has not: tables of code, lines of syntax, indexes of links. So nothing in its content
is judged by its words or its links; only what states that it is navigation is left out.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, islice

from thresher.extract.page import trim
from thresher.extract.page.boxes import HEADINGS, Block, Box, ParsedPage
from thresher.extract.page.class_hints import ALWAYS_UNLIKELY, LIKELY
from thresher.extract.page.headline import AHEAD, headline
from thresher.extract.page.scores import ancestors, excluded_boxes

MIN_SHARE = 0.3
"""Minimum share of the page's text beside navigation that the marked element must have."""
NEARLY_ALL = 0.9
"""Share of an element's text from which on a marked element within it stands for it."""
MAX_COMMENTS = 0.3
"""Share of the page's text from which on a box is content, although its names suggest readers' comments."""
NAVIGATION = frozenset(("nav", "footer", "aside"))
MAX_LINKED = 4
"""Size of a block with a link to a page beside this one at most, relative to its links; it has words such as Next."""
MAX_NEIGHBOURS = 250
"""Characters of links to the pages around a page, together, at most."""


class _Sums:
    """Sums over the blocks of a page."""

    def __init__(self, page: ParsedPage) -> None:
        self._text = [0, *accumulate(block.length for block in page.blocks)]
        self._link = [0, *accumulate(block.link for block in page.blocks)]
        self._headings = [0, *accumulate(_is_heading(block) for block in page.blocks)]

    def text(self, box: Box) -> int:
        """Return the characters in a box."""
        return self._text[box.last] - self._text[box.first]

    def has_heading(self, box: Box) -> bool:
        """Return whether a heading is in a box."""
        return self._headings[box.last] > self._headings[box.first]

    def is_linked(self, box: Box) -> bool:
        """Return whether most of the text in a box is links."""
        return 2 * (self._link[box.last] - self._link[box.first]) > self.text(box)


def choose_reference(page: ParsedPage, title: str, notices: Collection[int]) -> list[Block]:
    """Return the blocks of the element that is marked as the content; return none if no element is. Blocks in
    `notices` are not content.
    """
    sums = _Sums(page)
    excluded = _navigation(page, sums)
    live = [not excluded[block.box.number] for block in page.blocks]
    for number in (*notices, *_links_to_neighbours(page, sums)):
        live[number] = False
    root = _root(page, live)
    if root is None:
        return _whole(page, title, live, sums, excluded)
    taken = [False] * len(live)
    for box in (root, *_footnotes(page, root)):
        taken[box.first : box.last] = live[box.first : box.last]
    head = _headline_inside(page, title, taken)
    if head is None:
        trim.add_headline(page.blocks, taken, title, excluded)
    elif not root.is_main:
        trim.remove_before(page.blocks, taken, head)
    return [block for block, is_taken in zip(page.blocks, taken, strict=True) if is_taken]


def _footnotes(page: ParsedPage, root: Box) -> Iterator[Box]:
    """Yield the boxes with footnotes after the content, which templates put beside it."""
    return (
        box for box in page.boxes[root.number + 1 :] if box.first >= root.last and "footnote" in box.names
    )


def _headline_inside(page: ParsedPage, title: str, taken: Sequence[bool]) -> int | None:
    """Return the number of the heading with the words of the title among the first chosen blocks; return None if there
    is none.
    """
    chosen = (number for number, is_taken in enumerate(taken) if is_taken)
    headings = [number for number in islice(chosen, AHEAD) if page.blocks[number].tag in {"h1", "h2"}]
    found = headline(title, [page.blocks[number] for number in headings], 0)
    return None if found is None else headings[found]


def _whole(
    page: ParsedPage, title: str, live: Sequence[bool], sums: _Sums, excluded: Sequence[bool]
) -> list[Block]:
    """Return all blocks of a page that marks no content, without the links at its start and its end; an index is all
    links.
    """
    beside = (box for box in page.boxes if box.unlikely >= LIKELY and sums.is_linked(box))
    excluded = excluded_boxes(page.boxes, beside, excluded)
    taken = [
        is_live and not excluded[block.box.number] for is_live, block in zip(live, page.blocks, strict=True)
    ]
    is_index = sums.is_linked(page.boxes[0])
    for numbers in () if is_index else (range(len(taken)), range(len(taken) - 1, -1, -1)):
        run: list[int] = []
        for number in numbers:
            block = page.blocks[number]
            if taken[number] and 2 * block.link < block.length:
                # A list of links under a heading is a part of the content, such as the contents of a chapter.
                if numbers.step > 0 or not _is_heading(block):
                    for each in run:
                        taken[each] = False
                break
            run.append(number)
    trim.add_headline(page.blocks, taken, title, excluded)
    return [block for block, is_taken in zip(page.blocks, taken, strict=True) if is_taken]


def _navigation(page: ParsedPage, sums: _Sums) -> list[bool]:
    most = MAX_COMMENTS * sums.text(page.boxes[0])
    roots = (
        box
        for box in page.boxes
        if (box.comments or box.unlikely >= ALWAYS_UNLIKELY)
        and not box.is_main
        and box.tag not in HEADINGS
        and (box.tag in NAVIGATION or not box.comments or sums.text(box) < most)
        and not _is_note(box, sums)
    )
    return excluded_boxes(page.boxes, roots)


def _is_note(box: Box, sums: _Sums) -> bool:
    """Return whether a box is an aside within the content that is no list of links: a note, or the footnotes."""
    return (
        box.tag == "aside"
        and (not box.is_boilerplate or "footnote" in box.names)
        and not box.comments
        and not sums.is_linked(box)
        and any(around.is_main or around.is_content or around.tag == "article" for around in ancestors(box))
    )


def _links_to_neighbours(page: ParsedPage, sums: _Sums) -> Iterator[int]:
    """Yield the numbers of the blocks with a link that states that it leads to the next or the previous page, and of
    those beside them in a box of hardly more than such links. The time is that of the blocks, however many links.
    """
    blocks, last = page.blocks, 0
    for each in page.metadata:
        if each.tag != "neighbour link":
            continue
        number = each.block
        if not last <= number < len(blocks) or blocks[number].length > MAX_LINKED * blocks[number].link:
            continue
        first, last = number, number + 1
        for box in (blocks[number].box, *ancestors(blocks[number].box)):
            if sums.text(box) > MAX_NEIGHBOURS or not sums.is_linked(box) or sums.has_heading(box):
                break
            first, last = box.first, box.last
        yield from range(first, last)


def _is_heading(block: Block) -> bool:
    return block.tag in HEADINGS


def _root(page: ParsedPage, live: Sequence[bool]) -> Box | None:
    """Return the first main element with text, or else the innermost box that its names mark as the content."""
    texts = [0, *accumulate(block.length * flag for block, flag in zip(page.blocks, live, strict=True))]
    linked = [0, *accumulate(block.link * flag for block, flag in zip(page.blocks, live, strict=True))]

    def text(box: Box) -> int:
        return texts[box.last] - texts[box.first]

    def beside_links(box: Box) -> int:
        return text(box) - linked[box.last] + linked[box.first]

    def is_linked(box: Box) -> bool:
        return 2 * beside_links(box) < text(box)

    root = next((box for box in page.boxes if box.is_main and text(box)), None)
    if root is None:
        marked = [box for box in page.boxes if box.is_content and box.tag not in HEADINGS]
        root, rest = max(marked, key=text, default=None), texts[-1]
        if root is not None and is_linked(root):
            # It may be a table of contents beside the content.
            first, last = root.first, root.last
            outside = (box for box in marked if box.last <= first or box.first >= last)
            other = max((box for box in outside if not is_linked(box)), key=text, default=None)
            if other is not None and text(other) >= MIN_SHARE * (rest - text(root)):
                root, rest = other, rest - text(root)
        if root is None or text(root) < MIN_SHARE * rest:
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
