"""Bound the work that a page can cause in the parser.

For each end tag that closes no open element, the HTML parser (libxml2) searches all open elements. A malicious page can
therefore cost minutes per megabyte. A page beyond these bounds is not parsed at all. The bounds depend only on the page
and are far beyond real pages.
"""

import re

LONGEST = 10_000_000
"""Characters of a page at most."""
MAX_STEPS = 100_000_000
"""Open elements that the parser may pass for end tags that close none of them: about a quarter of a second."""
FEW_TAGS = 14_000
"""Number of tags up to which nothing is counted: half of them closing and half open cannot exceed `MAX_STEPS`."""

_NAMES = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)


def exceeded_bound(html: str) -> str | None:
    """Return the reason code of the bound that the page exceeds (`too_large`, `too_complex`); return None if it is
    within.
    """
    if len(html) > LONGEST:
        return "too_large"
    if html.count("<") > FEW_TAGS and _steps(html) > MAX_STEPS:
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
