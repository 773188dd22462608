"""Whether the characters of a page are those that are seen on it, and how they are written.

1. Fonts need not say which characters their glyphs are. What such a page gives is the numbers of glyphs: characters of
   private use, U+FFFD, controls, `(cid:12)`, or letters that are moved in the alphabet.
2. Moved letters show in what every language has: vowels. It is asked of Latin letters alone, and of pages that have
   enough of them. Numbers, codes and scripts that write no vowels are never called garbled for that.
3. Text is NFC. Ligatures and the forms of Arabic letters (Unicode, Alphabetic Presentation Forms and Arabic
   Presentation Forms) become their letters, as glyphs are no characters; spaces of any width become a space; soft
   hyphens, byte order marks and controls are left out; the dots that lead to a page number are three.
"""

import re
import unicodedata

MOST_UNREADABLE = 0.2
"""Share of characters of private use, U+FFFD and controls beyond which a page is garbled."""
MOST_UNMAPPED = 0.5
"""Share of words whose font does not say what they are. Fonts of the standard encodings need not say."""
ENOUGH_LETTERS = 150
"""Latin letters of the different words of a page from which on their vowels say something."""
FEW_LETTERS = 12
"""The same of a page whose fonts do not say what they are."""
FEWEST_VOWELS = 0.25
"""Share of the Latin letters. Of 310 languages in Latin script the fewest are 0.33; letters moved by three, as the
commonest fonts without a map have them, have 0.13 in most."""

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
    """Whether the text of a page is not what is seen on it. `unmapped` is the share of words that a font says nothing of."""
    characters = len("".join(text.split()))
    if not characters:
        return False
    unreadable = sum(len(found[0]) for found in _UNREADABLE.finditer(text))
    if unreadable > MOST_UNREADABLE * characters:
        return True
    # Each word once: what a page repeats, such as `text`, is no statistic.
    latin = _LATIN.findall(" ".join(sorted(set(_WORD.findall(text.lower())))))
    enough = ENOUGH_LETTERS
    if unmapped > MOST_UNMAPPED:
        # Numbers of glyphs are taken for characters: that may be right, but only in an order that everybody keeps to.
        if max(len(_LATIN.findall(text)), len(_WIDE.findall(text))) < 0.5 * characters:
            return True
        enough = FEW_LETTERS
    if len(latin) < enough:
        return False
    bare = unicodedata.normalize("NFD", "".join(latin))
    return sum(letter in _VOWELS for letter in bare) < FEWEST_VOWELS * len(latin)


def normal(text: str) -> str:
    """The text as it is to be read. Keeps line feeds; white space at the ends of lines is left out. A normal text stays as it is."""
    if not (text.isascii() and text.isprintable() and "  " not in text):
        # What is left out may part a letter from its accent, and NFC gives letters (K of the Kelvin sign) that take one.
        text = unicodedata.normalize("NFC", _LEFT_OUT.sub("", text))
        text = _ACCENTED.sub(_accented, _FORMS.sub(_letters, text))
        text = _SPACES.sub(" ", unicodedata.normalize("NFC", text))
    if "..." in text or ". ." in text:
        text = _LEADERS.sub(" ...", text)
    return "\n".join(line.strip(" ") for line in text.split("\n"))


def _accented(found: re.Match[str]) -> str:
    """TeX's old fonts have accents as glyphs of their own, in front of their letters."""
    letter = {"\u0131": "i", "\u0237": "j"}.get(found[2], found[2])
    whole = unicodedata.normalize("NFC", letter + _ACCENTS[found[1]])
    return whole if len(whole) == 1 else found[0]


def _letters(forms: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", forms[0])
