"""What of the chosen blocks goes, and what belongs to them all the same: by what lines say, and by the headline. Pure."""

from collections.abc import Sequence
from itertools import accumulate

from extract.page import cues
from extract.page.boxes import Block
from extract.page.headline import AHEAD, headline

BEFORE = 0.5
"""Share of the text that is in front of a line behind which content is thought to end."""
LEAST_BEFORE = 100
"""Characters."""
MANY = 3
"""So many such lines are under as many articles of one page, and end none of it."""
LONGEST_LEAD = 700
"""Characters of a block between headline and content."""
DATELINE = 80
"""Characters of a line that is a date."""
STRAY = 0.15
"""Share of the text that may stand in front of the headline and be none."""

KeepFlags = list[bool]
"""Of each block, whether it is chosen; changed in place."""


def trim_end(blocks: Sequence[Block], taken: KeepFlags, last: int, *, comments: bool) -> None:
    """Cut off, up to block `last`, what comes after the content, `comments` or not, and the site's own lines throughout."""
    ends = [
        number
        for number, block in enumerate(blocks)
        if taken[number] and cues.ends_content(block.text, comments=comments)
    ]
    if len(ends) < MANY:
        enough = max(BEFORE * _size(blocks, taken), LEAST_BEFORE)
        sizes = [
            0,
            *accumulate(block.length if each else 0 for block, each in zip(blocks, taken, strict=True)),
        ]
        end = next((number for number in ends if sizes[number] >= enough), last)
        taken[end:last] = [False] * max(0, last - end)
    else:
        for number in ends:
            taken[number] = False
    for number, block in enumerate(blocks):
        if taken[number] and cues.is_junk(block.text):
            taken[number] = False


def add_headline(blocks: Sequence[Block], taken: KeepFlags, title: str, gone: Sequence[bool]) -> None:
    """Put the headline in front, and the teaser between it and the content; cut off what stands before it.

    Boxes that are `gone`, by their numbers, have no teaser.
    """
    first = next((number for number, each in enumerate(taken) if each), None)
    head = None if first is None else headline(title, blocks, first)
    if first is None or head is None:
        return
    if head < first:
        taken[head] = True
        for number in range(head + 1, first) if first - head <= AHEAD else ():
            taken[number] = not gone[blocks[number].box.number] and _is_lead(blocks[number])
    elif head > first and _size(blocks[:head], taken) < STRAY * _size(blocks, taken):
        taken[first:head] = [False] * (head - first)
        taken[head] = True


def _size(blocks: Sequence[Block], taken: KeepFlags) -> int:
    return sum(block.length for block, each in zip(blocks, taken, strict=False) if each)


def _is_lead(block: Block) -> bool:
    """Whether a block between headline and content says something of the matter, and not who wrote it and when."""
    return (
        block.length < LONGEST_LEAD
        and block.link < 0.3 * block.length
        and (block.tag[0] == "h" or block.length > 40)
        and not cues.is_junk(block.text)
        and not cues.ends_content(block.text)
        and not cues.is_byline(block.text)
        and not (block.length < DATELINE and cues.has_date(block.text))
    )
