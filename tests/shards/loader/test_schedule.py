"""A mix is kept everywhere in a run, and gives each source's sequences in their order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InputError
from thresher.shards.loader.schedule import BLOCK, Schedule, largest_remainder

WEIGHTS = st.lists(st.integers(1, 1000), min_size=1, max_size=6)


@given(weights=WEIGHTS, start=st.integers(0, 3 * BLOCK), seed=st.integers(0, 99))
def test_any_stretch_of_a_run_has_the_mix(weights, start, seed):
    schedule = Schedule([10**9] * len(weights), [(0, weights)], seed=seed)
    length = 500
    seen = np.bincount(schedule.places(np.arange(start, start + length)).sources, minlength=len(weights))
    wanted = np.array(weights) / sum(weights) * length
    assert np.abs(seen - wanted).max() < 4


@given(weights=WEIGHTS, sizes=st.data())
def test_a_source_gives_its_sequences_in_a_row_and_then_again(weights, sizes):
    sizes = sizes.draw(st.lists(st.integers(1, 5000), min_size=len(weights), max_size=len(weights)))
    places = Schedule(sizes, [(0, weights)], seed=0).places(np.arange(2 * BLOCK + 77))
    for source, size in enumerate(sizes):
        mine = places.sources == source
        local = places.epochs[mine] * size + places.positions[mine]
        assert np.array_equal(local, np.arange(mine.sum()))
        assert places.positions[mine].max() < size


@given(weights=WEIGHTS, data=st.data(), epochs=st.integers(1, 3))
def test_a_run_ends_before_the_first_sequence_of_an_epoch_too_many(weights, data, epochs):
    sizes = data.draw(st.lists(st.integers(1, 9000), min_size=len(weights), max_size=len(weights)))
    schedule = Schedule(sizes, [(0, weights)], seed=3)
    end, source = schedule.end(epochs)
    places = schedule.places(np.arange(end + 1))
    assert places.epochs[:-1].max(initial=0) < epochs
    assert (places.sources[-1], places.epochs[-1], places.positions[-1]) == (source, epochs, 0)


def test_one_source_is_a_run_of_it_alone():
    schedule = Schedule([10], [(0, [1.0])], seed=0)
    assert schedule.end(3) == (30, 0)
    places = schedule.places(np.arange(30))
    assert places.epochs.tolist() == [0] * 10 + [1] * 10 + [2] * 10
    assert places.positions.tolist() == [*range(10)] * 3


def test_sources_do_not_come_in_runs():
    sources = Schedule([10**9] * 2, [(0, [1, 1])], seed=0).places(np.arange(BLOCK)).sources
    changes = (np.diff(sources) != 0).mean()
    assert 0.45 < changes < 0.8
    assert abs(np.corrcoef(np.arange(BLOCK), sources)[0, 1]) < 0.01


def test_the_parts_of_a_whole_add_up():
    assert largest_remainder([1, 1, 1], 10).tolist() == [4, 3, 3]
    assert largest_remainder([0.7, 0.2, 0.1], 65_536).sum() == 65_536


def test_a_share_that_is_too_small_is_refused():
    with pytest.raises(InputError, match="share below 1/65536"):
        Schedule([1, 1], [(0, [1e-9, 1])], seed=0)


PHASES = st.lists(
    st.tuples(st.integers(1, 2 * BLOCK), st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any)),
    min_size=1,
    max_size=4,
)


@given(lengths=PHASES, start=st.integers(0, BLOCK))
def test_where_the_mix_changes_each_source_goes_on(lengths, start):
    starts = np.cumsum([0, *(length for length, _ in lengths)])
    mixes = [(int(at), weights) for at, (_, weights) in zip(starts, lengths, strict=False)]
    sizes = [1_000, 70, 30_011]
    schedule = Schedule(sizes, mixes, seed=1)
    places = schedule.places(np.arange(int(starts[-1])))
    local = places.epochs * np.array(sizes)[places.sources] + places.positions
    for source in range(3):
        mine = local[places.sources == source]
        assert np.array_equal(mine, np.arange(len(mine)))
        edge = int(min(start, starts[-1]))
        epoch, position = schedule.next_of_each(edge)[source]
        assert epoch * sizes[source] + position == np.count_nonzero(places.sources[:edge] == source)
    for (at, weights), stop in zip(mixes, starts[1:], strict=True):
        seen = np.bincount(places.sources[at:stop], minlength=3)
        assert np.abs(seen - np.array(weights) / sum(weights) * (stop - at)).max() < 4
        assert schedule.mixed(at).tolist() == np.flatnonzero(weights).tolist()


@given(first=st.integers(1, 3 * BLOCK), epochs=st.integers(1, 3))
def test_a_run_of_phases_ends_before_the_first_sequence_of_an_epoch_too_many(first, epochs):
    sizes = [40_000, 9_000]
    schedule = Schedule(sizes, [(0, [1, 0]), (first, [1, 2])], seed=5)
    end, source = schedule.end(epochs)
    places = schedule.places(np.arange(end + 1))
    assert places.epochs[:-1].max(initial=0) < epochs
    assert (places.sources[-1], places.epochs[-1], places.positions[-1]) == (source, epochs, 0)


def test_no_stretch_that_is_read_at_once_reaches_beyond_a_phase():
    schedule = Schedule([10**9] * 2, [(0, [1, 0]), (1_000, [1, 1])], seed=0)
    assert schedule.reach(10, [10**6, 10**6]) == 1_000
    assert schedule.reach(1_000, [500, 500]) == 2_000
