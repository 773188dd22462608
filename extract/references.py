"""Character references of HTML, as a browser reads them, in any text.

`html.unescape` reads `&#` and digits with `int`, which raises `ValueError` beyond 4,300 digits: one reference in one page would end
whatever reads it. Here every reference has a character, and time is proportional to the text.
"""

import html
import re

_DECIMAL = re.compile(r"&#([0-9]{8,}+)")
"""A number longer than any character's: U+10FFFF is 1114111."""
_BEYOND = "&#1114112"
"""The first number that is no character's: read as U+FFFD (HTML standard, numeric character reference end state)."""


def unescape(text: str) -> str:
    """Return the text with its character references replaced, numbers of any length among them. Never raises."""
    return html.unescape(_DECIMAL.sub(_bounded, text) if "&#" in text else text)


def _bounded(reference: re.Match[str]) -> str:
    digits = reference[1].lstrip("0")
    return f"&#{digits or '0'}" if len(digits) < 8 else _BEYOND
