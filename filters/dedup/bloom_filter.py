"""`BloomFilter`: a set of numbers in constant memory, sized from the wanted rate of false positives. Pure."""

import math
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thresher.filters.dedup.signature import HashArray

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MAX_BYTES = 1 << 36
"""64 GiB: larger filters are a mistake in a number."""
_MAGIC = b"bloom64\n"
_HEAD = struct.Struct("<8sQQ")
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
    def of_size(cls, keys: int, false_positive_rate: float, max_bytes: int = MAX_BYTES) -> "BloomFilter":
        """Return an empty filter that has this rate once it has so many keys (Bloom 1970).

        Its bits are n ln(1/p) / ln(2)^2, and its hashes bits/n ln(2). If that takes more than `max_bytes`, it has the
        smallest rate of a filter of `max_bytes`.
        """
        keys = max(1, keys)
        bits = math.ceil(keys * -math.log(false_positive_rate) / math.log(2) ** 2)
        bits = min(bits, 8 * max_bytes)
        return cls(bits, max(1, round(bits / keys * math.log(2))))

    @classmethod
    def from_bytes(cls, data: bytes) -> "BloomFilter":
        """Return the filter that `to_bytes` stored. Raise `ValueError` if it is none."""
        magic, bits, hashes = _HEAD.unpack_from(data) if len(data) >= _HEAD.size else (b"", 0, 0)
        if magic != _MAGIC or len(data) != _HEAD.size + -(-bits // 8):
            raise ValueError("it is no Bloom filter")
        made = cls(0, hashes)
        made._bits = np.uint64(bits)
        made._bytes = np.frombuffer(data, np.uint8, offset=_HEAD.size)
        return made

    def to_bytes(self) -> Iterator["ReadableBuffer"]:
        """Yield the filter in pieces: 8 bytes of magic, the numbers of bits and of hashes as words of 64 bits (little
        endian), and the bits, the lowest of each byte first.
        """
        yield _HEAD.pack(_MAGIC, int(self._bits), len(self._numbers))
        yield self._bytes.data

    def rate(self, keys: int) -> float:
        """Return the rate of false positives of one key after so many keys: (1 - e^(-kn/m))^k."""
        hashes = len(self._numbers)
        return float(-math.expm1(-hashes * keys / int(self._bits))) ** hashes

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


def rate_of_each(rate: float, keys: int) -> float:
    """Return the rate of false positives that each of so many keys may have, so that all of them together have
    `rate`.
    """
    return -math.expm1(math.log1p(-rate) / keys)


def _mixed(keys: HashArray) -> HashArray:
    """Return keys whose bits depend on all bits of the given ones (the finalizer of SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
