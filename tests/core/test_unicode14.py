"""The version of Unicode plays no role: every property that the product uses is that of Unicode 14, on every Python."""

import hashlib
import unicodedata

import pytest

from thresher.core.unicode14 import ADDED, category, is_lower, known, normalize, original

CODE_POINTS = [*range(0xD800), *range(0xE000, 0x34000), *range(0xE0000, 0xE0200)]
"""Planes 0 to 3 and the tags; what lies between and beyond is private or has no characters."""
UNICODE_14 = (
    "1ba89ed2f309 092c43f18a32 013010a20859 a8277a8d3105 8aea77de195c b2f9b90d07eb 0b5e2ead06dd 71b68a010c77 7c9382fd46ba "
    "1408b9f0f5f6 99c65bec7b9c 6beb5d4b8c48 6fff4373712d"
)
"""A digest for each property on CPython 3.11, whose data are those of Unicode 14.0.0."""
LATER = "\U0001fa77\u0cf3\u1c89\ua7cb\U00010d50\U0001e4f1\U00031350"
"""A heart, a sign, letters with case, a digit and an ideograph; each came with Unicode 15 or 16."""


def properties(characters):
    """All that the product asks the interpreter about characters, but for `upper` and `title`: a sequence a property."""
    seen = known(characters)
    yield map(category, characters)
    yield map(unicodedata.combining, seen)
    yield [seen.lower(), seen.casefold()]
    yield (normalize(form, "\0".join(characters)) for form in ("NFC", "NFD", "NFKC"))
    for is_so in (
        str.isalpha,
        str.isalnum,
        str.isdigit,
        str.isdecimal,
        str.isspace,
        str.isupper,
        is_lower,
        str.isprintable,
    ):
        yield map(int, map(is_so, seen))
    yield map(len, f"a{'a'.join(seen)}a".splitlines())


def test_every_property_is_that_of_unicode_14():
    digests = [
        hashlib.sha256(original(" ".join(map(str, each))).encode()).hexdigest()[:12]
        for each in properties("".join(map(chr, CODE_POINTS)))
    ]
    assert " ".join(digests) == UNICODE_14


def test_the_table_has_every_version_up_to_that_of_the_interpreter():
    assert unicodedata.unidata_version in {"14.0.0", *ADDED}


def test_a_known_text_is_as_long_and_has_no_letter_that_came_later():
    text = f"plain {LATER} words"
    assert len(known(text)) == len(text)
    assert not any(character.isalnum() or character.lower() != character for character in known(LATER))
    assert original(known(text)) == text
    assert known(known(text)) == known(text)


@pytest.mark.parametrize(
    "text", ["plain", "Größe – “so” 😀", "обычный текст", "这是中文", "\ud800 alone", ""]
)
def test_an_ordinary_text_is_known_as_it_is(text):
    assert known(text) is text
    assert original(text) is text


def test_marks_that_came_later_keep_their_place_in_a_normal_form():
    text = "e\u0897\u0301"  # no accent moves across a mark that Unicode 14 does not know
    assert normalize("NFC", text) == text
