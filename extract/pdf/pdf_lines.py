"""Words to lines: what stands beside each other becomes one, what is written in another direction stands aside.

1. Words that follow each other in the page's program and stand beside each other are of one line: so a line that
   is written right to left, or in several fonts, keeps the order that it was written in.
2. Pieces of a line that the program wrote apart are joined where no more than a space parts them. What is further apart
   may be another column or cell: `order` decides.
"""

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from extract.pdf.page_text import Line, Word

WIDEST_SPACE = 1.2
"""Heights of a word between words that follow each other; those of justified lines are less."""
NARROW_SPACE = 0.5
"""Heights of a word between pieces that were written apart: less than between columns."""
OVERLAP = 0.5
"""Of the lower one's height, that words of a line have in common: indices and exponents stand higher or lower."""
TOUCHING = 0.12
"""Heights between letters of one word that the program wrote apart."""

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = re.compile(r"[^\W\d_]")


def build_lines(words: Sequence[Word]) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """The lines of the page in its main direction, and the text written in other directions, a text a direction."""
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
    """The words of one direction as someone sees them who reads it."""
    of_it = (word for word in words if word.angle == angle)
    if angle == 90:
        # Written upwards: what was up is to the right, what was to the right is below.
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
    """Whether both are in a script that is written without spaces."""
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
    """The same pieces, those of a line joined that no more than a space parts."""
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
    """The pieces that stand on one base line, from the top; within a row in the order that they were given."""
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
    """Whether most of its letters are Hebrew, Arabic, Syriac, Thaana or N'Ko (Unicode, blocks U+0590 to U+08FF)."""
    if text.isascii():
        return False
    those = len(_RIGHT_TO_LEFT.findall(text))
    return those > 0 and 2 * those > len(_LETTER.findall(text))


def height(pieces: Sequence[Line]) -> float:
    """What most of them are high."""
    return statistics.median(piece.bottom - piece.top for piece in pieces) if pieces else 0.0
