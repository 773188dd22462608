"""The shingles of a text, written down once more: character by character, as the rules say, and slowly.

`filters.dedup.signature` has the rules, and computes the same on arrays. The audit and the tests compare the two, so
this module shares no code with it but the list of scripts without spaces.
"""

import re

from thresher.core.unicode14 import category, known, normalize
from thresher.filters.words import UNSPACED

SHINGLE_WORDS = 5
_UNSPACED = re.compile(f"[{UNSPACED}]")


def reference_words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    found, word, is_single = list[str](), "", False
    folded = normalize("NFKC", known(normalize("NFKC", text)).casefold())
    for character in folded:
        kind = category(character)[0]
        if kind not in "LNM":
            found, word = _with(found, word), ""
            continue
        is_unspaced = _UNSPACED.match(character) is not None
        is_mark = is_unspaced and kind == "M"
        begins = not is_mark and (is_unspaced or is_single)
        if begins:
            found, word = _with(found, word), ""
        is_single = is_unspaced
        word += character
    return _with(found, word)


def reference_shingles(text: str) -> set[str]:
    """Return the shingles of a text: five words in a row, or all words if there are fewer."""
    words = reference_words(text)
    if not words:
        return set()
    last = max(1, len(words) - SHINGLE_WORDS + 1)
    return {" ".join(words[start : start + SHINGLE_WORDS]) for start in range(last)}


def _with(found: list[str], word: str) -> list[str]:
    if word:
        found.append(word)
    return found
