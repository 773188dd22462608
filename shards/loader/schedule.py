"""Which source each sequence of a run comes from: a pure function of its number, so that any position can be resumed.

A mix is laid out in blocks of 65,536 sequences. Every block has the same number of sequences of each source (largest
remainder), and they are spread evenly: the k-th of n sequences of a source falls at a random place in the k-th of n
equal spans of the block. So any stretch of a run has the wanted mix, within one or two sequences a source. The
sequences of one source follow each other in the source's own order; when its epoch ends, its next one begins with a
new order.
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

    def __init__(self, sizes: Sequence[int], weights: Sequence[float], *, seed: int) -> None:
        """Mix sources of `sizes` sequences (each at least 1) in proportion to `weights`.

        Raise `InputError` if a source would get no sequence in a block.
        """
        self._sizes = np.array(sizes, np.int64)
        self._counts = largest_remainder(weights, BLOCK)
        if not self._counts.all():
            raise InputError(
                f"mix: a share below 1/{BLOCK} of the whole gets no sequence; leave that source out or raise its share"
            )
        numbers = [np.arange(count) for count in self._counts.tolist()]
        key = np.uint64(derived_seed(seed, "mix"))
        places = [
            (number + hash64(number.astype(np.uint64), key + np.uint64(source)) / 2.0**64) / len(number)
            for source, number in enumerate(numbers)
        ]
        order = np.argsort(np.concatenate(places), kind="stable")
        self._source_at = np.repeat(np.arange(len(numbers)), self._counts)[order]
        self._rank_at = np.concatenate(numbers)[order]

    def places(self, numbers: IntArray) -> Places:
        """Return source, epoch of the source, and position in that epoch, for sequences of the run."""
        blocks, slots = numbers // BLOCK, numbers % BLOCK
        sources = self._source_at[slots]
        local = blocks * self._counts[sources] + self._rank_at[slots]
        sizes = self._sizes[sources]
        return Places(sources=sources, epochs=local // sizes, positions=local % sizes)

    def next_of_each(self, number: int) -> list[tuple[int, int]]:
        """Return for each source the epoch and position of its first sequence that is `number` or later."""
        block, slot = divmod(number, BLOCK)
        before = np.bincount(self._source_at[:slot], minlength=len(self._sizes))
        local = (block * self._counts + before).tolist()
        return [divmod(one, size) for one, size in zip(local, self._sizes.tolist(), strict=True)]

    def reach(self, number: int, left: Sequence[int]) -> int:
        """Return up to which number, or a few more, each source gives no more than its `left` next sequences."""
        counts: list[int] = self._counts.tolist()
        return number + min(each * BLOCK // count for each, count in zip(left, counts, strict=True))

    def end(self, epochs: int) -> tuple[int, int]:
        """Return the number of sequences before the first that would be from epoch `epochs` of its source, and that
        source.
        """
        ends = []
        for source, (size, count) in enumerate(zip(self._sizes.tolist(), self._counts.tolist(), strict=True)):
            block, rank = divmod(epochs * size, count)
            slots = np.flatnonzero(self._source_at == source)
            ends.append((block * BLOCK + int(slots[rank]), source))
        return min(ends)


def largest_remainder(weights: Sequence[float], total: int) -> IntArray:
    """Divide `total` in proportion to `weights` into whole numbers that add up to it."""
    scaled = np.array(weights, float) / max(weights)  # their sum alone could be too large for a float
    exact = scaled / scaled.sum() * total
    counts: IntArray = np.floor(exact).astype(np.int64)
    short = total - int(counts.sum())
    counts[np.argsort(-(exact - counts), kind="stable")[:short]] += 1
    return counts
