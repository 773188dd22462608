"""A screen takes the memory that it was made with, forgets no text, and is wrong as seldom as it was asked to be."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InputError
from thresher.filters.dedup.bloom_filter import BloomFilter
from thresher.filters.dedup.screen import Screen


def keys(count, seed):
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("bits", [2**17, 2**17 - 1, 2**17 + 1, 100_003])
def test_a_filter_of_any_size_uses_all_of_its_bits(bits):
    """A filter whose hashes are cut with a mask uses two bits of a power of two, or an eighth of them."""
    made = BloomFilter(bits, hashes=7)
    made.add(keys(bits // 10, seed=1))
    assert made.fill == pytest.approx(1 - np.exp(-7 / 10), abs=0.01)
    wrong = made.has(keys(100_000, seed=2)).mean()
    assert wrong == pytest.approx((1 - np.exp(-7 / 10)) ** 7, rel=0.2)


@pytest.mark.parametrize("rate", [0.1, 0.01, 0.001])
def test_a_full_filter_is_wrong_as_often_as_it_was_asked_to_be(rate):
    count, asked = 20_000, 200_000
    made = BloomFilter.of_size(count, rate)
    assert not made.has(keys(1000, seed=3)).any()
    made.add(keys(count, seed=1))
    assert made.has(keys(count, seed=1)).all()
    assert made.fill == pytest.approx(0.5, abs=0.04), "a whole number of hashes"
    bound = 4 * (rate * (1 - rate) / asked) ** 0.5
    assert abs(made.has(keys(asked, seed=2)).mean() - rate) <= bound + 0.05 * rate


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50))
def test_a_filter_forgets_nothing(numbers):
    made = BloomFilter.of_size(10, 0.5)
    for number in numbers:
        made.add(np.array([number], np.uint64))
    assert made.has(np.array(numbers, np.uint64)).all()


def texts(count, seed):
    rng = random.Random(seed)
    return [" ".join(f"word{rng.randrange(10**6)}" for _ in range(80)) for _ in range(count)]


def test_copies_and_near_copies_are_seen_and_others_are_not():
    screen, originals = Screen(2000), texts(1000, seed=1)
    assert not any(screen.is_seen(text) for text in originals)
    assert all(screen.is_seen(text.upper()) for text in originals)
    changed = [text.replace(text.split()[40], "other") for text in originals]  # similarity .88
    assert sum(screen.is_seen(text) for text in changed) > 980
    assert not screen.is_seen("")
    assert not screen.is_seen("... !")


def test_a_full_screen_takes_few_new_texts_for_seen_ones():
    screen = Screen(1000, false_positive_rate=0.05)
    for text in texts(1000, seed=1):
        screen.is_seen(text)
    assert screen.fill == pytest.approx(0.5, abs=0.02)
    size = screen.size
    wrong = sum(screen.is_seen(text) for text in texts(100, seed=2))
    assert wrong <= 5 + 4 * (100 * 0.06 * 0.94) ** 0.5
    assert screen.size == size


def test_the_memory_follows_from_the_texts_and_the_rate():
    assert 34e6 < Screen(1_000_000).size < 36e6
    for wrong in ({"texts": 0}, {"texts": 5, "false_positive_rate": 0.0}, {"texts": 5, "bands": 0}):
        with pytest.raises(InputError):
            Screen(**wrong)
    with pytest.raises(InputError, match="64 GiB"):
        Screen(10**12)
