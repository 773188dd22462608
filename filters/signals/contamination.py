"""Find n-grams of benchmarks in documents, and drop what could have leaked into the training data.

An n-gram is `n` words in lower case, without punctuation. GPT-3 used 13 words and removed text around every collision
(Brown et al. 2020, arXiv:2005.14165, appendix C); PaLM counted a document with 70 % of its 8-grams as contaminated
(Chowdhery et al. 2022, arXiv:2204.02311, section 8); datatrove uses 12 words. Only hashes of n-grams are stored, 8
bytes each: two different n-grams have the same hash with a probability of 2^-64 a pair.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import xxhash

from thresher.core.unicode14 import known
from thresher.filters.text import AnalyzedText, Finding
from thresher.filters.words import WORDS_VERSION, words

Hashes = npt.NDArray[np.uint64]
CONTAMINATION_VERSION = 1
MAX_NGRAMS = 1 << 27
"""N-grams of all benchmarks together: 1 GiB of hashes for each worker."""
_BATCH = 1 << 22
"""Hashes that are gathered before they are sorted."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""An odd number with mixed bits (2^64 divided by the golden ratio)."""


def ngram_hashes(text_words: Sequence[str], n: int) -> Hashes:
    """Return the hash of the n-gram at each place, in order; none if there are fewer than `n` words."""
    count = len(text_words) - n + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    codes = {word: xxhash.xxh3_64_intdigest(word.encode(errors="surrogatepass")) for word in set(text_words)}
    hashed = np.fromiter(map(codes.__getitem__, text_words), np.uint64, len(text_words))
    total = np.zeros(count, np.uint64)
    for place in range(n):
        total *= _FACTOR
        total += hashed[place : place + count]
        total ^= total >> np.uint64(29)
    return total


def benchmark_hashes(texts: Iterable[str], n: int) -> tuple[Hashes, int]:
    """Return the sorted hashes of all n-grams of `texts`, and the number of texts that are too short to have any.

    Raise `ValueError` if there are more than `MAX_NGRAMS`.
    """
    hashes, batch, size, short = np.empty(0, np.uint64), [], 0, 0
    for text in texts:
        found = ngram_hashes(words(known(text).lower()), n)
        short += not len(found)
        batch.append(found)
        size += len(found)
        if size >= _BATCH:
            hashes, batch, size = _merged(hashes, batch), [], 0
    return _merged(hashes, batch), short


def _merged(known: Hashes, batch: Sequence[Hashes]) -> Hashes:
    merged = np.unique(np.concatenate([known, *batch]))
    if len(merged) > MAX_NGRAMS:
        raise ValueError(f"more than {MAX_NGRAMS:,} n-grams")
    return merged


def encode_hashes(hashes: Hashes) -> bytes:
    """Return sorted hashes as bytes."""
    return hashes.astype("<u8").tobytes()


class KnownHashes:
    """Sorted hashes that can be asked about. Most questions end at a table of bits, which fits closer caches."""

    def __init__(self, hashes: Hashes) -> None:
        """The table has 16 to 32 bits a hash, so at most a sixteenth of other hashes pass it."""
        self._hashes = hashes
        width = max((len(hashes) * 16).bit_length(), 3)
        self._shift = np.uint64(64 - width)
        places = hashes >> self._shift
        cells, starts = np.unique(places >> np.uint64(3), return_index=True)
        self._bits = np.zeros(1 << (width - 3), np.uint8)
        if len(starts):
            self._bits[cells] = np.bitwise_or.reduceat(_bit(places), starts)

    def hits(self, found: Hashes) -> int:
        """Return how many of `found` are known."""
        if not len(self._hashes):
            return 0
        places = found >> self._shift
        possible = found[(self._bits[places >> np.uint64(3)] & _bit(places)) != 0]
        at = np.minimum(np.searchsorted(self._hashes, possible), len(self._hashes) - 1)
        return int((self._hashes[at] == possible).sum())


def _bit(places: Hashes) -> npt.NDArray[np.uint8]:
    return np.left_shift(np.uint8(1), (places & np.uint64(7)).astype(np.uint8))


def decode_hashes(data: bytes) -> KnownHashes:
    """Return the hashes of `encode_hashes`."""
    return KnownHashes(np.frombuffer(data, "<u8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationRule:
    """Drop documents in which more than a share of the n-grams belong to benchmarks."""

    benchmarks: str
    """Name of the stored hashes, which has their digest."""
    n: int
    most: float
    hashes: Callable[[str], KnownHashes] = field(repr=False, compare=False)
    """Returns stored hashes."""

    name: ClassVar[str] = "contamination"
    measures: ClassVar[tuple[str, ...]] = ("contaminated_ngrams",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Benchmarks, length of an n-gram, and limit."""
        return {
            "benchmarks": self.benchmarks,
            "n": self.n,
            "most": self.most,
            "version": CONTAMINATION_VERSION,
            "words": WORDS_VERSION,
        }

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure the share of n-grams that benchmarks have."""
        known = self.hashes(self.benchmarks)
        count = hits = 0
        tail: list[str] = []
        for piece in text.plain_words():
            found = ngram_hashes([*tail, *piece] if tail else piece, self.n)
            count += len(found)
            hits += known.hits(found)
            tail = [*tail, *piece][1 - self.n :]
        share = hits / max(count, 1)
        return Finding(
            measurements={"contaminated_ngrams": share}, reason="benchmark" if share > self.most else None
        )
