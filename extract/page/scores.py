"""`Scores`: one pass over a page: sums and scores of its boxes, and the box that is most like content. Pure.

Boxes are scored by their text, as in Readability (Arc90, 2009, and Mozilla's version). A block gives points to the
boxes around it, fewer to farther ones. The tag and the names of a box add or subtract points, and links count nothing.
Scores are computed once a pass, and all sums in one loop.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate

from thresher.extract.page.boxes import Block, Box, ParsedPage

MIN_SCORED_CHARACTERS = 25
"""Characters from which on a block gives points to the boxes around it."""
ANCESTOR_DIVISORS = (1, 2, 6, 9, 12)
"""Divisors of a block's points for the boxes around it, innermost box first."""
BASE = {
    "div": 5, "pre": 3, "td": 3, "blockquote": 3, "article": 8, "main": 8, "address": -3, "ol": -3, "ul": -3,
    "dl": -3, "dd": -3, "dt": -3, "li": -3, "form": -3, "h1": -5, "h2": -5, "h3": -5, "h4": -5, "h5": -5, "h6": -5,
    "th": -5,
}  # fmt: skip
"""Points of a box for its tag."""
RANKED = 5
"""Number of boxes with the highest scores that are compared as rivals."""
RIVAL = 0.75
"""Share of the best score from which on a box is a rival of the best one."""
RIVALS = 3
"""Number of rivals from which on the box around all of them is the best one."""


class Scores:
    """Sums and scores of all boxes, by the number of the box."""

    def __init__(
        self,
        page: ParsedPage,
        good: Sequence[int],
        excluded: Sequence[bool],
        skipped_blocks: Collection[int],
        *,
        weighed: bool,
    ) -> None:
        """Compute the sums and scores of a page.

        `good` holds the characters of running text in each block. Boxes in `excluded` and blocks in `skipped_blocks`
        count nothing. The names of boxes count if `weighed` is set.
        """
        self.page, self.weighed = page, weighed
        n = len(page.boxes)
        self.live = [
            not excluded[block.box.number] and number not in skipped_blocks
            for number, block in enumerate(page.blocks)
        ]
        self.text, self.link, self.commas, self.paragraphs, self.items = ([0] * n for _ in range(5))
        self._points: list[float | None] = [None] * n
        self._candidates: list[Box] = []
        for block, live in zip(page.blocks, self.live, strict=True):
            if live:
                self._count(block)
        for box in reversed(page.boxes):
            if box.parent is not None:
                number, around = box.number, box.parent.number
                self.text[around] += self.text[number]
                self.link[around] += self.link[number]
                self.commas[around] += self.commas[number]
                self.paragraphs[around] += self.paragraphs[number]
                self.items[around] += self.items[number]
        self._good = [0, *accumulate(size if live else 0 for size, live in zip(good, self.live, strict=True))]

    def _count(self, block: Block) -> None:
        inner = block.box
        number = inner.number
        self.text[number] += block.length
        self.link[number] += block.link
        self.commas[number] += block.commas
        self.paragraphs[number] += block.tag == "p" or bool(inner.children)
        self.items[number] += block.tag == "li"
        if block.length < MIN_SCORED_CHARACTERS:
            return
        points = 2 + block.commas + min(block.length // 100, 3)
        box = inner if inner.children else inner.parent
        for divisor in ANCESTOR_DIVISORS:
            if box is None:
                return
            score = self._points[box.number]
            if score is None:
                score = self._base(box)
                self._candidates.append(box)
            self._points[box.number] = score + points / divisor
            box = box.parent

    def _base(self, box: Box) -> float:
        return BASE.get(box.tag, 0) + (box.weight if self.weighed else 0)

    def is_scored(self, box: Box) -> bool:
        """Return whether any block has given the box points."""
        return self._points[box.number] is not None

    def score(self, box: Box) -> float:
        """Return the points of the box, reduced by the share of links in its text."""
        points = self._points[box.number]
        return (self._base(box) if points is None else points) * (1 - self.density(box))

    def density(self, box: Box) -> float:
        """Return the share of links in the text of the box."""
        text = self.text[box.number]
        return self.link[box.number] / text if text else 0.0

    def good(self, box: Box) -> int:
        """Return the characters of running text in the box."""
        return self._good[box.last] - self._good[box.first]

    def good_between(self, first: int, last: int) -> int:
        """Return the characters of running text from block `first` on, before block `last`."""
        return self._good[max(first, last)] - self._good[first]

    @property
    def all_good(self) -> int:
        """Characters of running text on the page."""
        return self._good[-1]

    def best(self) -> Box | None:
        """Return the box that is most like content; return None if no block has given points."""
        if not self._candidates:
            return None
        ranked = sorted(self._candidates, key=self.score, reverse=True)[:RANKED]
        top = self._better_ancestor(self._common_ancestor(ranked))
        for box in ancestors(top):
            if box.tag in {"body", "html"} or len(box.children) != 1:
                break
            top = box
        return top

    def _common_ancestor(self, ranked: Sequence[Box]) -> Box:
        """Return the first box of the ranking; if it has several rivals, the innermost box around it and them."""
        top = ranked[0]
        rivals = [list(ancestors(box)) for box in ranked[1:] if self.score(box) >= RIVAL * self.score(top)]
        if len(rivals) >= RIVALS:
            for box in ancestors(top):
                if box.tag == "body":
                    break
                if sum(box in chain for chain in rivals) >= RIVALS:
                    return box
        return top

    def _better_ancestor(self, top: Box) -> Box:
        """Return the first ancestor with a rising score, unless scores fall to a third before it; otherwise `top`."""
        last = self.score(top)
        min_score = last / 3
        for box in ancestors(top):
            if box.tag == "body":
                break
            if self.is_scored(box):
                score = self.score(box)
                if score > last:
                    return box
                if score < min_score:
                    break
                last = score
        return top


def ancestors(box: Box) -> Iterator[Box]:
    """Yield the boxes around a box, the innermost first."""
    while (outer := box.parent) is not None:
        yield outer
        box = outer


def excluded_boxes(
    boxes: Sequence[Box], roots: Iterable[Box], excluded: Sequence[bool] | None = None
) -> list[bool]:
    """Return for each box whether it is one of `roots` or inside one of them, or excluded already.

    The time is that of copying `excluded`, and of visiting the boxes that are added.
    """
    out = [False] * len(boxes) if excluded is None else list(excluded)
    for root in roots:
        number, depth = root.number, root.depth
        if not out[number]:
            out[number] = True
            # The boxes inside a box follow it directly.
            number += 1
            while number < len(boxes) and boxes[number].depth > depth:
                out[number] = True
                number += 1
    return out
