"""Split a text into words, in the same way on every machine. Every shingle uses these words.

1. A word is a run of letters and digits with the marks that belong to them (vowel signs, accents). A single apostrophe
   joins two parts (`don't`), and a dot or comma joins digits (`3.14`, `1,000`).
2. In scripts that put no space between words (Han, kana, Thai, Lao, Myanmar, Khmer), each letter with its marks is a
   word.
3. The marks that Ethiopic and Tibetan put between words count as spaces.

The functions take texts that `core.unicode14.known` returned. `WORDS_VERSION` names these rules and the version of
Unicode. It belongs in every recipe that counts words. Rules count tokens, which are finer (`filters.word_tokens`).
"""

import re
from itertools import groupby

from thresher.core.unicode14 import VERSION, category

WORDS_VERSION = f"words@2 {VERSION}"

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Blocks of the scripts of rule 2 (Unicode Blocks.txt)."""


def _marks() -> str:
    """Return all combining marks as ranges of a character class. All of them lie in planes 0, 1 and 14."""
    places = (place for planes in (range(0x300, 0x20000), range(0xE0100, 0xE01F0)) for place in planes)
    marks = [place for place in places if category(chr(place))[0] == "M"]
    runs = (list(run) for _, run in groupby(enumerate(marks), key=lambda pair: pair[1] - pair[0]))
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)


def _word(marks: str) -> str:
    within = r"['’][^\W_]+|(?<=\d)[.,]\d[^\W_]*"
    return rf"[^\W_]+(?:[{marks}][^\W_]*|{within})*" if marks else rf"[^\W_]+(?:{within})*"


MARKS = _marks()
"""All combining marks, as ranges of a character class."""
_MARK = re.compile(f"[{MARKS}]")
# Patterns with marks take twice the time, and most texts have no marks.
_PLAIN_WORD, _MARKED_WORD = (re.compile(_word(marks)) for marks in ("", MARKS))
_UNSPACED_WORD = re.compile(rf"(?![{MARKS}])(?=\w)[{UNSPACED}][{MARKS}]*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD_MARKS = dict.fromkeys(map(ord, "\u1361\u0f0b"), " ")
_WORD_MARK = re.compile("[\u1361\u0f0b]")


def _other_bytes() -> bytes:
    """Return the bytes with which no character in UTF-8 begins that `spaced` looks for."""
    ranges = re.findall("(.)-(.)", f"{UNSPACED}\u1361-\u1361\u0f0b-\u0f0b")
    begins = {byte for first, last in ranges for byte in range(first.encode()[0], last.encode()[0] + 1)}
    return bytes(set(range(256)) - begins)


_OTHER_BYTES = _other_bytes()


def words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    if text.isascii():
        return _PLAIN_WORD.findall(text)
    text = spaced(text)
    return (_MARKED_WORD if _MARK.search(text) else _PLAIN_WORD).findall(text)


def spaced(text: str) -> str:
    """Return a text with spaces around each word of a script without spaces, and in place of Ethiopic and Tibetan marks
    between words.
    """
    # Most texts have no character that begins as these do, and looking at bytes takes a tenth of the time of a search.
    if not text.encode(errors="surrogatepass").translate(None, _OTHER_BYTES):
        return text
    if _UNSPACED.search(text):
        text = _UNSPACED_WORD.sub(r" \g<0> ", text)
    return text.translate(_WORD_MARKS) if _WORD_MARK.search(text) else text


def is_unspaced(word: str) -> bool:
    """Return whether a word belongs to a script without spaces (rule 2)."""
    return _UNSPACED.match(word) is not None and word[0].isalnum()
