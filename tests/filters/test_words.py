"""Texts are split into words, in scripts with spaces and without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.filters import words as splitting
from thresher.filters.text import AnalyzedText
from thresher.filters.words import is_unspaced, spaced, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't stop, she said.", ["Don't", "stop", "she", "said"]),
        ("‘we’re’ well-known", ["we’re", "well", "known"]),
        ("3.14 1,000 v2.0 end.", ["3.14", "1,000", "v2.0", "end"]),
        ("snake_case ____", ["snake", "case"]),
        ("Größe, cafe\u0301", ["Größe", "cafe\u0301"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("漢字とABC字", ["漢", "字", "と", "ABC", "字"]),
        ("2020年3月", ["2020", "年", "3", "月"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ሰላም፡ዓለም።", ["ሰላም", "ዓለም"]),
        ("", []),
    ],
)
def test_words(text, found):
    assert words(text) == found


@given(st.text(max_size=300))
def test_no_letter_or_digit_is_lost(text):
    assert [c for c in text if c.isalnum()] == [c for word in words(text) for c in word if c.isalnum()]


@pytest.mark.parametrize(
    ("token", "without_spaces"), [("字", True), ("か", True), ("ที่", True), ("word", False)]
)
def test_scripts_without_spaces(token, without_spaces):
    assert is_unspaced(token) is without_spaces


@pytest.mark.parametrize(
    ("text", "spaced"),
    [("plain words", True), ("漢字 and so on they go", True), ("漢字かな混じり文 ok", False)],
)
def test_a_text_is_spaced_as_most_of_its_words_are(text, spaced):
    assert AnalyzedText(text=text, language="", language_score=0.0).is_spaced is spaced


def test_no_character_that_spacing_looks_for_is_overlooked():
    every = [chr(point) for point in range(0x110000)]
    looked_for = [c for c in every if splitting._UNSPACED.match(c) or splitting._WORD_MARK.match(c)]
    assert len(looked_for) > 50_000
    assert all(c.encode().translate(None, splitting._OTHER_BYTES) for c in looked_for)
    assert spaced("a \ud800 b") == "a \ud800 b"
