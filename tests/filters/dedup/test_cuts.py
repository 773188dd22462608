"""Repeats are cut without joining lines, without leaving empty ones, and without touching anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.filters.dedup.cuts import cuts, new_characters
from thresher.filters.edits import apply


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("before [cut] after", "before after"),
        ("before [cut]", "before"),
        ("字[字] after", "字 after"),
        ("before [字]字", "before 字"),
        ("[cut] after", "after"),
        ("line\n[cut]\nline", "line\nline"),
        ("one\n\n[cut]\n\ntwo", "one\n\ntwo"),
        ("one\n[cut]\n\ntwo", "one\n\ntwo"),
        ("[cut]\n\nfirst", "first"),
        ("last\n\n[cut]", "last"),
        ("last\n[cut]\n", "last\n"),
        ("begin [cut]\nnext", "begin\nnext"),
        ("begin [cut\nmore] end", "begin end"),
        ("  [cut] indented", "  indented"),
        ("one\n  [cut]  \n  two", "one\n  two"),
        ("[a] [b]\n\n[c] left", "left"),
        ("[all]", ""),
    ],
)
def test_the_white_space_of_a_cut_goes_with_it(text, left):
    spans, plain, start = [], "", 0
    for character in text:
        if character == "[":
            start = len(plain)
        elif character == "]":
            spans.append((start, len(plain)))
        else:
            plain += character
    assert apply(plain, cuts(plain, spans)) == left


TEXT = st.lists(st.sampled_from(["ab", "c", " ", "  ", "\n", "\n\n", "\t"]), max_size=30).map("".join)


@st.composite
def texts_with_spans(draw):
    text = draw(TEXT)
    visible = [at for at, character in enumerate(text) if not character.isspace()]
    spans = []
    for _ in range(draw(st.integers(0, 4)) if visible else 0):
        first, last = sorted((draw(st.sampled_from(visible)), draw(st.sampled_from(visible))))
        spans.append((first, last + 1))
    return text, sorted(spans)


@given(texts_with_spans())
def test_exactly_the_visible_characters_of_the_spans_go(given_text):
    text, spans = given_text
    inside = {at for start, end in spans for at in range(start, end)}
    left = apply(text, cuts(text, spans))
    expected = "".join(character for at, character in enumerate(text) if at not in inside)
    assert "".join(left.split()) == "".join(expected.split())


@given(texts_with_spans())
def test_no_cut_joins_lines_or_leaves_more_empty_lines_than_there_were(given_text):
    text, spans = given_text
    left = apply(text, cuts(text, spans))
    assert left.count("\n\n\n") <= text.count("\n\n\n")
    gone = {at for start, end in spans for at in range(start, end)}
    if not any("\n" in text[start:end] for start, end in spans):
        kept = [line.split() for line in left.split("\n") if line.strip()]
        assert kept == [line.split() for line in _rest_lines(text, gone)]


def _lines(text):
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _rest_lines(text, gone):
    """Return what is left of each line, with a space for each run of removed characters; empty ones are left out."""
    for low, high in _lines(text):
        line = "".join("\0" if at in gone else text[at] for at in range(low, high)).replace("\0", "")
        if line.strip():
            yield line


@given(texts_with_spans())
def test_each_character_counts_for_the_first_span_that_has_it(given_text):
    _, spans = given_text
    assert sum(new_characters(spans)) == len({at for start, end in spans for at in range(start, end)})
