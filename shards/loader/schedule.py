"""Which source each sequence of a run comes from: a pure function of its number, so that any position can be resumed.

A mix is laid out in blocks of 65,536 sequences. Every block has the same number of sequences of each source (largest
remainder), and they are spread evenly: the k-th of n sequences of a source falls at a random place in the k-th of n
equal spans of the block. So any stretch of a run has the wanted mix, within one or two sequences a source. The
sequences of one source follow each other in the source's own order; when its epoch ends, its next one begins with a
new order. Where the mix changes, each source goes on where it stood, and the blocks are counted anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thresher.core import InputError
from thresher.shards.loader.epoch_order import derived_seed
from thresher.shards.packing import IntArray
from thresher.shards.permutation import hash64

BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where sequences of a run stand in their sources."""

    sources: IntArray
    epochs: IntArray
    positions: IntArray


class Schedule:
    """The sources of a run, by the number of the sequence."""

    def __init__(
        self, sizes: Sequence[int], mixes: Sequence[tuple[int, Sequence[float]]], *, seed: int
    ) -> None:
        """Mix sources of `sizes` sequences (each at least 1). Each of `mixes` is the number of the sequence from which
        it holds, 0 for the first one, and the weight of each source in it; 0 leaves a source out.

        Raise `InputError` if a source with a weight would get no sequence in a block.
        """
        self._sizes = np.array(sizes, np.int64)
        self._starts = np.array([start for start, _ in mixes], np.int64)
        self._stretches: list[_Stretch] = []
        given = np.zeros(len(sizes), np.int64)
        for number, (start, weights) in enumerate(mixes):
            if number:
                given = self._stretches[-1].given(start)
            self._stretches.append(_Stretch(start, weights, given, seed))

    def places(self, numbers: IntArray) -> Places:
        """Return source, epoch of the source, and position in that epoch, for sequences of the run."""
        if len(self._stretches) == 1:
            sources, local = self._stretches[0].places(numbers)
        else:
            sources, local = np.empty_like(numbers), np.empty_like(numbers)
            of_number = np.searchsorted(self._starts, numbers, side="right") - 1
            for at, stretch in enumerate(self._stretches):
                mine = of_number == at
                sources[mine], local[mine] = stretch.places(numbers[mine])
        sizes = self._sizes[sources]
        return Places(sources=sources, epochs=local // sizes, positions=local % sizes)

    def next_of_each(self, number: int) -> list[tuple[int, int]]:
        """Return for each source the epoch and position of its first sequence that is `number` or later."""
        given = self._stretches[self._at(number)].given(number).tolist()
        return [divmod(one, size) for one, size in zip(given, self._sizes.tolist(), strict=True)]

    def mixed(self, number: int) -> IntArray:
        """Return the sources that sequences from `number` on are taken from."""
        return np.flatnonzero(self._stretches[self._at(number)].counts)

    def reach(self, number: int, left: Sequence[int]) -> int:
        """Return up to which number, or a few more, each source gives no more than its `left` next sequences."""
        at = self._at(number)
        counts: list[int] = self._stretches[at].counts.tolist()
        stop = number + min(each * BLOCK // count for each, count in zip(left, counts, strict=True) if count)
        return stop if at + 1 == len(self._starts) else min(stop, int(self._starts[at + 1]))

    def end(self, epochs: int) -> tuple[int, int]:
        """Return the number of sequences before the first that would be from epoch `epochs` of its source, and that
        source.
        """
        stops = [*self._starts[1:].tolist(), None]
        for stretch, stop in zip(self._stretches, stops, strict=True):
            end, source = stretch.end(epochs * self._sizes)
            if stop is None or end < stop:
                return end, source
        raise AssertionError("the last stretch has no stop")

    def _at(self, number: int) -> int:
        return int(np.searchsorted(self._starts, number, side="right")) - 1


class _Stretch:
    """A part of a run with one mix."""

    def __init__(self, start: int, weights: Sequence[float], given: IntArray, seed: int) -> None:
        """Begin at sequence `start`, after `given` sequences of each source."""
        self.counts = largest_remainder(weights, BLOCK)
        """Sequences of each source in a block."""
        if not self.counts[np.array(weights) > 0].all():
            raise InputError(
                f"mix: a share below 1/{BLOCK} of the whole gets no sequence; leave that source out or raise its share"
            )
        self._start, self._given = start, given
        numbers = [np.arange(count) for count in self.counts.tolist()]
        key = np.uint64(derived_seed(seed, "mix"))
        places = [
            (number + hash64(number.astype(np.uint64), key + np.uint64(source)) / 2.0**64)
            / max(len(number), 1)
            for source, number in enumerate(numbers)
        ]
        order = np.argsort(np.concatenate(places), kind="stable")
        self._source_at = np.repeat(np.arange(len(numbers)), self.counts)[order]
        self._rank_at = np.concatenate(numbers)[order]

    def places(self, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """Return for each sequence its source, and the number of sequences of that source before it in the run."""
        blocks, slots = np.divmod(numbers - self._start, BLOCK)
        sources = self._source_at[slots]
        return sources, self._given[sources] + blocks * self.counts[sources] + self._rank_at[slots]

    def given(self, number: int) -> IntArray:
        """Return how many sequences of each source are before sequence `number` of the run."""
        block, slot = divmod(number - self._start, BLOCK)
        before = np.bincount(self._source_at[:slot], minlength=len(self.counts))
        total: IntArray = self._given + block * self.counts + before
        return total

    def end(self, most: IntArray) -> tuple[int, int]:
        """Return the number of the first sequence with which a source gives more than `most`, and that source."""
        ends = []
        for source in np.flatnonzero(self.counts).tolist():
            left, count = int(most[source] - self._given[source]), int(self.counts[source])
            block, rank = divmod(left, count)
            slots = np.flatnonzero(self._source_at == source)
            ends.append((self._start + block * BLOCK + int(slots[rank]), source))
        return min(ends)


def largest_remainder(weights: Sequence[float], total: int) -> IntArray:
    """Divide `total` in proportion to `weights` into whole numbers that add up to it."""
    scaled = np.array(weights, float) / max(weights)  # their sum alone could be too large for a float
    exact = scaled / scaled.sum() * total
    counts: IntArray = np.floor(exact).astype(np.int64)
    short = total - int(counts.sum())
    counts[np.argsort(-(exact - counts), kind="stable")[:short]] += 1
    return counts
