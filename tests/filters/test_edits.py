"""Edits are spans of a text. Two lists of them compose into one that does the same."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import Edit
from thresher.filters import edits


@st.composite
def edits_of(draw, text):
    marks = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = zip(marks[::2], marks[1::2], strict=False)
    return tuple(Edit(start, end, draw(st.text("xy\n", max_size=3))) for start, end in pairs)


@st.composite
def texts_with_two_lists(draw):
    text = draw(st.text("abc\n", max_size=20))
    first = draw(edits_of(text))
    return text, first, draw(edits_of(edits.apply(text, first)))


def test_an_edit_replaces_its_range_and_nothing_else():
    assert edits.apply("0123456789", (Edit(1, 3, "x"), Edit(3, 3, "y"), Edit(8, 10))) == "0xy34567"
    assert edits.apply("", (Edit(0, 0, "x"),)) == "x"
    assert edits.apply("same", ()) == "same"


@pytest.mark.parametrize(
    "wrong",
    [(Edit(0, 3), Edit(2, 4)), (Edit(3, 4), Edit(0, 1)), (Edit(-1, 1),), (Edit(2, 1),), (Edit(0, 6),)],
)
def test_edits_that_overlap_or_lie_outside_are_refused(wrong):
    with pytest.raises(ValueError, match="edit"):
        edits.apply("01234", wrong)


@given(texts_with_two_lists())
def test_composed_edits_do_what_both_lists_do_one_after_the_other(case):
    text, first, then = case
    composed = edits.compose(first, then)
    assert edits.apply(text, composed) == edits.apply(edits.apply(text, first), then)


@given(texts_with_two_lists())
def test_composed_edits_are_in_order_and_none_touches_another(case):
    _, first, then = case
    composed = edits.compose(first, then)
    assert all(a.end < b.start for a, b in pairwise(composed))


@given(texts_with_two_lists())
def test_replacements_are_found_in_the_edited_text(case):
    text, first, _ = case
    edited = edits.apply(text, first)
    found = [edited[start:end] for start, end in edits.replacements(first)]
    assert found == [edit.replacement for edit in first]


def test_composed_edits_stay_small():
    first = (Edit(10, 20), Edit(500, 510, "mail@example.org"))
    assert edits.compose(first, (Edit(600, 700),)) == (*first, Edit(604, 704))


def test_removals_that_touch_become_one():
    assert edits.removals([(0, 4), (4, 9), (12, 12), (20, 30)]) == (Edit(0, 9), Edit(20, 30))
