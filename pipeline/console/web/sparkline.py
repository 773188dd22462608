"""`sparkline`: a line of numbers as an inline SVG picture. Pure."""

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 240, 36
POINTS = 120
"""Points of one picture; neighbouring numbers are averaged."""


def sparkline(values: Sequence[float], label: str) -> Markup:
    """Return a picture of the values, the oldest on the left, scaled from 0 to the largest. `label` says what it shows
    to a reader who cannot see it.
    """
    points = _averaged(values)
    top = max(points, default=0.0) or 1.0
    step = WIDTH / max(len(points) - 1, 1)
    heights = [HEIGHT - 2 - (HEIGHT - 4) * max(value, 0.0) / top for value in points]
    line = " ".join(f"{number * step:.1f},{height:.1f}" for number, height in enumerate(heights))
    area = f"0,{HEIGHT} {line} {(len(points) - 1) * step:.1f},{HEIGHT}" if len(points) > 1 else ""
    # Every part but the label is a number of ours; format() of Markup escapes the label.
    return Markup(
        '<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}" preserveAspectRatio="none">'
        '<polygon points="{}"/><polyline points="{}"/></svg>'
    ).format(WIDTH, HEIGHT, label, area, line if len(points) > 1 else "")


def _averaged(values: Sequence[float]) -> list[float]:
    size = -(-len(values) // POINTS) or 1
    groups = [values[first : first + size] for first in range(0, len(values), size)]
    return [sum(group) / len(group) for group in groups]


def share_bar(part: float, whole: float) -> Markup:
    """Return a bar whose filled part is the share. The number stands beside it, so the picture is hidden from readers
    who cannot see it.
    """
    width = 100 * min(max(part / whole, 0.0), 1.0) if whole else 0.0
    return Markup(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="100" height="8"/><rect class="part" width="{}" height="8"/></svg>'
    ).format(f"{width:.2f}")
