"""Screen a stream of texts for near duplicates in constant memory. Pure.

A `BloomFilter` remembers the keys of the bands of each text (`signature.band_keys`). A text that shares a key with an
earlier one probably resembles it: with 14 bands of 8 rows, half of the texts of Jaccard similarity 0.68 do. Nothing is
verified, and no witness is named, because the earlier text is not kept. `thresher dedup` does both.
"""

import math

from thresher.core import InputError
from thresher.filters.dedup.bloom_filter import MAX_BYTES, BloomFilter, rate_of_each
from thresher.filters.dedup.signature import all_band_keys, has_shingles, minhash


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
        rate = rate_of_each(false_positive_rate, bands)
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
        keys = all_band_keys(numbers, self._bands, self._rows)[0]
        is_seen = bool(self._filter.has(keys).any())
        self._filter.add(keys)
        return is_seen
