"""The score of a page, from what was recorded of it and what its replay gave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.pipeline.qa.comparison import THRESHOLD, Observations, compare, text_agreement


def seen(**changes):
    values = {
        "problem": "",
        "recorded_text": "the same words",
        "is_whole_text": True,
        "replayed_text": "the same words",
        "differing": 0.0,
        "fates": {},
    }
    return Observations(**{**values, **changes})


def test_a_page_that_looks_and_says_the_same_has_the_score_one():
    fates = {("image", "a"): "found", ("image", "b"): "error"}
    assert compare(seen(fates=fates)).score == 1.0, (
        "what the site itself did not have is no fault of the archive"
    )


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"problem": "not_in_archive"}, "not_in_archive"),
        ({"replayed_text": "other words here"}, "text"),
        ({"differing": 0.02}, "picture"),
        ({"fates": {("image", "a"): "missing"}}, "lost_image"),
        ({"fates": {("image", "a"): "broken"}}, "lost_image"),
        ({"fates": {("font", "a"): "missing"}}, "lost_font"),
        ({"fates": {("script", "a"): "missing"}, "differing": None}, "lost_script"),
        ({"recorded_text": "", "is_whole_text": False, "replayed_text": "", "differing": None}, "blank"),
    ],
)
def test_each_fault_alone_brings_a_page_below_the_threshold(changes, fault):
    found = compare(seen(**changes))
    assert found.faults == (fault,)
    assert found.score < THRESHOLD


def test_a_page_that_was_blank_may_be_blank():
    assert compare(seen(recorded_text="", replayed_text="", differing=None)).score == 1.0


def test_a_lost_script_that_no_reader_misses_and_an_image_of_one_pixel_cost_nothing():
    fates = {("script", "counter"): "missing", ("xhr", "visit"): "missing", ("image", "dot"): "missing"}
    assert compare(seen(fates=fates, tiny=frozenset({"dot"}))).score == 1.0
    assert compare(seen(fates=fates, tiny=frozenset({"dot"}), differing=None)).score < THRESHOLD


def test_one_per_cent_of_the_pixels_may_differ():
    assert compare(seen(differing=0.01)).score == THRESHOLD


def test_scripts_may_add_words_to_the_html_and_take_none():
    assert text_agreement("plain words", "plain words and more", is_whole=False) == 1.0
    assert text_agreement("plain words", "plain words and more", is_whole=True) < THRESHOLD
    assert text_agreement("plain words and more", "plain words", is_whole=False) == 0.5


@given(st.text(), st.text(), st.booleans())
def test_texts_agree_from_nothing_to_all(one, other, is_whole):
    assert 0 <= text_agreement(one, other, is_whole=is_whole) <= 1
    assert text_agreement(one, one, is_whole=is_whole) == 1
