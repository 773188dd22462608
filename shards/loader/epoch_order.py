"""`EpochOrder`: in which order an epoch visits the sequences of some shards, a pure function of seed and epoch.

`global`  one permutation of all sequences. Every shard is needed all the time.
`window`  the shards are permuted, and the sequences of `WINDOW_SHARDS` shards in a row are permuted together. Only the
          shards of one window are needed at a time. An export puts documents into shards by a permutation, so a window
          is itself a random sample of the documents.
`none`    the order of the export.

Each position of an epoch is computed on its own, so a run continues anywhere at once, and nothing is held in memory but
the number of sequences of each shard.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import xxhash

from thresher.shards.packing import IntArray
from thresher.shards.permutation import Permutation

SHUFFLES = ("global", "window", "none")
WINDOW_SHARDS = 8
"""Shards that are shuffled together: 8 GB of the shards that an export writes by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A span of an epoch's positions, and the shards that it needs."""

    start: int
    stop: int
    shards: tuple[int, ...]


class EpochOrder:
    """The sequences of some shards, by the epoch and the position in it."""

    def __init__(self, sizes: Sequence[int], *, seed: int, name: str, shuffle: str) -> None:
        """Order shards of `sizes` sequences. Orders with another `name` are independent."""
        self._sizes = np.array(sizes, np.int64)
        self._seed, self._name, self._shuffle = seed, name, shuffle
        self.sequences = int(self._sizes.sum())
        self._stops = np.cumsum(self._sizes)
        self._shards_of_epoch = lru_cache(maxsize=2)(self._permuted_shards)

    def place(self, epoch: int, positions: IntArray) -> tuple[IntArray, IntArray]:
        """Return for each position of an epoch the shard, and the number of the sequence in it."""
        if self._shuffle == "window":
            return self._place_in_windows(epoch, positions)
        flat = positions
        if self._shuffle == "global":
            flat = Permutation(n=self.sequences, seed=self._derive(epoch)).positions(positions)
        return _split(self._stops, self._sizes, flat)

    def window(self, epoch: int, position: int) -> Window:
        """Return the window that a position of an epoch lies in; for `global` and `none`, the whole epoch."""
        if self._shuffle != "window":
            return Window(start=0, stop=self.sequences, shards=tuple(np.flatnonzero(self._sizes).tolist()))
        shards, stops = self._shards_of_epoch(epoch)
        edges = self._window_edges(stops)
        number = int(np.searchsorted(edges, position, side="right")) - 1
        members = shards[number * WINDOW_SHARDS : (number + 1) * WINDOW_SHARDS]
        return Window(start=int(edges[number]), stop=int(edges[number + 1]), shards=tuple(members.tolist()))

    def next_window(self, epoch: int, window: Window) -> tuple[int, Window]:
        """Return the window after one, and its epoch."""
        if window.stop < self.sequences:
            return epoch, self.window(epoch, window.stop)
        return epoch + 1, self.window(epoch + 1, 0)

    def largest_need(self, shard_bytes: Sequence[int]) -> int:
        """Return the most bytes of shards that a step may need: two windows, since it may begin in one and end in the
        next.
        """
        count = 2 * WINDOW_SHARDS if self._shuffle == "window" else len(shard_bytes)
        return sum(sorted(shard_bytes, reverse=True)[:count])

    def _place_in_windows(self, epoch: int, positions: IntArray) -> tuple[IntArray, IntArray]:
        shards, stops = self._shards_of_epoch(epoch)
        edges = self._window_edges(stops)
        windows = np.searchsorted(edges, positions, side="right") - 1
        flat = np.empty_like(positions)
        for window in np.unique(windows).tolist():
            here = windows == window
            start, stop = int(edges[window]), int(edges[window + 1])
            inside = Permutation(n=stop - start, seed=self._derive(epoch, window))
            flat[here] = start + inside.positions(positions[here] - start)
        places, sequences = _split(stops, self._sizes[shards], flat)
        return shards[places], sequences

    def _permuted_shards(self, epoch: int) -> tuple[IntArray, IntArray]:
        """The shards that hold a sequence, in the order of an epoch, and where each ends."""
        shards = np.flatnonzero(self._sizes)
        places = Permutation(n=max(1, len(shards)), seed=self._derive(epoch, "shards")).positions(
            np.arange(len(shards))
        )
        shards = shards[np.argsort(places)]
        return shards, np.cumsum(self._sizes[shards])

    @staticmethod
    def _window_edges(stops: IntArray) -> IntArray:
        inner = stops[WINDOW_SHARDS - 1 : len(stops) - 1 : WINDOW_SHARDS]
        return np.concatenate((np.zeros(1, np.int64), inner, stops[-1:]))

    def _derive(self, *words: object) -> int:
        return derived_seed(self._seed, self._name, *words)


def derived_seed(*words: object) -> int:
    """Return a seed of 62 bits that depends on all words."""
    return xxhash.xxh3_64_intdigest(repr(words).encode()) >> 2


def _split(stops: IntArray, sizes: IntArray, flat: IntArray) -> tuple[IntArray, IntArray]:
    """Split numbers of sequences over all shards into the shard and the number in it."""
    shards = np.searchsorted(stops, flat, side="right")
    return shards, flat - (stops[shards] - sizes[shards])
