"""Remove chosen blocks because of their words, and add the headline and the teaser. Pure."""

from collections.abc import Sequence
from itertools import accumulate, islice

from thresher.extract.page import cues
from thresher.extract.page.boxes import Block
from thresher.extract.page.headline import AHEAD, headline
from thresher.extract.page.page_kind import PageKind
from thresher.extract.page.scores import ancestors

BEFORE = 0.5
"""Minimum share of the text before a line that can end the content."""
MIN_BEFORE = 100
"""Minimum number of characters before a line that can end the content."""
MIN_REST = 500
"""Number of characters after such a line from which on they may be content."""
MIN_SIGNED = 2
"""Number of texts signed with a day and a time from which on a line that introduces comments is believed."""
MANY = 3
"""Number of such lines from which on they belong to several articles on one page; then none ends the content."""
MAX_LEAD_LENGTH = 700
"""Characters of a teaser between headline and content at most."""
LEAD = 120
"""Minimum number of characters of a teaser that is far from the content."""
MAX_LEVELS = 4
"""Boxes around the headline of which one must hold the content too, if a teaser is far from it."""
DATELINE = 80
"""Characters of a line with a date at most."""
STRAY = 0.15
"""Share of the text before the headline up to which it is removed."""

MAX_BESIDE_LINK = 3
"""Characters beside the link in a paragraph that is one link, at most, such as a pair of brackets."""
STRUCTURED = frozenset(("td", "th", "li", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6"))
"""Tags of blocks in which a date alone is content: a row, a list, the heading of a section."""

KeepFlags = list[bool]
"""For each block whether it is chosen; the functions change it in place."""


def trim_end(blocks: Sequence[Block], taken: KeepFlags, last: int, kind: PageKind) -> None:
    """Unset the blocks after the content, up to block `last`, and the lines of the site itself everywhere.

    Readers' comments end the content of all but a discussion. A paragraph of an article that is one link leads to
    another article.
    """
    comments, is_article = kind != "discussion", kind == "article"
    if comments and (start := _start_of_comments(blocks, taken)) is not None:
        taken[start:] = [False] * (len(taken) - start)
    ends = [
        number
        for number, block in enumerate(blocks)
        if taken[number] and cues.ends_content(block.text, comments=comments)
    ]
    if len(ends) < MANY:
        enough = max(BEFORE * _size(blocks, taken), MIN_BEFORE)
        sizes = [
            0,
            *accumulate(
                block.length if is_taken else 0 for block, is_taken in zip(blocks, taken, strict=True)
            ),
        ]
        end = next(
            (
                number
                for number in ends
                if sizes[number] >= enough and (is_article or not _goes_on(blocks, taken, number, last))
            ),
            last,
        )
        taken[end:last] = [False] * max(0, last - end)
    else:
        for number in ends:
            taken[number] = False
    for number, block in enumerate(blocks):
        if taken[number] and (is_furniture(block) or (is_article and _is_link(block))):
            taken[number] = False


def _goes_on(blocks: Sequence[Block], taken: KeepFlags, end: int, last: int) -> bool:
    """Return whether running text follows a line that can also be a heading within the content: neither links nor texts
    with dates, as recommendations and comments have.
    """
    if not cues.may_be_heading(blocks[end].text):
        return False
    rest = [
        block
        for block, is_taken in zip(blocks[end + 1 : last], taken[end + 1 : last], strict=True)
        if is_taken
    ]
    size = sum(block.length for block in rest)
    return (
        size >= MIN_REST
        and sum(block.length for block in rest if block.length >= MIN_BEFORE) >= BEFORE * size
        and sum(block.link for block in rest) <= STRAY * size
        and not any(
            block.box.comments
            or (block.length < DATELINE and cues.has_date(block.text))
            or cues.is_signed(block.text)
            for block in rest
        )
    )


def _start_of_comments(blocks: Sequence[Block], taken: KeepFlags) -> int | None:
    """Return the number of the line that introduces readers' comments, however much longer than the text before them
    they are, if chosen blocks after it are signed; return None if there is no such line.
    """
    signed = [number for number, block in enumerate(blocks) if taken[number] and cues.is_signed(block.text)]
    if len(signed) < MIN_SIGNED:
        return None
    before, following = 0, iter(signed)
    next_signed = next(following)
    for number in range(signed[-MIN_SIGNED]):
        block = blocks[number]
        while next_signed < number:
            next_signed = next(following)
        # A link to the comments is often above the article.
        if (
            before >= MIN_BEFORE
            and next_signed - number <= AHEAD
            and 2 * block.link < block.length
            and cues.introduces_comments(block.text)
        ):
            return number
        before += block.length if taken[number] and block.tag[0] != "h" else 0
    return None


def _is_link(block: Block) -> bool:
    return (
        block.tag == "p"
        and block.length < cues.MAX_CUE_LENGTH
        and block.link >= block.length - MAX_BESIDE_LINK
        and not block.text.endswith((".", "!", ":"))
    )


def is_furniture(block: Block) -> bool:
    """Return whether a block is a line of the site itself, the credit of a picture, or a pointer to another page."""
    text = block.text
    return (
        cues.is_junk(text)
        or cues.is_caption(text)
        or cues.is_copyright(text)
        or cues.is_entry_note(text)
        or (block.tag not in STRUCTURED and cues.is_date_stamp(text))
        or (block.tag == "p" and 2 * block.link > block.length and cues.is_pointer(text))
    )


def add_headline(blocks: Sequence[Block], taken: KeepFlags, title: str, excluded: Sequence[bool]) -> None:
    """Add the headline, and the teaser between it and the content; remove a little text before the headline.

    Boxes in `excluded` hold no teaser, and no headline that is not a heading.
    """
    first = next((number for number, is_taken in enumerate(taken) if is_taken), None)
    head = None if first is None else headline(title, blocks, first)
    if first is None or head is None:
        return
    if head < first:
        if excluded[blocks[head].box.number] and blocks[head].tag[0] != "h":
            return
        taken[head] = True
        is_near = first - head <= AHEAD
        for number in range(head + 1, first) if is_near or _are_together(blocks[head], first) else ():
            block = blocks[number]
            taken[number] = (
                not excluded[block.box.number]
                and _is_lead(block)
                and (is_near or (block.length >= LEAD and cues.is_sentence(block.text)))
            )
    elif head > first:
        remove_before(blocks, taken, head)


def remove_before(blocks: Sequence[Block], taken: KeepFlags, head: int) -> None:
    """Remove a little text before the headline, which is block `head`."""
    if _size(blocks[:head], taken) < STRAY * _size(blocks, taken):
        taken[:head] = [False] * head
        taken[head] = True


def _size(blocks: Sequence[Block], taken: KeepFlags) -> int:
    return sum(block.length for block, is_taken in zip(blocks, taken, strict=False) if is_taken)


def _are_together(head: Block, first: int) -> bool:
    """Return whether one of the next boxes around the headline holds the first block of the content too."""
    return any(
        box.first <= first < box.last and box.tag not in {"body", "html"}
        for box in islice(ancestors(head.box), MAX_LEVELS)
    )


def _is_lead(block: Block) -> bool:
    """Return whether a block before the content is a teaser, and not a byline, a date or a line of the site."""
    return (
        block.length < MAX_LEAD_LENGTH
        and block.link < 0.3 * block.length
        and (block.tag[0] == "h" or block.length > 40)
        and not is_furniture(block)
        and not cues.ends_content(block.text)
        and not cues.is_byline(block.text)
        and not (block.length < DATELINE and cues.has_date(block.text))
    )
