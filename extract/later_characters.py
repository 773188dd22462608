"""Pages as Unicode 14 has them (`core.unicode14`), whichever way they write a character."""

import re

from thresher.core.unicode14 import known

_REFERENCE = re.compile(rb"&(?=#)#(?:[xX]0*+([0-9a-fA-F]{3,5})(?![0-9a-fA-F])|0*+([0-9]{4,6})(?![0-9]));?+")
"""A numeric reference. The expression begins with one byte, for which the search is fastest."""
_ESCAPE = re.compile(r"(?<!\\)\\u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})")
"""A character in a string of JSON."""


def known_page(utf8: bytes) -> bytes:
    """Return a page in UTF-8 with all characters known, and each reference to a character that came after Unicode 14
    replaced by what stands for it.
    """
    if b"&#" in utf8:
        utf8 = _REFERENCE.sub(_known_reference, utf8)
    return known(utf8.decode()).encode() if not utf8.isascii() else utf8


def known_json(text: str) -> str:
    """Return a text in JSON with all characters known, and the escapes of later ones replaced likewise."""
    return known(_ESCAPE.sub(_known_escape, text) if "\\u" in text else text)


def _known_reference(found: re.Match[bytes]) -> bytes:
    number = int(found[1], 16) if found[1] else int(found[2])
    if number > 0x10FFFF or 0xD7FF < number < 0xE000 or known(chr(number)) == chr(number):
        return found[0]
    return known(chr(number)).encode()


def _known_escape(found: re.Match[str]) -> str:
    unit = int(found[0][2:6], 16)
    if len(found[0]) > 6:
        unit = 0x10000 + ((unit - 0xD800) << 10) + int(found[0][8:], 16) - 0xDC00
    elif 0xD7FF < unit < 0xE000:
        return found[0]
    return found[0] if known(chr(unit)) == chr(unit) else known(chr(unit))
