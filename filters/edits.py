"""Edit a text: `apply` edits to it, and `compose` two lists of edits into one.

A document never changes. A rule that removes lines or masks words says so in edits of the text that it saw, and the
verdict holds them as edits of the document's text. Edits are in order and do not overlap; two may touch.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from thresher.core import Edit


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Return the edited text. Raise `ValueError` if the edits overlap, are out of order or lie outside the text."""
    return "".join(_pieces(text, edits))


def compose(first: Sequence[Edit], then: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return edits of a text that do the same as the edits `first`, and then the edits `then` of the edited text.

    Edits that touch become one, and edits without any effect on the length or the place of a character are left out.
    Raise `ValueError` if the edits of a list overlap or are out of order.
    """
    check(first)
    check(then)
    return tuple(edit for edit in _composed(first, then) if edit.end > edit.start or edit.replacement)


def removals(spans: Iterable[tuple[int, int]]) -> tuple[Edit, ...]:
    """Return edits that remove spans of a text, which are in order; spans that touch give one edit."""
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        elif end > start:
            merged.append((start, end))
    return tuple(Edit(start, end) for start, end in merged)


def replacements(edits: Iterable[Edit]) -> Iterator[tuple[int, int]]:
    """Yield where the replacements of edits lie in the edited text."""
    shift = 0
    for edit in edits:
        start = edit.start + shift
        yield start, start + len(edit.replacement)
        shift += len(edit.replacement) - (edit.end - edit.start)


def keeping(text: str, spans: Iterable[tuple[int, int]], separator: str) -> Iterator[Edit]:
    """Yield edits that leave `spans` of a text, which are in order, with `separator` between them and nothing around.

    No edit touches a character within a span.
    """
    done, wanted = 0, ""
    for start, end in spans:
        if text[done:start] != wanted:
            yield Edit(done, start, wanted)
        done, wanted = end, separator
    if done < len(text):
        yield Edit(done, len(text))


def stripped(text: str, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Return edits that also remove the white space around the edited text."""
    edited = apply(text, edits)
    body = edited.strip()
    if len(body) == len(edited):
        return edits
    start = edited.index(body)
    return compose(edits, removals(((0, start), (start + len(body), len(edited)))))


def check(edits: Sequence[Edit]) -> None:
    """Raise `ValueError` if edits overlap, are out of order, or begin before the text."""
    for edit in edits:
        if not 0 <= edit.start <= edit.end:
            raise ValueError(f"an edit has the range {edit.start} to {edit.end}")
    for before, after in pairwise(edits):
        if after.start < before.end:
            raise ValueError(f"the edits at {before.start} and {after.start} overlap or are out of order")


def _pieces(text: str, edits: Sequence[Edit]) -> Iterator[str]:
    check(edits)
    if edits and edits[-1].end > len(text):
        raise ValueError(f"an edit ends at {edits[-1].end}, behind the text's {len(text)} characters")
    done = 0
    for edit in edits:
        yield text[done : edit.start]
        yield edit.replacement
        done = edit.end
    yield text[done:]


def _composed(first: Sequence[Edit], then: Sequence[Edit]) -> Iterator[Edit]:
    """Yield one edit for each group of edits that touch each other in the text between the two lists."""
    shift = 0
    """Length of the text between the lists up to here, minus that of the original."""
    at_first = at_then = 0
    while at_first < len(first) or at_then < len(then):
        starts = [first[at_first].start + shift] if at_first < len(first) else []
        starts += [then[at_then].start] if at_then < len(then) else []
        low = high = min(starts)
        before = shift
        mine: list[Edit] = []
        later: list[Edit] = []
        while True:
            if at_first < len(first) and first[at_first].start + shift <= high:
                edit = first[at_first]
                start = edit.start + shift
                mine.append(Edit(start, start + len(edit.replacement), edit.replacement))
                high = max(high, mine[-1].end)
                shift += len(edit.replacement) - (edit.end - edit.start)
                at_first += 1
            elif at_then < len(then) and then[at_then].start <= high:
                later.append(then[at_then])
                high = max(high, later[-1].end)
                at_then += 1
            else:
                break
        yield Edit(low - before, high - shift, _between(mine, later, low, high))


def _between(mine: Sequence[Edit], later: Sequence[Edit], low: int, high: int) -> str:
    """Return what stands in the place of a group: replacements of the first list, edited by the second."""
    middle, done = [], low
    for edit in mine:
        # Characters between replacements are those of the original. The second list replaces all of them.
        middle += [" " * (edit.start - done), edit.replacement]
        done = edit.end
    middle.append(" " * (high - done))
    shifted = [Edit(edit.start - low, edit.end - low, edit.replacement) for edit in later]
    return apply("".join(middle), shifted)
