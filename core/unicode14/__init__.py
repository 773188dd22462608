"""Text as Unicode 14 has it, on every Python. Which version of Unicode the interpreter knows plays no role.

CPython 3.11 has Unicode 14, 3.12 has 15.0, 3.13 has 15.1 and 3.14 has 16. A character that came after 14 is a letter, a
digit or a symbol to some of them, and nothing to the others. So what asks the interpreter about the characters of a
text (`re`, `str.lower`, `unicodedata`) asks about `known(text)`, in which a character of no version of Unicode stands
for each of these. The stored text keeps its own characters.

Few properties of the characters of Unicode 14 have changed since: the categories that `category` knows, and the letters
that `is_lower` knows. `tests/core/test_unicode14.py` compares every property that the product uses.
"""

import re
import unicodedata
from functools import cache
from itertools import groupby
from typing import Literal

VERSION = "unicode 14.0.0"
"""Names the properties of characters. It belongs in every recipe that depends on them."""
ADDED = {
    "15.0.0": (
        "cf3 ece 10efd-10eff 1123f-11241 11b00-11b09 11f00-11f10 11f12-11f3a 11f3e-11f59 1342f "
        "13439-13455 1b132 1b155 1d2c0-1d2d3 1df25-1df2a 1e030-1e06d 1e08f 1e4d0-1e4f9 1f6dc 1f774-1f776 "
        "1f77b-1f77f 1f7d9 1fa75-1fa77 1fa87-1fa88 1faad-1faaf 1fabb-1fabd 1fabf 1face-1facf 1fada-1fadb "
        "1fae8 1faf7-1faf8 2b739 31350-323af"
    ),
    "15.1.0": ("2ffc-2fff 31ef 2ebf0-2ee5d"),
    "16.0.0": (
        "897 1b4e-1b4f 1b7f 1c89-1c8a 2427-2429 31e4-31e5 a7cb-a7cd a7da-a7dc 105c0-105f3 10d40-10d65 "
        "10d69-10d85 10d8e-10d8f 10ec2-10ec4 10efc 11380-11389 1138b 1138e 11390-113b5 113b7-113c0 113c2 "
        "113c5 113c7-113ca 113cc-113d5 113d7-113d8 113e1-113e2 116d0-116e3 11bc0-11be1 11bf0-11bf9 11f5a "
        "13460-143fa 16100-16139 16d40-16d79 18cff 1cc00-1ccf9 1cd00-1ceb3 1e5d0-1e5fa 1e5ff 1f8b2-1f8bb "
        "1f8c0-1f8c1 1fa89 1fa8f 1fabe 1fac6 1fadc 1fadf 1fae9 1fbcb-1fbef"
    ),
    "17.0.0": (
        "88f c5c cdc 1acf-1add 1ae0-1aeb 20c1 2b96 a7ce-a7cf a7d2 a7d4 a7f1 fbc3-fbd2 fd90-fd91 fdc8-fdce "
        "10940-10959 10ec5-10ec7 10ed0-10ed8 10efa-10efb 11b60-11b67 11db0-11ddb 11de0-11de9 16ea0-16eb8 "
        "16ebb-16ed3 16ff2-16ff6 187f8-187ff 18d09-18d1e 18d80-18df2 1ccfa-1ccfc 1ceba-1ced0 1cee0-1cef0 "
        "1e6c0-1e6de 1e6e0-1e6f5 1e6fe-1e6ff 1f6d8 1f777-1f77a 1f8d0-1f8d8 1fa54-1fa57 1fa8a 1fa8e 1fac8 "
        "1facd 1faea 1faef 1fbfa 2b73a-2b73f 2cea2-2cead 323b0-33479"
    ),
    "18.0.0": (
        "558 58b-58c 5c8-5c9 b53-b54 1ade-1adf 1aec-1af0 208f 209d-209f 20c2-20c4 2e60-2e63 a7dd a7e2 "
        "ab6c-ab6d 107bb-107bf 10ec9-10ecf 10ed9-10eee 10ef0-10ef9 11b0a 11df0-11df1 1246f 12475-1247f "
        "12550-12686 18cd6-18cda 18d1f-18d20 18e00-19191 191a0-191d2 1b123-1b128 1b168 1ced2-1ced4 "
        "1cedd-1cedf 1cef1-1cefd 1d127-1d128 1d1eb-1d1ff 1d250-1d281 1d6a6 1db00-1db1c 1df1f-1df24 "
        "1df2b-1df81 1df90-1df96 1dfcd-1dfff 1f1ae 1f6d9 1f7da-1f7db 1f7f1-1f7ff 1fa8b-1fa8d 1facc 1fadd "
        "1faeb 1faf9-1fafa 2b81e 3d000-3fc3f"
    ),
}
"""Code points that each version of Unicode added, in hexadecimal. `tests/core/unicode_table.py` makes this table from
unicodedata2 15.0.0, 15.1.0, 16.0.0, 17.0.0 and 18.0.0, beside the data of CPython 3.11.
"""
_OFFSET = 0x40000
"""From a character to its replacement. Unicode has no characters in the planes 4 to 13, and no plans for them."""
_FIRST_BYTE = b"\xf1"
"""With it begin all replacements in UTF-8."""


def known(text: str) -> str:
    """Return the text with each character that came after Unicode 14 replaced; equally long, and the same if it has
    none. An ordinary text costs about a nanosecond a byte.
    """
    if text.isascii() or not _BEGINNINGS or not has_later(text.encode(errors="surrogatepass")):
        return text
    return text.translate(_replacements())


def original(text: str) -> str:
    """Return the text for which `known` returned another one. On every Python, a replacement that was in the text
    itself becomes a character too.
    """
    if text.isascii() or _FIRST_BYTE not in text.encode(errors="surrogatepass"):
        return text
    return text.translate(_originals())


def has_later(utf8: bytes) -> bool:
    """Return whether a text in UTF-8 may have characters that `known` replaces; most texts without them have not."""
    return any(lead in utf8 and _finder(lead).search(utf8) is not None for lead in _BEGINNINGS)


def category(character: str) -> str:
    """Return the general category of a character."""
    return _CATEGORIES.get(character) or unicodedata.category(known(character))


def normalize(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return the normal form of a text. Characters that came later stay as they are."""
    return original(unicodedata.normalize(form, known(text)))


def is_lower(text: str) -> bool:
    """Return `text.islower()` of a text that `known` returned."""
    return (
        text.islower()
        if text.isascii() or not _MODIFIERS.search(text)
        else _MODIFIERS.sub("", text).islower()
    )


def upper(text: str) -> str:
    """Return `text.upper()`. A letter whose capital came later stays as it is."""
    made = text.upper()
    if known(made) == made:
        return made
    return "".join(each if known(each.upper()) != each.upper() else each.upper() for each in text)


def is_printable(text: str) -> bool:
    """Return whether all characters are printable. Those that came later are not, because no older font has them."""
    return known(text).isprintable()


_CATEGORIES = {"\U0001171e": "Mn", "\u0295": "Ll"}
"""Categories in Unicode 14 of characters whose category has changed since."""
_MODIFIERS = re.compile("[\u10fc\ua7f2-\ua7f4\uab69]")
"""Letters without case in Unicode 14, and small letters since 15."""


def _later(newest: str) -> list[range]:
    """Return the code points that the versions of Unicode up to the newest have, and Unicode 14 has not."""
    ranges = [
        each
        for version, added in ADDED.items()
        if _release(version) <= _release(newest)
        for each in added.split()
    ]
    ends = (each.partition("-") for each in ranges)
    return [range(int(first, 16), int(last or first, 16) + 1) for first, _, last in ends]


def _release(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@cache
def _replacements() -> dict[int, int]:
    """Return the replacement of each character that the interpreter knows and Unicode 14 does not."""
    return {point: point + _OFFSET for each in _later(unicodedata.unidata_version) for point in each}


@cache
def _originals() -> dict[int, int]:
    return {point + _OFFSET: point for each in _later(max(ADDED, key=_release)) for point in each}


def _beginnings() -> dict[bytes, list[bytes]]:
    """Return the first three bytes in UTF-8 of all characters that `_replacements` has, by the first."""
    points = (
        each if each[0] < 0x10000 else (*each[::64], each[-1]) for each in _later(unicodedata.unidata_version)
    )
    starts = {chr(point).encode()[:3] for some in points for point in some}
    return {lead: list(some) for lead, some in groupby(sorted(starts), lambda start: start[:1])}


@cache
def _finder(lead: bytes) -> re.Pattern[bytes]:
    """Return the pattern of these first bytes. It begins with one byte, so the search skips to the next of them."""
    ends = []
    for second, some in groupby(_BEGINNINGS[lead], lambda start: start[1:2]):
        third = re.escape(b"".join(start[2:] for start in some))
        ends.append(re.escape(second) + (b"[" + third + b"]" if third else b""))
    return re.compile(re.escape(lead) + b"(?:" + b"|".join(ends) + b")")


_BEGINNINGS = _beginnings()
