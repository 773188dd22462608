"""Classes of characters that rules count: marks that end a sentence, and punctuation."""

import re
from functools import cache

from thresher.core.unicode14 import category

_TERMINALS = (
    "\u0021\u002e\u003f\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d-\u083e\u0964-\u0965\u104a-\u104b"
    "\u1362\u1367-\u1368\u166e\u1735-\u1736\u17d4-\u17d6\u17d9-\u17da\u1803\u1809\u1944-\u1945\u1aa8-\u1aab"
    "\u1b5a-\u1b5b\u1b5e-\u1b5f\u1b7d-\u1b7e\u1c3b-\u1c3c\u1c7e-\u1c7f\u203c-\u203d\u2047-\u2049\u2e2e\u2e3c"
    "\u2e53-\u2e54\u3002\ua4ff\ua60e-\ua60f\ua6f3\ua6f7\ua876-\ua877\ua8ce-\ua8cf\ua92f\ua9c8-\ua9c9\uaa5d-\uaa5f"
    "\uaaf0-\uaaf1\uabeb\ufe52\ufe56-\ufe57\uff01\uff0e\uff1f\uff61\U00010a56-\U00010a57\U00010f55-\U00010f59"
    "\U00010f86-\U00010f89\U00011047-\U00011048\U000110be-\U000110c1\U00011141-\U00011143\U000111c5-\U000111c6"
    "\U000111cd\U000111de-\U000111df\U00011238-\U00011239\U0001123b-\U0001123c\U000112a9\U0001144b-\U0001144c"
    "\U000115c2-\U000115c3\U000115c9-\U000115d7\U00011641-\U00011642\U0001173c-\U0001173e\U00011944\U00011946"
    "\U00011a42-\U00011a43\U00011a9b-\U00011a9c\U00011c41-\U00011c42\U00011ef7-\U00011ef8\U00011f43-\U00011f44"
    "\U00016a6e-\U00016a6f\U00016af5\U00016b37-\U00016b38\U00016b44\U00016e98\U0001bc9f\U0001da88"
)


def _members(ranges: str) -> frozenset[str]:
    pairs = re.finditer(r"(.)(?:-(.))?", ranges)
    return frozenset(
        chr(place) for pair in pairs for place in range(ord(pair[1]), ord(pair[2] or pair[1]) + 1)
    )


SENTENCE_TERMINALS = _members(_TERMINALS)
"""Characters with the property Sentence_Terminal (Unicode 15.0, PropList.txt), and the Khmer marks U+17D6, U+17D9 and
U+17DA, which datatrove counts too.
"""
PUNCTUATION = SENTENCE_TERMINALS | _members(
    "\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e\u00ab\u00b4\u00bb\u2013-\u2014\u2019\u201c-\u201e\u2026\u2236"
    "\u2501\u25ba\u3001\u3008-\u300d\u3010-\u3011\uff05\uff08-\uff09\uff0c\uff11\uff1a-\uff1b\uff5e"
    "\u0000-\u0008\u000b-\u001f\u007f-\u009f"
)
"""Characters of which a token may consist without being a word: ASCII punctuation, control characters, and the marks of
CCNet's normalisation (Wenzek et al. 2020), which datatrove counts as punctuation.
"""


def is_word(token: str) -> bool:
    """Return whether a token has a character that is not punctuation."""
    return token.isalnum() or not PUNCTUATION.issuperset(token)


def has_letter(token: str) -> bool:
    """Return whether a token has a letter."""
    return token.isalpha() or any(map(str.isalpha, token))


@cache
def is_symbol(character: str) -> bool:
    """Return whether a character is a symbol such as ©, an arrow or an emoji (Unicode category So)."""
    return category(character) == "So"


def is_punctuation(token: str) -> bool:
    """Return whether all characters of a token are of a Unicode category of punctuation (P)."""
    return all(category(character)[0] == "P" for character in token)
