"""Signatures are the same everywhere, equal for equal texts, and as similar as the texts are."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.filters.dedup.signature import (
    EMPTY_HASH,
    MAX_WORD,
    PERMUTATIONS,
    band_keys,
    has_shingles,
    minhash,
    minhash_of,
    shingle_hashes,
    sign,
    text_hash,
)

SHAPES = ((14, 8), (26, 11), (20, 13), (14, 9), (9, 13), (32, 10), (5, 25), (8, 16), (14, 5))
"""Bands and rows of published pipelines: FineWeb, Dolma 3, NeMo Curator, RedPajama 2, FinePDFs, Zyda-2, olmOCR."""


def test_case_width_and_white_space_make_no_other_text():
    assert text_hash("Ｈello  World\n") == text_hash("hello world")
    assert text_hash("hello world") != text_hash("helloworld")
    assert len(text_hash("")) == 16


def test_the_numbers_do_not_depend_on_the_process():
    program = "from thresher.filters.dedup.signature import minhash; print(minhash('one two three four five six').tolist())"
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


def test_a_text_is_signed_as_its_hash_and_its_minhash_say():
    found, numbers = sign("Some words, in a row: one two", 200)
    assert found == text_hash("Some words, in a row: one two")
    assert (numbers == minhash("Some words, in a row: one two", 200)).all()


@given(st.text(alphabet=st.sampled_from(" \t\n\x0b\x0c\r\x1c\x1f\x85\xa0\u2003abé.")))
def test_white_space_is_what_unicode_says(text):
    assert text_hash(text) == text_hash(" ".join(text.split()))


def test_more_permutations_add_numbers_and_change_none():
    text = "one two three four five six seven"
    assert (minhash(text, 286)[:112] == minhash(text)).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("two words", 2),
        (" two  words. ", 2),
        ("it's one2 3.14", 5),
        ("été\u0301 über", 2),
        ("漢字かな", 4),
        ("abc漢字def", 4),
        ("กำ ไทย", 5),
        ("มี่", 1),
        ("한국어 문장", 2),
        ("— ⁂ 🙂", 0),
        ("हिन्दी में", 2),
    ],
)
def test_words_are_runs_of_letters_and_single_letters_without_spaces(text, words):
    shingles = shingle_hashes(text + " a b c d e")
    assert len(shingles) == words + 1
    assert shingles[-1] == shingle_hashes("a b c d e")[0]


def test_words_are_equal_wherever_they_stand_and_beside_any_script():
    (alone,) = shingle_hashes("one two three four five")
    assert alone in shingle_hashes("漢 one two three four five 字")
    assert alone in shingle_hashes("x" * 40_000 + " one two three four five " + "y" * 40_000)
    assert alone in shingle_hashes("x " * 40_000 + "one two three four five" + " y" * 40_000)


def test_a_word_of_any_length_is_one_word():
    assert len(shingle_hashes(f"a {'b' * 3 * MAX_WORD} c {'d' * MAX_WORD} e f")) == 2


def test_different_shingles_have_different_numbers():
    """Of n random numbers of 32 bits, n^2 / 2^33 pairs are equal: 1.2 of a hundred thousand."""
    shingles = shingle_hashes(" ".join(f"w{number * number}" for number in range(100_004)))
    assert len(shingles) - len(np.unique(shingles)) <= 8


def test_the_order_of_words_and_letters_matters():
    assert shingle_hashes("a b c d e") != shingle_hashes("b a c d e")
    assert shingle_hashes("ab b c d e") != shingle_hashes("ba b c d e")


@pytest.mark.parametrize("similarity", [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95])
def test_bands_find_pairs_at_the_rate_that_theory_says(similarity):
    """P = 1 - (1 - s^rows)^bands, within four standard deviations of 1,000 pairs of sets of known Jaccard similarity."""
    rng = np.random.default_rng(7)
    pairs, union, permutations = 1_000, 400, 320
    common = round(union * similarity)
    cut = common + (union - common) // 2
    both = []
    for _ in range(pairs):
        numbers = rng.integers(0, 2**32, union, dtype=np.uint32)
        parts = (numbers[:cut], np.concatenate((numbers[:common], numbers[cut:])))
        both.extend(minhash_of(part, permutations) for part in parts)
    one, other = np.array(both)[::2], np.array(both)[1::2]
    estimate = (one == other).mean()
    assert abs(estimate - similarity) <= 4 * (similarity * (1 - similarity) / (pairs * permutations)) ** 0.5
    for bands, rows in SHAPES:
        hits = np.zeros(pairs, np.bool_)
        for band in range(bands):
            hits |= band_keys(one, band, rows) == band_keys(other, band, rows)
        expected = 1 - (1 - similarity**rows) ** bands
        bound = 4 * (max(expected * (1 - expected), 1 / pairs) / pairs) ** 0.5
        assert abs(hits.mean() - expected) <= bound, (bands, rows)


@pytest.mark.parametrize("word", ["w{}", "слово{}", "字{}"])
def test_texts_are_as_similar_as_their_shingles(word):
    """Texts of 400 words with some in the middle changed, against the sets of their shingles."""
    rng = np.random.default_rng(3)
    errors = []
    for changed in (1, 5, 10, 20, 40):
        for _ in range(20):
            words = [word.format(number) for number in rng.integers(0, 10**9, 400)]
            others = words.copy()
            for at in rng.integers(0, 400, changed):
                others[at] += "x"
            one, other = (set(zip(*(each[k:] for k in range(5)), strict=False)) for each in (words, others))
            if word[0] == "字":
                one, other = (set(shingle_hashes(" ".join(each)).tolist()) for each in (words, others))
            jaccard = len(one & other) / len(one | other)
            estimate = (minhash(" ".join(words), 400) == minhash(" ".join(others), 400)).mean()
            errors.append((estimate - jaccard) / max(jaccard * (1 - jaccard) / 400, 1e-4) ** 0.5)
    assert abs(np.mean(errors)) < 0.5
    assert max(map(abs, errors)) < 5
