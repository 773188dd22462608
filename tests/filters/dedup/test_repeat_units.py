"""Words, windows, lines and paragraphs: equal text has equal hashes, and no unit divides a word or a grapheme."""

import random

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from thresher.filters.dedup import repeat_units
from thresher.filters.dedup.repeat_units import (
    filter_counts,
    is_same_block,
    is_same_passage,
    lines,
    paragraphs,
    window_filters,
    window_hashes,
    words,
)

SCRIPTS = st.text(
    st.sampled_from("ab é\u0301 \n\t字。词กำมา\u0e48ក្ក😀\u200d🏽\ufe0f한ᄀ\u3000\u2028\x85ｱﾞ"), max_size=60
)


def parts(text, units):
    return [text[start:end] for start, end in zip(units.starts, units.ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One  two,\nthree.", ["One", "two,", "three."]),
        ("don't 3.14 a-b", ["don't", "3.14", "a-b"]),
        ("中文，好ABC字", ["中", "文，", "好", "ABC", "字"]),
        ("กำ ក្ក", ["กำ", "ក្ក"]),
        ("ក្\u200dក ក្\u17cbក", ["ក្\u200dក", "ក្\u17cbក"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_words_are_divided_at_white_space_and_letters_of_unspaced_scripts(text, expected):
    assert parts(text, words(text)) == expected


@given(SCRIPTS)
def test_words_begin_and_end_at_graphemes_and_hold_all_visible_characters(text):
    found = words(text)
    edges = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    assert set(found.starts.tolist()) <= edges
    assert all(place in edges or text[place].isspace() for place in found.ends.tolist() if place < len(text))
    assert (found.starts[1:] >= found.ends[:-1]).all()
    firsts, lasts = [*found.starts, len(text)], [0, *found.ends]
    between = [text[end:start].strip() for start, end in zip(firsts, lasts, strict=True)]
    assert not any(between[1:])
    # Marks at the start have no letter to belong to.
    assert not between[0] or not between[0][0].isalnum() or between[0][0] in "ำﾞ"


@given(st.lists(st.sampled_from(["a", "b", "cd", "字"]), max_size=60), st.integers(1, 13))
def test_equal_windows_have_equal_hashes_and_filters_and_others_do_not(found, size):
    units = words(" ".join(found))
    hashes, filters = (each(units.hashes, size) for each in (window_hashes, window_filters))
    count = max(0, len(found) - size + 1)
    assert len(hashes) == len(filters) == count
    by_window = {}
    for at in range(count):
        by_window.setdefault(tuple(found[at : at + size]), set()).add((int(hashes[at]), int(filters[at])))
    assert all(len(each) == 1 for each in by_window.values())
    assert len({each for group in by_window.values() for each, _ in group}) == len(by_window)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=80), st.integers(2, 8))
def test_a_filter_of_a_repeat_counts_at_least_twice(found, size):
    units = words(" ".join(found))
    filters = window_filters(units.hashes, size)
    values, counts = filter_counts(filters, size)
    totals = {}
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        totals[value] = totals.get(value, 0) + count
    windows = [tuple(found[at : at + size]) for at in range(len(filters))]
    for at, window in enumerate(windows):
        if window in windows[at + size :]:
            assert totals[int(filters[at])] >= 2


def test_few_filters_stand_for_many_windows():
    rng = random.Random(1)
    units = words(" ".join(f"w{rng.randrange(5000)}" for _ in range(10_000)))
    values, _ = filter_counts(window_filters(units.hashes, 50), 50)
    assert len(values) < 1.2 * 10_000 * 4 / 50


def test_a_word_does_not_depend_on_its_place(monkeypatch):
    text = " ".join(f"word{number}" for number in range(500))
    whole = words(text)
    monkeypatch.setattr(repeat_units, "BLOCK", 64)
    repeat_units._powers.cache_clear()
    assert (words(text).hashes == whole.hashes).all()
    repeat_units._powers.cache_clear()


def test_lines_are_equal_apart_from_case_width_and_white_space():
    text = "Read more\n\n  READ\t more \nＲｅａｄ\u3000more\nread less\n"
    found = lines(text)
    assert parts(text, found) == ["Read more", "  READ\t more ", "Ｒｅａｄ\u3000more", "read less"]
    assert len(set(found.high[:3].tolist())) == 1
    assert found.high[3] != found.high[0]


@given(SCRIPTS, SCRIPTS)
def test_lines_have_equal_hashes_if_they_are_the_same_block(one, other):
    first, second = lines(one), lines(other)
    for at, own in enumerate(parts(one, first)):
        for to, its in enumerate(parts(other, second)):
            is_equal = (first.high[at], first.low[at]) == (second.high[to], second.low[to])
            assert is_equal == is_same_block(own, its)


def test_paragraphs_end_at_empty_lines():
    text = "\n\na b\nc\n \t\nd\n\n\n\n e\n"
    found = paragraphs(text)
    assert parts(text, found) == ["a b\nc", "d", " e"]
    joined = paragraphs("A\nb c")
    assert joined.high[0] == found.high[0]


def test_passages_are_equal_apart_from_white_space():
    assert is_same_passage("one\ntwo  three", "one two three")
    assert not is_same_passage("one two", "one Two")


def test_a_text_shorter_than_a_window_has_none():
    units = words("one two three")
    assert not len(window_hashes(units.hashes, 4))
    assert not len(window_filters(units.hashes, 4))
    assert filter_counts(np.empty(0, np.uint64), 4)[0].size == 0
