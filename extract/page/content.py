"""Choose the blocks of a page that are its content. Pure.

The content is the best box of the page (`scores`) and the similar boxes beside it. If the best box does not hold nearly
all of the page's text, other boxes of text are content too. Menus, forms and lists of links within these boxes are not.
Finally, `trim` removes blocks because of their words. If a pass finds too little, the next pass rules out fewer boxes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice, takewhile

from thresher.extract.page import cues, trim
from thresher.extract.page.boxes import HEADINGS, Block, Box, ParsedPage
from thresher.extract.page.headline import AHEAD, heading_of_page, headline
from thresher.extract.page.last_resort import choose_little, is_stray
from thresher.extract.page.main_element import whole_main
from thresher.extract.page.page_kind import PageKind
from thresher.extract.page.posts import choose_posts
from thresher.extract.page.reference import choose_reference
from thresher.extract.page.scores import Scores, ancestors, excluded_boxes

ENOUGH = 250
"""Characters of content with which the result of a pass is accepted."""
MAX_NAVIGATION, MAX_NAVIGATION_SHARE = 1_000, 0.2
"""Characters of running text in a box that is marked as navigation, and their share of those of the page, from which on
the mark is ignored if a first pass finds too little: such a box has the content.
"""
MAX_LINKED_CONTENT = 0.95
"""Share of links in content from which on it is a list of links, which is never content."""
LITTLE = 100
"""Minimum number of characters of the best pass if none has `ENOUGH`."""
LITTLE_SHARE = 0.3
"""Minimum size of the best pass, relative to the text beside links, if none has `ENOUGH`."""
PASSES = ((True, True, True), (False, True, True), (False, False, True), (False, False, False))
"""For each pass: whether unlikely boxes are ruled out, whether names count, and whether the best box is cleaned."""
LONG, FAIR = 80, 40
"""Minimum characters of a block that reads like text: in general, and if it ends like a sentence."""
MAX_LINKED = 0.33
"""Maximum share of links in the characters of a block that reads like text."""
CLEANED = frozenset(("form", "fieldset", "table", "ul", "ol", "div", "section", "dl", "header"))
"""Tags of boxes that may be clutter within the content."""
MAX_DIALOG = 1_500
"""Characters of a dialog with a cookie notice at most."""
NOTICE_PAGE_SHARE = 0.5
"""Share of cookie notices in the text of a page from which on the page is about cookies."""
WHOLE_PAGE_SHARE = 0.9
"""Share of the page's text beside links that a box must have if the page is taken as a whole."""
MIN_BEST_BOX_SHARE = 0.3
"""Share of the page's text beside links below which the best box is too small for a page that is not marked as an
article.
"""
NEARLY_ALL, WITH_HEADLINE = 0.85, 0.3
"""Share of the page's text with which the best box suffices: in general, and if the headline precedes it directly."""
MIN_CHARACTERS_WITH_HEADLINE = 300
"""Minimum number of characters of a best box for which `WITH_HEADLINE` applies."""
MIN_INNER = 0.25
"""Minimum size of the content around the headline, relative to content elsewhere, which it replaces."""
MAX_GAP = 0.2
"""Running text between the headline and the best box, relative to the best box, from which on other boxes hold content
too.
"""
MIN_GAIN, MIN_TEXT_SHARE, MIN_RELATIVE_SIZE = 0.1, 0.75, 0.1
"""For other boxes of text: the minimum text that an outer box adds, relative to the best box; the minimum share of text
in a box; and the minimum text of a box, relative to the best box.
"""

HEADING_REACH = 5
"""Blocks before a box in which its heading is."""


def choose_content(page: ParsedPage, title: str, kind: PageKind) -> list[Block]:
    """Return the blocks of the content, in their order; return all blocks if there is hardly any content.

    In a discussion, readers' comments are content. Discussions, references and products are taken as a whole, not only
    the parts that read like an article; so is the main element of a page of many parts (`main_element`).
    """
    comments = (
        box
        for box in page.boxes
        if box.comments and kind != "discussion" and box.last - box.first < len(page.blocks)
    )
    excluded = excluded_boxes(page.boxes, comments)
    # The characters of running text in each block.
    good = [block.length if is_text(block) else 0 for block in page.blocks]
    notices = _notices(page, sum(good))
    for number in notices:
        good[number] = 0
    if kind == "reference" and (found := choose_reference(page, title, notices)):
        return found
    if kind == "discussion" and (found := choose_posts(page, title, good, excluded)):
        return found
    found = _choose_text(page, title, kind, good, excluded, notices)
    return whole_main(page, title, kind, found, good, notices) or found


def _choose_text(
    page: ParsedPage,
    title: str,
    kind: PageKind,
    good: Sequence[int],
    excluded: Sequence[bool],
    notices: frozenset[int],
) -> list[Block]:
    """Return the best box of text with what belongs to it; return what little there is if no pass finds enough."""
    sums = [0, *accumulate(good)]
    most = max(MAX_NAVIGATION, MAX_NAVIGATION_SHARE * sums[-1])
    navigation = (box for box in page.boxes if box.is_navigation and sums[box.last] - sums[box.first] < most)
    structural = excluded_boxes(page.boxes, navigation, excluded)
    head = heading_of_page(title, page.blocks)
    content_of = partial(_content, title=title, kind=kind, excluded=excluded)
    best: list[Block] = []
    for strict, weighed, cleaned in PASSES:
        excluded_in_pass = _unlikely(page, good, structural, kind) if strict else structural
        scores = Scores(page, good, excluded_in_pass, notices, weighed=weighed)
        found = content_of(scores, cleaned=cleaned)
        if _is_list_of_links(found) or (head is not None and is_stray(page, title, head, found)):
            continue
        if characters(found) >= ENOUGH:
            return _below_headline(page, head, good, excluded, found, content_of) or found
        if characters(found) > characters(best):
            best = found
    little = choose_little(page, title, excluded, notices)
    return best if characters(best) >= max(LITTLE, LITTLE_SHARE * characters(little)) else little


def _is_list_of_links(blocks: Sequence[Block]) -> bool:
    return sum(block.link for block in blocks) > MAX_LINKED_CONTENT * sum(block.length for block in blocks)


def _below_headline(
    page: ParsedPage,
    head: int | None,
    good: Sequence[int],
    excluded: Sequence[bool],
    found: list[Block],
    content_of: Callable[..., list[Block]],
) -> list[Block]:
    """Return the content of the innermost box around the headline that has enough running text, if `found` has nothing
    of this box.
    """
    if head is None or page.blocks[head].tag == "h3":
        return []
    sums = [0, *accumulate(good)]
    for scope in ancestors(page.blocks[head].box):
        if scope.tag in {"body", "html"}:
            return []
        if sums[scope.last] - sums[scope.first] >= ENOUGH:
            break
    else:
        return []
    chosen = set(map(id, found))
    inside = (*page.blocks[scope.first : head], *page.blocks[head + 1 : scope.last])
    if any(id(block) in chosen for block in inside):
        return []
    others = (box for box in page.boxes if box.last <= scope.first or box.first >= scope.last)
    outside = excluded_boxes(page.boxes, others, excluded)
    scores = Scores(page, good, outside, frozenset(), weighed=True)
    inner = content_of(scores, cleaned=True)
    return inner if characters(inner) >= MIN_INNER * characters(found) else []


def characters(blocks: Sequence[Block]) -> int:
    """Return the characters of the blocks, written one a line."""
    return sum(block.length + 1 for block in blocks)


def is_text(block: Block) -> bool:
    """Return whether a block reads like running text."""
    return (
        (block.length >= LONG or (block.length >= FAIR and cues.is_sentence(block.text)))
        and block.link < MAX_LINKED * block.length
        and not cues.is_junk(block.text)
    )


def _notices(page: ParsedPage, text: int) -> frozenset[int]:
    """Return the numbers of the blocks of cookie notices, with all of a dialog around a notice; return none if the page
    is about cookies.
    """
    blocks = page.blocks
    found = {number for number, block in enumerate(blocks) if cues.is_notice(block.text)}
    if not found or sum(blocks[number].length for number in found) >= NOTICE_PAGE_SHARE * text:
        return frozenset()
    sums = [0, *accumulate(block.length for block in blocks)]
    for number in sorted(found):
        for box in ancestors(blocks[number].box):
            inside = range(box.first, box.last)
            if len(inside) == len(blocks) or sums[box.last] - sums[box.first] > MAX_DIALOG:
                break
            if _has_controls(page, box):
                found.update(inside)
    return frozenset(found)


def _has_controls(page: ParsedPage, box: Box) -> bool:
    """Return whether a box has buttons or the like, also in the boxes within it."""
    if box.controls:
        return True
    inner = map(page.boxes.__getitem__, range(box.number + 1, len(page.boxes)))
    return any(each.controls for each in takewhile(lambda each: each.depth > box.depth, inner))


def _unlikely(page: ParsedPage, good: Sequence[int], excluded: Sequence[bool], kind: PageKind) -> list[bool]:
    """Return for each box whether it is ruled out: it is in `excluded`, or its names suggest other parts of the page.

    A box that has too large a share of the text is not ruled out for its names.
    """
    is_discussion = kind == "discussion"
    sums = [0]
    for block, size in zip(page.blocks, good, strict=True):
        sums.append(sums[-1] + (0 if excluded[block.box.number] else size))
    unlikely = (
        box
        for box in page.boxes
        if box.unlikely
        and sums[box.last] - sums[box.first] < box.unlikely * sums[-1]
        and not (is_discussion and box.comments)
    )
    return excluded_boxes(page.boxes, unlikely, excluded)


def _content(
    scores: Scores, title: str, kind: PageKind, excluded: Sequence[bool], *, cleaned: bool
) -> list[Block]:
    top = scores.best()
    if top is None:
        return []
    if _is_whole(kind) or (
        kind == "page"
        and _unlinked_characters(scores, top)
        < MIN_BEST_BOX_SHARE * _unlinked_characters(scores, scores.page.boxes[0])
    ):
        top = _widen(scores, top)
    blocks = scores.page.blocks
    taken = [False] * len(blocks)
    for box in (
        *_other_text_boxes(scores, top, title),
        *_further_parts(scores, top),
        *_siblings(scores, top),
    ):
        taken[box.first : box.last] = scores.live[box.first : box.last]
    if cleaned:
        for box in scores.page.boxes:
            if box.tag in CLEANED and _is_clutter(scores, box, top, kind):
                for number in range(box.first, box.last):
                    taken[number] = taken[number] and blocks[number].tag == "pre" and box.tag != "form"
    trim.trim_end(blocks, taken, top.last, kind)
    trim.add_headline(blocks, taken, title, excluded)
    return [block for block, is_taken in zip(blocks, taken, strict=True) if is_taken]


def _is_whole(kind: PageKind) -> bool:
    return kind not in {"article", "page"}


def _unlinked_characters(scores: Scores, box: Box) -> int:
    """Return the number of characters that are not links."""
    return scores.text[box.number] - scores.link[box.number]


def _widen(scores: Scores, top: Box) -> Box:
    """Return the innermost of the best box and its ancestors that has nearly all of the page's text beside links."""
    outermost = scores.page.boxes[0]
    enough = WHOLE_PAGE_SHARE * _unlinked_characters(scores, outermost)
    return next(
        (box for box in (top, *ancestors(top)) if _unlinked_characters(scores, box) >= enough), outermost
    )


def _other_text_boxes(scores: Scores, top: Box, title: str) -> Iterator[Box]:
    """Yield the boxes outside of the best one that hold text too, if the best box does not suffice."""
    first = next((number for number in range(top.first, top.last) if scores.live[number]), top.first)
    head = headline(title, scores.page.blocks, first)
    size = scores.good(top)
    is_after_headline = (
        head is not None
        and abs(first - head) < AHEAD
        and size > MIN_CHARACTERS_WITH_HEADLINE
        and scores.good_between(head, first) < MAX_GAP * size
    )
    if size >= (WITH_HEADLINE if is_after_headline else NEARLY_ALL) * scores.all_good:
        return
    inner = top
    for box in ancestors(top):
        if scores.good(box) - scores.good(inner) > MIN_GAIN * size:
            for child in box.children:
                good = scores.good(child)
                if (
                    child is not inner
                    and good
                    and good >= max(MIN_TEXT_SHARE * scores.text[child.number], MIN_RELATIVE_SIZE * size)
                ):
                    yield child
        inner = box


def _siblings(scores: Scores, top: Box) -> Iterator[Box]:
    """Yield the best box, its siblings that have a fifth of its score, are paragraphs of text, or are further sections
    like it, and the headings between these.
    """
    least = max(10, scores.score(top) * 0.2)
    heading, has_begun = None, False
    for box in top.parent.children if top.parent is not None else [top]:
        text, density = scores.text[box.number], scores.density(box)
        if (
            box is top
            or (scores.is_scored(box) and scores.score(box) >= least)
            or (box.tag == "p" and (density < 0.25 if text > LONG else text > 0 and not density))
            or _is_section_like(scores, box, top)
        ):
            if heading is not None:
                yield heading
            yield box
            heading, has_begun = None, True
        else:
            heading = box if has_begun and box.tag in HEADINGS else None


def _further_parts(scores: Scores, top: Box) -> Iterator[Box]:
    """Yield the boxes elsewhere in the same article that are further sections like the best one: neither a copy of a
    part for small screens nor another article.
    """
    if not top.names:
        return
    blocks, article = scores.page.blocks, _article_of(top)
    shown = {block.text for block in blocks[top.first : top.last]}
    for box in scores.page.boxes:
        if (
            _is_section_like(scores, box, top)
            and (box.last <= top.first or box.first >= top.last)
            and _article_of(box) is article
            and not _heads_article(blocks[max(top.last, box.first - HEADING_REACH) : box.first])
        ):
            texts = [block.text for block in blocks[box.first : box.last]]
            if sum(len(text) for text in texts if text in shown) < NEARLY_ALL * sum(map(len, texts)):
                shown.update(texts)
                yield box


def _heads_article(before: Sequence[Block]) -> bool:
    """Return whether the last heading of these blocks is that of another article: of the first rank, or a link."""
    heading = next((block for block in reversed(before) if block.tag in HEADINGS), None)
    return heading is not None and (heading.tag == "h1" or 2 * heading.link > heading.length)


def _article_of(box: Box) -> Box | None:
    return next((around for around in ancestors(box) if around.tag == "article"), None)


def _is_section_like(scores: Scores, box: Box, top: Box) -> bool:
    """Return whether a box has the tag and the names of the best one, and is mostly running text too."""
    return (
        box.tag == top.tag
        and box.names == top.names
        and (box.names != "" or box.tag == "section")
        and scores.good(box) >= max(ENOUGH, MIN_TEXT_SHARE * scores.text[box.number])
    )


def _heads_text(scores: Scores, box: Box) -> bool:
    """Return whether a short box without links precedes running text in a box of the same class."""
    blocks = scores.page.blocks
    if not box.names or scores.link[box.number] or box.last == len(blocks):
        return False
    following = blocks[box.last].box
    return any(
        other.parent is box.parent and other.names == box.names and scores.good(other) > 0
        for other in (following, *islice(ancestors(following), 2))
    )


def _is_clutter(scores: Scores, box: Box, top: Box, kind: PageKind) -> bool:
    """Return whether a box within the chosen boxes is not content: a menu, a form, a list of links."""
    if box is top or (box.first <= top.first and box.last >= top.last) or box.first == box.last:
        return False
    number, whole = box.number, _is_whole(kind)
    weight = box.weight if scores.weighed and not (kind == "discussion" and box.comments) else 0
    text = scores.text[number]
    if weight < 0 and (
        box.is_boilerplate
        or scores.good(box) < max(MIN_TEXT_SHARE * text, MIN_RELATIVE_SIZE * scores.good(top))
    ):
        return True
    if scores.commas[number] >= 10:
        return False
    density = scores.density(box)
    if box.controls > scores.paragraphs[number] / 3:
        return True
    if box.tag in {"ul", "ol"}:
        return density > 0.5
    return (
        scores.items[number] - 100 > scores.paragraphs[number]
        or (
            box.tag != "table"
            and text < 25
            and box.images != 1
            and not whole
            and (box.parent is None or box.parent.tag not in HEADINGS)
            and not _heads_text(scores, box)
        )
        or density > (0.5 if whole or box.tag == "table" or weight >= 25 else 0.2)
    )
