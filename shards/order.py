"""The order of a dataset: which place each row has. A row is one copy of a document of one component of the mix.

The rows of a component are numbered from 0. Places run from 0 to the number of all rows, in one of two orders:
1. `MIXED`: a permutation of all rows, so that components stand in random order.
2. `BY_SOURCE`: the components one after another, each in a permutation of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thresher.shards.permutation import Permutation

MIXED, BY_SOURCE = "mixed", "by-source"

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The place of every row."""

    rows: tuple[int, ...]
    """Rows of each component."""
    seed: int

    @property
    def total(self) -> int:
        """Number of places."""
        return sum(self.rows)

    def component_places(self, component: int) -> range:
        """Return the places of a component in the order `BY_SOURCE`."""
        start = sum(self.rows[:component])
        return range(start, start + self.rows[component])

    def places(self, kind: str, components: IntArray, numbers: IntArray) -> IntArray:
        """Return the place of each row, given its component and its number in it."""
        starts = np.concatenate([[0], np.cumsum(self.rows)]).astype(np.int64)
        if kind == MIXED:
            return Permutation(n=max(self.total, 1), seed=self.seed).positions(starts[components] + numbers)
        places = np.empty_like(numbers)
        for component in np.unique(components):
            chosen = components == component
            order = Permutation(n=self.rows[component], seed=self.seed)
            places[chosen] = starts[component] + order.positions(numbers[chosen])
        return places


def split(places: range, count: int) -> list[range]:
    """Return the places in `count` consecutive ranges whose sizes differ by at most one."""
    n = len(places)
    edges = [places.start - (-number * n // count) for number in range(count + 1)]
    return [range(start, stop) for start, stop in pairwise(edges)]


def within(places: IntArray, wanted: Sequence[range]) -> npt.NDArray[np.bool_]:
    """Return which places lie in one of the ranges, which are in order and do not overlap."""
    starts = np.array([each.start for each in wanted], dtype=np.int64)
    stops = np.array([each.stop for each in wanted], dtype=np.int64)
    at = np.searchsorted(starts, places, side="right") - 1
    return (
        (at >= 0) & (places < stops[np.maximum(at, 0)])
        if len(starts)
        else np.zeros(len(places), dtype=np.bool_)
    )
