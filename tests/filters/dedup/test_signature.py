"""Signatures are the same everywhere, equal for equal texts, and as similar as the texts are."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from filters.dedup.signature import EMPTY_HASH, PERMUTATIONS, band_keys, has_shingles, minhash, text_hash


def test_case_width_and_white_space_make_no_other_text():
    assert text_hash("Ｈello  World\n") == text_hash("hello world")
    assert text_hash("hello world") != text_hash("helloworld")
    assert len(text_hash("")) == 16


def test_the_numbers_do_not_depend_on_the_process():
    program = (
        "from filters.dedup.signature import minhash; print(minhash('one two three four five six').tolist())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert made == {f"{minhash('one two three four five six').tolist()}\n"}


def test_punctuation_and_case_make_no_other_shingles():
    assert (minhash("One, two: three four FIVE six!") == minhash("one two three four five six")).all()


def test_a_text_of_fewer_than_five_words_is_one_shingle():
    assert (minhash("one two") == minhash("One two.")).all()
    assert (minhash("one two") != minhash("one three")).mean() > 0.9


def test_a_text_without_words_has_no_shingles():
    pair = np.array([minhash("... !"), minhash("word")])
    assert (pair[0] == EMPTY_HASH).all()
    assert has_shingles(pair).tolist() == [False, True]


@given(st.text(max_size=200))
def test_any_text_can_be_signed(text):
    assert minhash(text).shape == (PERMUTATIONS,)
    assert minhash(text).dtype == np.uint32


def test_half_a_surrogate_pair_does_no_harm():
    assert text_hash("a \ud800") != text_hash("a")
    assert minhash("\ud800 word").shape == (PERMUTATIONS,)


def test_band_keys_are_equal_where_all_rows_are():
    minhashes = np.array([minhash("one two three four five six seven")] * 2)
    minhashes[1, 8] += 1
    assert [bool(np.diff(band_keys(minhashes, band, 8))[0]) for band in range(3)] == [False, True, False]
