"""Decide whether the characters of a page are those that a reader sees, and normalize text.

1. Fonts need not state which characters their glyphs are. Such a page then gives numbers of glyphs: characters of
   private use, U+FFFD, control characters, `(cid:12)`, or letters shifted in the alphabet.
2. Shifted letters show in the share of vowels, because every language has vowels. Only Latin letters are checked, and
   only on pages with enough of them. Numbers, codes and scripts without vowels are never garbled for this reason.
3. Text is NFC. Ligatures and the forms of Arabic letters (Unicode, Alphabetic Presentation Forms and Arabic
   Presentation Forms) become their letters, because they are glyphs and not characters. Spaces of any width become one
   space. Soft hyphens, byte order marks and control characters are removed. The dots that lead to a page number become
   three dots.
"""

import re
import unicodedata

MAX_UNREADABLE = 0.2
"""Share of characters of private use, U+FFFD and control characters beyond which a page is garbled."""
MAX_UNMAPPED = 0.5
"""Share of words with an unmapped font beyond which a page is suspect. Fonts of the standard encodings need no map."""
ENOUGH_LETTERS = 150
"""Latin letters in the distinct words of a page from which on the share of vowels is significant."""
FEW_LETTERS = 12
"""The same number for a page whose fonts have no map."""
MIN_VOWELS = 0.25
"""Minimum share of vowels in the Latin letters. Of 310 languages in Latin script, the smallest share is 0.33. With
letters shifted by three, as in the most common fonts without a map, most languages have 0.13.
"""

_UNREADABLE = re.compile(
    "[\ue000-\uf8ff\ufffd\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\U000f0000-\U0010ffff]|\\(cid:\\d+\\)"
)
_LEFT_OUT = re.compile("[\u00ad\ufeff\u200b\u2060\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_SPACES = re.compile("[^\\S\n]+")
_LEADERS = re.compile(r"(?: ?[.…·]){5,}")
_FORMS = re.compile("[\ufb00-\ufb4f]|[\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]+")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_WORD = re.compile(r"[^\W\d_]+")
_WIDE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_ACCENTS = {
    "\u00a8": "\u0308",
    "\u00af": "\u0304",
    "\u00b4": "\u0301",
    "\u00b8": "\u0327",
    "\u02c6": "\u0302",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02d9": "\u0307",
    "\u02da": "\u030a",
    "\u02dc": "\u0303",
    "\u02dd": "\u030b",
}
_ACCENTED = re.compile(rf"([{''.join(_ACCENTS)}])([A-Za-z\u0131\u0237])")
_VOWELS = frozenset("aeiouyæøœıəɛɔ")


def is_garbled(text: str, *, unmapped: float) -> bool:
    """Return whether the text of a page differs from what a reader sees. `unmapped` is the share of words without a
    map.
    """
    characters = len("".join(text.split()))
    if not characters:
        return False
    unreadable = sum(len(found[0]) for found in _UNREADABLE.finditer(text))
    if unreadable > MAX_UNREADABLE * characters:
        return True
    # Each word counts once, because words that a page repeats distort the statistic.
    latin = _LATIN.findall(" ".join(sorted(set(_WORD.findall(text.lower())))))
    enough = ENOUGH_LETTERS
    if unmapped > MAX_UNMAPPED:
        # Glyph numbers were taken for characters, which is right only if the font numbers its glyphs by a common
        # encoding.
        if max(len(_LATIN.findall(text)), len(_WIDE.findall(text))) < 0.5 * characters:
            return True
        enough = FEW_LETTERS
    if len(latin) < enough:
        return False
    bare = unicodedata.normalize("NFD", "".join(latin))
    return sum(letter in _VOWELS for letter in bare) < MIN_VOWELS * len(latin)


def normal(text: str) -> str:
    """Return the normalized text (rule 3), without white space at the ends of lines; line feeds stay. Idempotent."""
    if not (text.isascii() and text.isprintable() and "  " not in text):
        # A removed character may separate a letter from its accent, and NFC yields letters that take an accent (the K
        # of the Kelvin sign).
        text = unicodedata.normalize("NFC", _LEFT_OUT.sub("", text))
        text = _ACCENTED.sub(_accented, _FORMS.sub(_letters, text))
        text = _SPACES.sub(" ", unicodedata.normalize("NFC", text))
    if "..." in text or ". ." in text:
        text = _LEADERS.sub(" ...", text)
    return "\n".join(line.strip(" ") for line in text.split("\n"))


def _accented(found: re.Match[str]) -> str:
    """Join an accent with the letter after it: TeX's old fonts have accents as glyphs of their own before letters."""
    letter = {"\u0131": "i", "\u0237": "j"}.get(found[2], found[2])
    whole = unicodedata.normalize("NFC", letter + _ACCENTS[found[1]])
    return whole if len(whole) == 1 else found[0]


def _letters(forms: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", forms[0])
