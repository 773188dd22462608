"""Words as DCLM counts them: two kinds, and neither is that of `filters.word_tokens`.

Source: mlfoundations/dclm, the function split_words of baselines/mappers/core_utils.py. Both kinds leave out what does
not begin with a letter or a digit.

1. The length of a page and the words that its lines lose are counted with fastText's tokenizer: runs of characters
   between ASCII white space or NUL. A no-break space does not end a run.
2. n-grams are those of the words of Unicode's default segmentation (UAX 29, section 4.1). It joins letters, digits and
   underscores, letters at `:`, `.` and apostrophes, digits at `,`, `;`, `.` and apostrophes; each letter of a script
   without spaces is a word, but a run of katakana is one.
"""

import re
from itertools import chain, islice
from operator import itemgetter

import numpy as np

from thresher.filters.lexicon import IntArray
from thresher.filters.text import MAX_NUMBERED, AnalyzedText, pieces
from thresher.filters.words import MARKS, UNSPACED

DCLM_WORDS_VERSION = 1
"""Version of these rules. It belongs in the recipe of every rule that counts such words."""
_ODD_SPACE = re.compile(r"[^\S \n\r\t\v\f]|\0")
_FIRST = itemgetter(0)
_RUN_START = re.compile(r"(?<![^ \n\r\t\v\f\0])[^\W_]")

_JOINER = "_\u202f\u203f\u2040\u2054\ufe33\ufe34\ufe4d-\ufe4f\uff3f"
"""ExtendNumLet."""
_KATAKANA = (
    "\u3031-\u3035\u309b\u309c\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u32d0-\u32fe\u3300-\u3357\uff66-\uff9d"
)
_NUMBERS = (
    "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u215f\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793"
)
"""Numbers that are no digits; each is a word."""
_EXTEND = f"{MARKS}\u00ad\u061c\u200c-\u200f\u202a-\u202e\u2060-\u2064\uff9e\uff9f\U0001f3fb-\U0001f3ff"
"""Extend, Format and ZWJ: they belong to the character before them."""
_IN_LETTERS = "'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
_IN_DIGITS = (
    "',.;\u037e\u0589\u060c\u060d\u066c\u07f8\u2018\u2019\u2024\u2044\ufe10\ufe14\ufe50\ufe52\ufe54"
    "\uff07\uff0c\uff0e\uff1b"
)
"""MidLetter and MidNum, each with MidNumLet and the apostrophe."""


def _word(extend: str) -> str:
    """Return the pattern of a word. A mark before a character that joins is taken for part of a letter and a digit."""
    more = f"[{extend}]*+" if extend else ""
    letter = rf"(?![{UNSPACED}{_KATAKANA}{_NUMBERS}])[^\W\d_]"
    return (
        rf"(?:(?![{UNSPACED}{_KATAKANA}{_NUMBERS}])\w|[{_JOINER}]){more}"
        rf"(?:(?:(?![{UNSPACED}{_KATAKANA}{_NUMBERS}])\w|[{_JOINER}]){more}"
        rf"|(?:(?<=[^\W\d_])|(?<=[{extend or 'a'}]))[{_IN_LETTERS}]{more}(?={letter})"
        rf"|(?:(?<=\d)|(?<=[{extend or '0'}]))[{_IN_DIGITS}]{more}(?=\d)|)*+"
        rf"|[{_KATAKANA}]{more}(?:[{_KATAKANA}]{more}|)*+|(?=\w)[{UNSPACED}{_NUMBERS}]{more}"
    )


_ASCII_WORD = re.compile(r"\w(?:\w|(?<=[^\W\d_])['.:](?=[^\W\d_])|(?<=\d)[',.;](?=\d)|)*+", re.ASCII)
_PLAIN_WORD, _MARKED_WORD = (re.compile(_word(extend)) for extend in ("", _EXTEND))
_MARK = re.compile(f"[{_EXTEND}]")


def word_count(text: AnalyzedText) -> int:
    """Return the number of words of the first kind; in scripts without spaces, that of `filters.word_tokens`."""
    return count_runs(text.known) if text.is_spaced else text.word_count


def count_runs(text: str) -> int:
    """Return the number of words of the first kind."""
    if _ODD_SPACE.search(text):
        return sum(1 for _ in _RUN_START.finditer(text))
    return sum(sum(map(str.isalnum, map(_FIRST, piece.split()))) for piece in pieces(text))


def numbered_words(text: str) -> tuple[IntArray, IntArray]:
    """Return a number for each of the first `MAX_NUMBERED` words of the second kind, and the characters of each. Equal
    words have equal numbers.
    """
    numbers: dict[str, int] = {}
    words = list(islice(chain.from_iterable(map(segmented, pieces(text))), MAX_NUMBERED))
    found = np.array([numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int64)
    lengths = np.array(list(map(len, numbers)), dtype=np.int64)
    return found, lengths[found]


def segmented(text: str) -> list[str]:
    """Return the words of the second kind, in order."""
    if text.isascii():
        found = _ASCII_WORD.findall(text)
    else:
        found = (_MARKED_WORD if _MARK.search(text) else _PLAIN_WORD).findall(text)
    return [word for word in found if word[0].isalnum()]
