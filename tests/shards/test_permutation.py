"""The order of a dataset is a permutation, whatever its size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.shards.permutation import Permutation


@given(n=st.integers(1, 5000), seed=st.integers(0, 2**63))
def test_every_place_is_taken_exactly_once(n, seed):
    places = Permutation(n=n, seed=seed).positions(np.arange(n))
    assert np.array_equal(np.sort(places), np.arange(n))


@given(n=st.integers(1, 10**12), seed=st.integers(0, 2**32), data=st.data())
def test_a_place_depends_on_the_number_alone(n, seed, data):
    numbers = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=20)))
    together = Permutation(n=n, seed=seed).positions(numbers)
    alone = [int(Permutation(n=n, seed=seed).positions(np.array([number]))[0]) for number in numbers]
    assert together.tolist() == alone


def test_another_seed_is_another_order():
    first, second = (Permutation(n=10_000, seed=seed).positions(np.arange(10_000)) for seed in (1, 2))
    assert (first == second).mean() < 0.01


def test_neighbours_are_spread():
    places = Permutation(n=100_000, seed=0).positions(np.arange(100_000))
    correlation = np.corrcoef(np.arange(100_000), places)[0, 1]
    assert abs(correlation) < 0.02


def test_a_number_outside_is_refused():
    with pytest.raises(ValueError, match=r"0\.\.9"):
        Permutation(n=10, seed=0).positions(np.array([10]))
