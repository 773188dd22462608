"""Replace the character references of HTML in any text, as a browser does.

`html.unescape` reads the digits after `&#` with `int`, which raises `ValueError` beyond 4,300 digits: a single
reference on a page could end the program. Here every reference has a character, and time is proportional to the text.
"""

import html
import re

_DECIMAL = re.compile(r"&#([0-9]{8,}+)")
"""A number with more digits than any character has: U+10FFFF is 1114111."""
_BEYOND = "&#1114112"
"""The first number beyond all characters; it reads as U+FFFD (HTML standard, numeric character reference end state)."""


def unescape(text: str) -> str:
    """Return the text with its character references replaced, including numbers of any length. Never raise."""
    return html.unescape(_DECIMAL.sub(_bounded, text) if "&#" in text else text)


def _bounded(reference: re.Match[str]) -> str:
    digits = reference[1].lstrip("0")
    return f"&#{digits or '0'}" if len(digits) < 8 else _BEYOND
