"""Screen a stream of texts for near duplicates in constant memory. Pure.

A `BloomFilter` remembers the keys of the bands of each text (`signature.band_keys`). A text that shares a key with an
earlier one probably resembles it: with 14 bands of 8 rows, half of the texts of Jaccard similarity 0.68 do. Nothing is
verified, and no witness is named, because the earlier text is not kept. `thresher dedup` does both.
"""

import math

import numpy as np
import numpy.typing as npt

from core import InputError
from filters.dedup.signature import HashArray, band_keys, has_shingles, minhash

MAX_BYTES = 1 << 36
"""64 GiB: larger filters are a mistake in a number."""
_STEP = np.uint64(0x9E3779B97F4A7C15)
_BIT = np.uint64(7)


class BloomFilter:
    """A set of 64-bit keys that may say that it has a key which it has not, but never the opposite."""

    __slots__ = ("_bits", "_bytes", "_numbers")

    def __init__(self, bits: int, hashes: int) -> None:
        """Make an empty filter of `bits` bits, of which each key sets at most `hashes`."""
        self._bits = np.uint64(bits)
        self._numbers = np.arange(hashes, dtype=np.uint64)
        self._bytes = np.zeros(-(-bits // 8), np.uint8)

    @classmethod
    def of_size(cls, keys: int, false_positive_rate: float) -> "BloomFilter":
        """Return an empty filter that has this rate once it has so many keys (Bloom 1970).

        Its bits are n ln(1/p) / ln(2)^2, and its hashes bits/n ln(2).
        """
        bits = math.ceil(keys * -math.log(false_positive_rate) / math.log(2) ** 2)
        return cls(bits, max(1, round(bits / keys * math.log(2))))

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return len(self._bytes)

    @property
    def fill(self) -> float:
        """Share of the bits that are set: a half when the filter has the keys that it was made for."""
        return int(np.bitwise_count(self._bytes).sum(dtype=np.int64)) / int(self._bits)

    def has(self, keys: HashArray) -> npt.NDArray[np.bool_]:
        """Return for each key whether it is in the filter."""
        places = self._places(keys)
        found = self._bytes[places >> np.uint64(3)] >> (places & _BIT).astype(np.uint8) & 1
        return np.asarray(found.all(axis=1))

    def add(self, keys: HashArray) -> None:
        """Put keys into the filter."""
        places = self._places(keys).reshape(-1)
        masks = np.left_shift(np.uint8(1), (places & _BIT).astype(np.uint8))
        np.bitwise_or.at(self._bytes, places >> np.uint64(3), masks)

    def _places(self, keys: HashArray) -> HashArray:
        """Return the bits of each key (Kirsch and Mitzenmacher 2006: two hashes make all of them)."""
        first = _mixed(keys)
        step = _mixed(first + _STEP) | np.uint64(1)
        places: HashArray = (first[:, None] + self._numbers * step[:, None]) % self._bits
        return places


class Screen:
    """Says of each text of a stream whether an earlier one resembles it.

    Memory is fixed when the screen is made: 35 bytes a text for 14 bands and a rate of 0.001.
    """

    __slots__ = ("_bands", "_filter", "_rows")

    def __init__(
        self, texts: int, *, false_positive_rate: float = 0.001, bands: int = 14, rows: int = 8
    ) -> None:
        """Make a screen for so many texts.

        `false_positive_rate` is the share of new texts that the full screen takes for seen ones, besides those that
        share a band by chance. After more texts it rises. Raise `InputError` if a number is out of range, or the screen
        would take more than 64 GiB.
        """
        if texts < 1 or bands < 1 or rows < 1:
            raise InputError("a screen needs at least one text, one band and one row")
        if not 0 < false_positive_rate < 1:
            raise InputError(
                f"the rate of false positives must be between 0 and 1, not {false_positive_rate}"
            )
        rate = -math.expm1(math.log1p(-false_positive_rate) / bands)
        if texts * bands * -math.log(rate) / math.log(2) ** 2 > 8 * MAX_BYTES:
            raise InputError(
                f"a screen for {texts:,} texts needs more than 64 GiB; take fewer, or a larger rate"
            )
        self._filter = BloomFilter.of_size(texts * bands, rate)
        self._bands, self._rows = bands, rows

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return self._filter.size

    @property
    def fill(self) -> float:
        """Share of the bits that are set: a half when the screen has seen the texts that it was made for."""
        return self._filter.fill

    def is_seen(self, text: str) -> bool:
        """Return whether an earlier text resembles this one, and remember this one. A text without words is new."""
        numbers = minhash(text, self._bands * self._rows)[None]
        if not has_shingles(numbers)[0]:
            return False
        keys = np.concatenate([band_keys(numbers, band, self._rows) for band in range(self._bands)])
        is_seen = bool(self._filter.has(keys).any())
        self._filter.add(keys)
        return is_seen


def _mixed(keys: HashArray) -> HashArray:
    """Return keys whose bits depend on all bits of the given ones (the finalizer of SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
