"""Draw the funnel of a dataset as an SVG for its cards, with nothing but text: the same counts give the same bytes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

PICTURE_NAME = "funnel.svg"
ROW, BAR = 22, 14
"""Height of a stage, and of its bar."""
NAMES, BARS, LABELS = 290, 460, 150
"""Width of the names, of a bar with all records, and of the counts behind it."""
MAX_NAME = 44
"""Characters of a name that fit."""
WAITING, LEFT_OUT, KEPT = "#d9e2ec", "#c05621", "#2f855a"


def funnel_picture(stages: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the picture of the stages of a funnel (`stage`, `documents`, `share`); the last one is what is kept.

    A bar has the records that reach a stage, and in another colour those that it leaves out.
    """
    width, height = NAMES + BARS + LABELS, ROW * (len(stages) + 1)
    size = f'width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}'
    lines = (
        f'{head} font-family="sans-serif" font-size="12" role="img">',
        "<title>Records that each filter left out</title>",
        f'<rect {size} fill="#ffffff"/>',
        *_rows(stages),
        "</svg>\n",
    )
    return "\n".join(lines).encode()


def _rows(stages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    left = total = sum(stage["documents"] for stage in stages)
    for number, stage in enumerate(stages):
        count, is_last = stage["documents"], number == len(stages) - 1
        top = ROW * number + ROW // 2
        y, begin = top + (ROW - BAR) // 2, 0 if is_last else left - count
        name = "".join(letter if letter.isprintable() else " " for letter in str(stage["stage"]))
        short = name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"
        baseline = top + ROW // 2 + 4
        yield f'<text x="{NAMES - 8}" y="{baseline}" text-anchor="end">{escape(short)}</text>'
        yield _bar(0, left, total, y, WAITING)
        yield _bar(begin, count, total, y, KEPT if is_last else LEFT_OUT)
        label = f"{count:,} ({stage['share']:.1%})"
        yield f'<text x="{NAMES + BARS + 8}" y="{baseline}">{label}</text>'
        left -= count


def _bar(begin: int, count: int, total: int, y: int, colour: str) -> str:
    x, width = (NAMES * 10 + begin * BARS * 10 // max(total, 1)), count * BARS * 10 // max(total, 1)
    return f'<rect x="{x / 10}" y="{y}" width="{width / 10}" height="{BAR}" fill="{colour}"/>'
