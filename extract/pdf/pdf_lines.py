"""Join words into lines; words in another direction are kept apart.

1. Words that follow each other in the content stream and lie side by side form a line. A line that is written right to
   left or in several fonts thus keeps its order.
2. Pieces of a line that the content stream writes separately are joined if at most a space separates them. Pieces that
   are further apart may be other columns or cells: `reading_order` decides.
"""

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from thresher.extract.pdf.page_text import Line, Word

WIDEST_SPACE = 1.2
"""Largest space, in word heights, between consecutive words of a line; the spaces of justified lines are smaller."""
NARROW_SPACE = 0.5
"""Largest space, in word heights, between separately written pieces of a line; smaller than between columns."""
OVERLAP = 0.5
"""Minimum vertical overlap of two words of a line, as a share of the smaller height; indices and exponents are shifted.
"""
TOUCHING = 0.12
"""Largest space, in word heights, between separately written letters of one word."""

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = re.compile(r"[^\W\d_]")


def build_lines(words: Sequence[Word]) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """Return the lines in the main direction of the page, and one text for each other direction."""
    if not words:
        return (), ()
    directions = Counter(word.angle for word in words)
    if len(directions) > 1:
        for word in words:
            directions[word.angle] += len(word.text) - 1
    main = min(directions, key=lambda angle: (-directions[angle], angle))
    kept = _joined(_pieces(_turned(words, main)))
    others = sorted(angle for angle in directions if angle != main)
    aside = tuple(
        "\n".join(piece.text for piece in _pieces(_turned(words, angle)))
        if angle % 90 == 0
        else " ".join(word.text for word in words if word.angle == angle)
        for angle in others
    )
    return tuple(kept), aside


def _turned(words: Sequence[Word], angle: int) -> Iterable[Word]:
    """Return the words of one direction in the coordinates of someone who reads that direction."""
    of_it = (word for word in words if word.angle == angle)
    if angle == 90:
        # Text runs upwards: up becomes right, and right becomes down.
        return (w._replace(left=-w.bottom, right=-w.top, top=w.left, bottom=w.right) for w in of_it)
    if angle == 180:
        return (w._replace(left=-w.right, right=-w.left, top=-w.bottom, bottom=-w.top) for w in of_it)
    if angle == 270:
        return (w._replace(left=w.top, right=w.bottom, top=-w.right, bottom=-w.left) for w in of_it)
    return of_it


def _pieces(words: Iterable[Word]) -> list[Line]:
    found: list[Line] = []
    texts: list[str] = []
    left = top = right = bottom = 0.0
    before: Word | None = None
    for word in words:
        if before is not None and _follows(word, before):
            gap = max(word.left - before.right, before.left - word.right)
            low = max(word.bottom - word.top, before.bottom - before.top)
            texts.append(word.text if gap < TOUCHING * low and _is_wide(before, word) else f" {word.text}")
            left, right = min(left, word.left), max(right, word.right)
            top, bottom = min(top, word.top), max(bottom, word.bottom)
        else:
            if texts:
                found.append(Line(left, top, right, bottom, "".join(texts)))
            texts = [word.text]
            left, top, right, bottom = word.left, word.top, word.right, word.bottom
        before = word
    if texts:
        found.append(Line(left, top, right, bottom, "".join(texts)))
    return found


def _is_wide(before: Word, word: Word) -> bool:
    """Return whether both words are in a script without spaces."""
    return before.text[-1] >= "\u2e80" and word.text[0] >= "\u2e80"


def _follows(word: Word, before: Word) -> bool:
    low = min(word.bottom - word.top, before.bottom - before.top)
    common = min(word.bottom, before.bottom) - max(word.top, before.top)
    if common < OVERLAP * low or common <= 0:
        return False
    room = WIDEST_SPACE * max(word.bottom - word.top, before.bottom - before.top)
    if word.left >= before.left:
        return word.left - before.right <= room
    return before.left - word.right <= room and word.right <= before.right


def _joined(pieces: list[Line]) -> list[Line]:
    """Return the pieces, with those of a line joined that at most a space separates."""
    found: list[Line] = []
    for row in rows(pieces):
        row.sort(key=lambda piece: piece.left)
        current = row[0]
        for piece in row[1:]:
            height = min(piece.bottom - piece.top, current.bottom - current.top)
            gap = piece.left - current.right
            if -0.3 * height <= gap <= NARROW_SPACE * height:
                current = _sum(current, piece, "" if gap < TOUCHING * height else " ")
            else:
                found.append(current)
                current = piece
        found.append(current)
    return found


def rows(pieces: Iterable[Line]) -> list[list[Line]]:
    """Return the pieces grouped by base line, from the top; each row keeps the given order."""
    found: list[list[Line]] = []
    middle = half = 0.0
    for piece in sorted(pieces, key=lambda piece: piece.top + piece.bottom):
        at = (piece.top + piece.bottom) / 2
        if found and at - middle <= half:
            found[-1].append(piece)
        else:
            found.append([piece])
            middle, half = at, max(0.5, 0.4 * (piece.bottom - piece.top))
    return found


def _sum(one: Line, other: Line, between: str) -> Line:
    right_to_left = is_right_to_left(one.text) and is_right_to_left(other.text)
    first, second = (other, one) if right_to_left else (one, other)
    return Line(
        min(one.left, other.left),
        min(one.top, other.top),
        max(one.right, other.right),
        max(one.bottom, other.bottom),
        f"{first.text}{between}{second.text}",
    )


def is_right_to_left(text: str) -> bool:
    """Return whether most letters are of a script from right to left (Unicode, blocks U+0590 to U+08FF)."""
    if text.isascii():
        return False
    those = len(_RIGHT_TO_LEFT.findall(text))
    return those > 0 and 2 * those > len(_LETTER.findall(text))


def height(pieces: Sequence[Line]) -> float:
    """Return the median height of the pieces; 0 if there are none."""
    return statistics.median(piece.bottom - piece.top for piece in pieces) if pieces else 0.0
