"""An epoch visits every sequence once, in an order without bias."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.shards.loader.epoch_order import SHUFFLES, WINDOW_SHARDS, EpochOrder

SIZES = st.lists(st.integers(0, 30), min_size=1, max_size=40).filter(any)


def order_of(sizes, shuffle="global", seed=0, name="web"):
    return EpochOrder(sizes, seed=seed, name=name, shuffle=shuffle)


def epoch_of(order, epoch=0):
    shards, sequences = order.place(epoch, np.arange(order.sequences))
    return list(zip(shards.tolist(), sequences.tolist(), strict=True))


@given(sizes=SIZES, shuffle=st.sampled_from(SHUFFLES), seed=st.integers(0, 2**63), epoch=st.integers(0, 5))
def test_every_sequence_has_one_position(sizes, shuffle, seed, epoch):
    expected = [(shard, number) for shard, size in enumerate(sizes) for number in range(size)]
    visited = epoch_of(order_of(sizes, shuffle, seed), epoch)
    assert sorted(visited) == expected
    assert shuffle != "none" or visited == expected


@given(sizes=SIZES, shuffle=st.sampled_from(SHUFFLES), data=st.data())
def test_a_position_is_found_on_its_own(sizes, shuffle, data):
    order = order_of(sizes, shuffle)
    asked = data.draw(st.lists(st.integers(0, order.sequences - 1), min_size=1, max_size=10))
    shards, sequences = order.place(1, np.array(asked))
    every = epoch_of(order, 1)
    assert list(zip(shards.tolist(), sequences.tolist(), strict=True)) == [every[one] for one in asked]


@given(sizes=SIZES, shuffle=st.sampled_from(SHUFFLES), data=st.data())
def test_a_position_needs_the_shards_of_its_window_alone(sizes, shuffle, data):
    order = order_of(sizes, shuffle)
    window = order.window(2, data.draw(st.integers(0, order.sequences - 1)))
    used = {shard for shard, _ in epoch_of(order, 2)[window.start : window.stop]}
    assert used == set(window.shards)
    assert shuffle != "window" or len(window.shards) <= WINDOW_SHARDS
    assert order.largest_need([7] * len(sizes)) >= 7 * len(window.shards)


def test_windows_follow_each_other_and_cover_the_epoch():
    order = order_of([5, 0, 3] * 20, "window")
    position, seen = 0, []
    while position < order.sequences:
        window = order.window(0, position)
        assert window.start == position
        seen += window.shards
        position = window.stop
    assert sorted(seen) == [shard for shard in range(60) if shard % 3 != 1]


@pytest.mark.parametrize("shuffle", ["global", "window"])
def test_epochs_seeds_and_sources_have_orders_of_their_own(shuffle):
    orders = [
        epoch_of(order_of([100] * 30, shuffle, seed, name), epoch)
        for seed in (0, 1)
        for name in ("web", "books")
        for epoch in (0, 1)
    ]
    for number, one in enumerate(orders):
        for other in orders[:number]:
            assert sum(a == b for a, b in zip(one, other, strict=True)) < 20


@pytest.mark.parametrize(("shuffle", "shards_in_256"), [("global", 40), ("window", 8)])
def test_the_order_has_no_bias(shuffle, shards_in_256):
    """Position and place in the export are independent, and neighbours come from everywhere in the window."""
    order = order_of([1000] * 50, shuffle)
    visited = np.array([shard * 1000 + number for shard, number in epoch_of(order)])
    assert abs(np.corrcoef(np.arange(len(visited)), visited)[0, 1]) < (0.02 if shuffle == "global" else 0.3)
    here = visited[:8000] if shuffle == "window" else visited
    _, ranks = np.unique(here, return_inverse=True)
    assert abs(np.corrcoef(np.arange(len(here)), ranks)[0, 1]) < 0.03
    distinct = [len(set((visited[start : start + 256] // 1000).tolist())) for start in range(0, 48_000, 256)]
    assert np.median(distinct) >= shards_in_256
    steps = np.diff(visited)
    assert (np.abs(steps) == 1).sum() < 40
