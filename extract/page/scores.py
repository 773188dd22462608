"""`Scores`: one look at a page: what its boxes hold, and which of them is most like content. Pure.

Boxes are scored by the text in them as Readability does it (Arc90, 2009, and Mozilla's): a block gives points to the boxes around it, fewer the
farther they are; what a box is, and is called, counts beside; and what is links counts nothing. Its candidates are counted once a look, and all
sums are made in one pass.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate

from extract.page.boxes import Block, Box, ParsedPage

MIN_SCORED_CHARACTERS = 25
"""Characters of a block that says anything of the boxes around it."""
ANCESTOR_DIVISORS = (1, 2, 6, 9, 12)
"""By what a block's points are divided for the boxes around it, the innermost first."""
BASE = {
    "div": 5, "pre": 3, "td": 3, "blockquote": 3, "article": 8, "main": 8, "address": -3, "ol": -3, "ul": -3, "dl": -3, "dd": -3,
    "dt": -3, "li": -3, "form": -3, "h1": -5, "h2": -5, "h3": -5, "h4": -5, "h5": -5, "h6": -5, "th": -5,
}  # fmt: skip
"""Points of a box for what it is."""
RANKED = 5
RIVAL = 0.75
"""Share of the best score with which a box is as good."""
RIVALS = 3
"""So many of them make the box around them all the better one."""


class Scores:
    """Sums and scores of each box, by its number."""

    def __init__(
        self,
        page: ParsedPage,
        good: Sequence[int],
        excluded: Sequence[bool],
        skipped_blocks: Collection[int],
        *,
        weighed: bool,
    ) -> None:
        """`good` is what each block has of text; boxes that are `out`, and blocks that are `skipped_blocks` over, count nothing; names count where they are `weighed`."""
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
        for share in ANCESTOR_DIVISORS:
            if box is None:
                return
            score = self._points[box.number]
            if score is None:
                score = self._base(box)
                self._candidates.append(box)
            self._points[box.number] = score + points / share
            box = box.parent

    def _base(self, box: Box) -> float:
        return BASE.get(box.tag, 0) + (box.weight if self.weighed else 0)

    def is_scored(self, box: Box) -> bool:
        """Whether any block gave it points."""
        return self._points[box.number] is not None

    def score(self, box: Box) -> float:
        """Its points, as far as its text is no links."""
        points = self._points[box.number]
        return (self._base(box) if points is None else points) * (1 - self.density(box))

    def density(self, box: Box) -> float:
        """Share of its text that is links."""
        text = self.text[box.number]
        return self.link[box.number] / text if text else 0.0

    def good(self, box: Box) -> int:
        """Characters in it that read like text."""
        return self._good[box.last] - self._good[box.first]

    @property
    def all_good(self) -> int:
        """Characters on the page that read like text."""
        return self._good[-1]

    def best(self) -> Box | None:
        """The box that is most like content; None where nothing on the page gives points."""
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
        """The first, or the innermost box around it that is around several that are as good."""
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
        """Itself, or a box around it that has a higher score, where the scores between do not fall to a third."""
        last = self.score(top)
        least = last / 3
        for box in ancestors(top):
            if box.tag == "body":
                break
            if self.is_scored(box):
                score = self.score(box)
                if score > last:
                    return box
                if score < least:
                    break
                last = score
        return top


def ancestors(box: Box) -> Iterator[Box]:
    """The boxes around a box, the innermost first."""
    while (outer := box.parent) is not None:
        yield outer
        box = outer


def excluded_boxes(boxes: Sequence[Box], rule: Callable[[Box], bool]) -> list[bool]:
    """Of each box, whether the rule holds of it or of one around it."""
    out: list[bool] = []
    for box in boxes:
        out.append((box.parent is not None and out[box.parent.number]) or rule(box))
    return out
