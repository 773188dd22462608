"""What a page may ask of a parser.

HTML parsers look through the attributes that a tag has for each one more, through the open elements for each block
that begins, through a menu's options for each one more: a page made for it costs minutes a megabyte. A page beyond
these bounds is not parsed at all.
The bounds depend on the page alone and are far beyond real ones: of 2,961 the most are 1,206 attributes (of what
looks like a tag in a script) and 1.4 million steps.
"""

import re

LONGEST = 10_000_000
"""Characters."""
MOST_ATTRIBUTES = 4_000
"""In one tag: some 25 ms."""
MOST_STEPS = 50_000_000
"""Open elements passed, and for an option the options before it, summed over all start tags: half a second."""
FEW_TAGS = 7_000
"""Not worth counting: less than `MOST_STEPS` whatever they do."""

# Tags and attributes as the HTML standard tokenizes them; possessive, so that no page makes it look back.
_ATTRIBUTE = (
    r"[\s/]*+(?:=[^\s/>=]*+|[^\s/>=]++)"
    r"""(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)?+"""
)
_TAG = re.compile(
    rf"<[a-zA-Z][^\s/>]*+(?:(?:{_ATTRIBUTE}){{0,{MOST_ATTRIBUTES}}}+(?=[\s/]*+[^\s/>])()|(?:{_ATTRIBUTE})*+)"
)
_QUOTED_END = re.compile(r"""=\s*+(?:"[^">]*+>|'[^'>]*+>)""")
FEW_QUOTED_ENDS = 3
_NAMES = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_CLOSED_BY_THE_NEXT = frozenset(
    ("a", "button", "dd", "dt", "li", "optgroup", "option", "p", "rb", "rp", "rt", "rtc")
) | frozenset(("tbody", "td", "tfoot", "th", "thead", "tr"))
_NEVER_OPEN = _VOID | _CLOSED_BY_THE_NEXT


def beyond(html: str) -> str | None:
    """The reason code of the bound that the page is beyond (`too_large`, `too_complex`, `too_deep`), or None."""
    if len(html) > LONGEST:
        return "too_large"
    if _may_be_too_complex(html) and any(match.end(1) >= 0 for match in _TAG.finditer(html)):
        return "too_complex"
    if html.count("<") > FEW_TAGS and _steps(html) > MOST_STEPS:
        return "too_deep"
    return None


def _may_be_too_complex(html: str) -> bool:
    """False only where no tag has more than a few times `MOST_ATTRIBUTES`; a tenth of the time of looking.

    An attribute takes two characters, and a tag ends at a `>` unless that stands in quotes. So a page whose stretches
    between `>` are all short, and hardly a `>` of which is quoted, has no such tag.
    """
    longest = max(map(len, html.split(">")))
    return longest > 2 * MOST_ATTRIBUTES or len(_QUOTED_END.findall(html)) > FEW_QUOTED_ENDS


def _steps(html: str) -> int:
    depth = steps = options = 0
    for closes, written in _NAMES.findall(html):
        if closes:
            depth -= depth > 0
            continue
        name = written.lower()
        options += name == "option"
        steps += depth + options * (name == "option")
        depth += name not in _NEVER_OPEN
    return steps
