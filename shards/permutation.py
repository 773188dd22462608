"""Order a dataset: a seeded permutation of 0..n-1 that needs no memory.

1. Every number below n is a place exactly once (full period), for any n and any seed.
2. The place of a number depends only on n, the seed and the number.

The permutation is a balanced Feistel network of four rounds over the smallest even number of bits that holds n. A
result that is not below n is permuted again until it is (cycle walking: Black and Rogaway, "Ciphers with Arbitrary
Finite Domains", 2002). Four rounds give a pseudo-random permutation (Luby and Rackoff, 1988).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ROUNDS = 4
# The multiplicative constants of the 64-bit finalizer of MurmurHash3.
MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
SHIFT = np.uint64(33)

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """A one-to-one map of 0..n-1 onto itself."""

    n: int
    seed: int

    def positions(self, numbers: IntArray) -> IntArray:
        """Return the place of each number, in the same shape. Raise `ValueError` if a number is outside 0..n-1."""
        if numbers.size and (numbers.min() < 0 or numbers.max() >= self.n):
            raise ValueError(f"numbers must lie in 0..{self.n - 1}")
        places = self._permute(numbers.astype(np.uint64))
        outside = places >= self.n
        while outside.any():
            places[outside] = self._permute(places[outside])
            outside = places >= self.n
        return places.astype(np.int64)

    def _permute(self, values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        half = np.uint64(max(1, (max(self.n - 1, 1).bit_length() + 1) // 2))
        mask = np.uint64((1 << int(half)) - 1)
        left, right = values >> half, values & mask
        for turn in range(ROUNDS):
            key = np.uint64((self.seed * ROUNDS + turn + 1) % (1 << 64))
            left, right = right, left ^ (hash64(right, key) & mask)
        return (left << half) | right


def hash64(values: npt.NDArray[np.uint64], key: np.uint64) -> npt.NDArray[np.uint64]:
    """Return a pseudo-random number for each value; another key gives other numbers."""
    with np.errstate(over="ignore"):  # a hash uses wrapping arithmetic
        mixed = (values + key) * MIX_1
        mixed = (mixed ^ (mixed >> SHIFT)) * MIX_2
        return mixed ^ (mixed >> SHIFT)
