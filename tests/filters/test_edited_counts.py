"""A text that rules edited is counted as if it had been read anew."""

from hypothesis import given
from hypothesis import strategies as st

from thresher.core import Edit
from thresher.filters.edits import removals
from thresher.filters.text import PIECE, AnalyzedText

PIECES = [
    "word",
    "it's",
    "e.g.",
    "One two.",
    "漢字",
    "ที่",
    "e\u0301",
    "\u0301",
    "፡",
    " ",
    "  ",
    "\t",
    "\x85",
    "\n",
    "\n\n",
    "\n ",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def counted(text: AnalyzedText):
    return (
        text.sentences,
        text.token_count,
        text.word_count,
        text.word_characters,
        text.tokens_with_letter,
        text.is_spaced,
        text.tokens,
        text.first_token_lengths.tolist(),
        text.count_distinct(["word", "it"]),
    )


def read(text: str):
    return AnalyzedText(text=text, language="en", language_score=1.0)


@given(TEXTS, st.data())
def test_whatever_goes_from_it(text, data):
    places = data.draw(st.lists(st.integers(0, len(text)), unique=True, max_size=6).map(sorted))
    edits = removals(zip(places[::2], places[1::2], strict=False))
    original = read(text)
    counted(original)
    edited = original.edited(edits)
    assert counted(edited) == counted(read(edited.text))


@given(TEXTS, st.data())
def test_when_lines_go_and_when_they_go_again(text, data):
    twice = read(text)
    for _ in range(2):
        counted(twice)
        lines, ends = twice.text.split("\n"), []
        for line in lines:
            ends.append((ends[-1] if ends else 0) + len(line) + 1)
        gone = [data.draw(st.booleans()) for _ in lines]
        spans = [
            (end - len(line) - 1, min(end, len(twice.text)))
            for line, end, goes in zip(lines, ends, gone, strict=True)
            if goes
        ]
        twice = twice.edited(removals(spans))
        assert counted(twice) == counted(read(twice.text))


def test_when_it_is_in_one_piece_only_after_the_edit():
    text = read("One line is here.\n" * (PIECE // 10))
    counted(text)
    edited = text.edited((Edit(180, len(text.text)),))
    assert counted(edited) == counted(read(edited.text))
    assert edited.sentences == 10
