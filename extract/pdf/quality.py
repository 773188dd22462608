"""Whether the characters of a page are those that are seen on it, and how they are written.

1. Fonts need not say which characters their glyphs are. What such a page gives is the numbers of glyphs: characters of
   private use, U+FFFD, controls, `(cid:12)`, or letters that are moved in the alphabet.
2. Moved letters show in what every language has: vowels. It is asked of Latin letters alone, and of pages that have
   enough of them. Numbers, codes and scripts that write no vowels are never called garbled for that.
3. Text is NFC. Ligatures and the forms of Arabic letters (Unicode, Alphabetic Presentation Forms and Arabic
   Presentation Forms) become their letters, as glyphs are no characters; spaces of any width become a space; soft
   hyphens, byte order marks and controls are left out.
"""

import re
import unicodedata

MOST_UNREADABLE = 0.2
"""Share of characters of private use, U+FFFD and controls beyond which a page is garbled."""
MOST_UNMAPPED = 0.5
"""Share of words whose font does not say what they are. Fonts of the standard encodings need not say."""
ENOUGH_LETTERS = 150
"""Latin letters of a page from which on their vowels say something."""
FEW_LETTERS = 12
"""The same of a page whose fonts do not say what they are."""
FEWEST_VOWELS = 0.25
"""Share of the Latin letters. Of 310 languages in Latin script the fewest are 0.33; letters moved by three, as the
commonest fonts without a map have them, have 0.13 in most."""

_UNREADABLE = re.compile("[\ue000-\uf8ff\ufffd\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\U000f0000-\U0010ffff]|\\(cid:\\d+\\)")
_LEFT_OUT = re.compile("[\u00ad\ufeff\u200b\u2060\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_SPACES = re.compile("[^\\S\n]+")
_FORMS = re.compile("[\ufb00-\ufb4f]|[\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]+")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_WIDE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_VOWELS = frozenset("aeiouyæøœıəɛɔ")


def is_garbled(text: str, *, unmapped: float) -> bool:
    """Whether the text of a page is not what is seen on it. `unmapped` is the share of words that a font says nothing of."""
    characters = sum(not c.isspace() for c in text)
    if not characters:
        return False
    unreadable = sum(len(found[0]) for found in _UNREADABLE.finditer(text))
    if unreadable > MOST_UNREADABLE * characters:
        return True
    latin = _LATIN.findall(text)
    enough = max(ENOUGH_LETTERS, 0.4 * characters)
    if unmapped > MOST_UNMAPPED:
        # Numbers of glyphs are taken for characters: that may be right, but only by an order that everybody keeps to.
        wide = len(_WIDE.findall(text))
        if max(len(latin), wide) < 0.5 * characters:
            return True
        enough = FEW_LETTERS
    if len(latin) < enough:
        return False
    bare = unicodedata.normalize("NFD", "".join(latin).lower())
    return sum(letter in _VOWELS for letter in bare) < FEWEST_VOWELS * len(latin)


def normal(text: str) -> str:
    """The text as it is to be read. Keeps line feeds; white space at the ends of lines is left out."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip(" ")
    text = _FORMS.sub(_letters, text)
    text = _SPACES.sub(" ", _LEFT_OUT.sub("", unicodedata.normalize("NFC", text)))
    return "\n".join(line.strip(" ") for line in text.split("\n"))


def _letters(forms: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", forms[0])
