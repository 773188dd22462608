"""Words that a line break divided are joined; words with a hyphen of their own keep it."""

import pytest

from tests.extract.pdf.paper import at
from tests.extract.pdf.test_pdf_text import read
from thresher.extract.pdf.hyphens import join_hyphenated, lexicon


@pytest.mark.parametrize(
    ("line", "following", "elsewhere", "whole"),
    [
        ("for exam-", "ple this", "", "for example this"),
        ("for exam\u2010", "ple this", "", "for example this"),
        ("for exam\ufffe", "ple this", "", "for example this"),
        ("for exam\u00ad", "ple this", "exam ple", "for example this"),
        ("a well-", "known man", "he is known, and well", "a well-known man"),
        ("a well-", "known man", "a well-known one", "a well-known man"),
        ("the light-", "house here", "a lighthouse, a light, a house", "the lighthouse here"),
        ("in Anglo-", "Saxon times", "", "in Anglo-Saxon times"),
        ("COVID-", "19 again", "", "COVID-19 again"),
        ("type B2-", "like things", "", "type B2-like things"),
        ("state-of-the-", "art things", "", "state-of-the-art things"),
        ("Sprach-", "wissenschaft", "", "Sprachwissenschaft"),
    ],
)
def test_what_a_hyphen_at_the_end_of_a_line_means(line, following, elsewhere, whole):
    assert f"{join_hyphenated(line, following, lexicon([elsewhere]))}{following}" == whole


@pytest.mark.parametrize("line", ["no hyphen", "a dash -", "a dash \u2013", "", "-"])
def test_without_a_hyphen_behind_a_word_there_is_nothing_to_join(line):
    assert join_hyphenated(line, "more", lexicon([])) is None


def test_parts_of_words_are_no_words_of_the_document():
    assert lexicon(["He saw exam-", "ple and light", "house"]).words == {"he", "saw", "and", "light", "house"}


def test_a_document_is_asked_for_its_own_words():
    lines = (
        "The keeper had a well-",
        "known book, of which many knew well and some had",
        "known for long, for exam-",
        "ple the reader.",
    )
    assert read(at(72, 700, *lines)).text == (
        "The keeper had a well-known book, of which many knew well and some had known for long, for example the reader."
    )
