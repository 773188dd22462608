"""Remove headers, footers and page numbers: lines at the edge of a page that nearby pages repeat.

1. Only the outermost lines of a page are candidates, from the top and from the bottom inwards. Behind a line that
   stays, all lines stay.
2. A line is removed if at least `FEWEST` pages within reach (`REACH`) have its words, numbers aside, at the same
   height. This covers running titles of chapters, and different titles on left and right pages.
   A line of numbers alone is removed if each of them stays the same or counts the pages; otherwise it is a row of a
   table.
3. Page numbers of two consecutive pages, alone on their lines at the same height, are removed too.
4. Headers stand around a text. If most pages would be left with nothing, what they repeat is their text and stays.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from thresher.extract.pdf.page_text import Line, PdfPageText

EDGE = 3
"""Lines at each edge of a page that are candidates."""
FEWEST = 3
"""Pages that must repeat a line."""
REACH = 4
"""Distance in pages between two repetitions at most: allows for left and right pages and a picture between them."""
SHIFT = 8.0
"""Points by which the height of a repeated line may differ."""
LONGEST = 200
"""Characters of a repeated line at most; a longer line is text."""

_NUMBER = re.compile(r"\d{1,9}")
_LETTER = re.compile(r"[^\W\d_]")
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|seite|pagina|página|strana|стр\.?|p\.|s\.)\s*)?(\d{1,4})(?:\s*(?:/|of|von|de|sur"
    r"|di)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"[\W_]*[ivxlcdm]{1,7}[\W_]*", re.IGNORECASE)

PlacedLine = tuple[int, Line]
"""Number of a page among the given pages, and one of its lines."""


def remove_furniture(pages: Sequence[PdfPageText]) -> list[tuple[Line, ...]]:
    """Return the lines of each page without headers, footers and page numbers."""
    edges = [(_edge(page, from_top=True), _edge(page, from_top=False)) for page in pages]
    titles: set[tuple[int, int]] = set()
    numbers: set[tuple[int, int]] = set()
    for side in (0, 1):
        titles |= _repeated([edge[side] for edge in edges])
        numbers |= _numbers([edge[side] for edge in edges])
    found = _without(pages, edges, titles | numbers)
    if 2 * found.count(()) > len(pages):
        found = _without(pages, edges, numbers)
    return found if any(found) else [page.lines for page in pages]


def _without(
    pages: Sequence[PdfPageText],
    edges: Sequence[tuple[list[Line], list[Line]]],
    repeated: set[tuple[int, int]],
) -> list[tuple[Line, ...]]:
    """Return the lines of each page without the repeated ones at its edges."""
    found = []
    for number, page in enumerate(pages):
        removed: set[int] = set()
        for edge in edges[number]:
            for line in edge:
                if (number, id(line)) not in repeated:
                    break
                removed.add(id(line))
        found.append(tuple(line for line in page.lines if id(line) not in removed) if removed else page.lines)
    return found


def _edge(page: PdfPageText, *, from_top: bool) -> list[Line]:
    """Return the outermost lines, from the edge inwards."""
    lines = sorted(page.lines, key=lambda line: (line.top if from_top else -line.bottom, line.left))
    return lines[:EDGE]


def _key(line: Line) -> str:
    words = " ".join(line.text.lower().split())
    return "#" if _ROMAN.fullmatch(words) else _NUMBER.sub("#", words)


def _repeated(edges: Sequence[list[Line]]) -> set[tuple[int, int]]:
    places: dict[str, list[PlacedLine]] = defaultdict(list)
    for number, lines in enumerate(edges):
        for line in lines:
            if len(line.text) <= LONGEST:
                places[_key(line)].append((number, line))
    found: set[tuple[int, int]] = set()
    for same in places.values():
        for chain in _chains(same):
            if len({number for number, _ in chain}) >= FEWEST:
                found.update((number, id(line)) for number, line in chain)
    return found


def _chains(places: list[PlacedLine]) -> list[list[PlacedLine]]:
    """Return groups of places of one text at one height, each within reach of the place before; pages ascend."""
    open_: list[list[PlacedLine]] = []
    found: list[list[PlacedLine]] = []
    for number, line in places:
        open_ = [chain for chain in open_ if number - chain[-1][0] <= REACH]
        for chain in open_:
            last, above = chain[-1]
            if abs(above.top - line.top) <= SHIFT and _may_repeat(above.text, line.text, number - last):
                chain.append((number, line))
                break
        else:
            chain = [(number, line)]
            open_.append(chain)
            found.append(chain)
    return found


def _may_repeat(before: str, after: str, pages: int) -> bool:
    """Return whether lines that differ in their numbers alone may be the same title, so many pages apart."""
    if before == after or _LETTER.search(after):
        return True
    counts = zip(map(int, _NUMBER.findall(before)), map(int, _NUMBER.findall(after)), strict=False)
    return all(last - first in {0, pages} for first, last in counts)


def _numbers(edges: Sequence[list[Line]]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    before: list[tuple[int, Line]] = []
    for number, lines in enumerate(edges):
        now = [(int(match[1]), line) for line in lines if (match := _PAGE_NUMBER.fullmatch(line.text))]
        for count, line in now:
            for last, above in before:
                if count == last + 1 and abs(above.top - line.top) <= SHIFT:
                    found.update(((number - 1, id(above)), (number, id(line))))
        before = now
    return found
