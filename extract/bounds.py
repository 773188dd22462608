"""What a page may ask of a parser.

An HTML parser (libxml2) looks through the open elements for each end tag that closes none of them: a page made for it costs minutes a
megabyte. A page beyond these bounds is not parsed at all. They depend on the page alone and are far beyond real ones.
"""

import re

LONGEST = 10_000_000
"""Characters."""
MOST_STEPS = 100_000_000
"""Open elements passed by end tags that close none of them: some quarter of a second."""
FEW_TAGS = 14_000
"""Not worth counting: of so many tags no half makes more than `MOST_STEPS` with the other half."""

_NAMES = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)


def exceeded_bound(html: str) -> str | None:
    """The reason code of the bound that the page is beyond (`too_large`, `too_complex`), or None."""
    if len(html) > LONGEST:
        return "too_large"
    if html.count("<") > FEW_TAGS and _steps(html) > MOST_STEPS:
        return "too_complex"
    return None


def _steps(html: str) -> int:
    opened: list[str] = []
    counted: dict[str, int] = {}
    steps = 0
    for closes, written in _NAMES.findall(html):
        name = written.lower()
        if not closes:
            if name not in _VOID:
                opened.append(name)
                counted[name] = counted.get(name, 0) + 1
        elif not counted.get(name):
            steps += len(opened)
        else:
            while (closed := opened.pop()) != name:
                counted[closed] -= 1
            counted[name] -= 1
    return steps
