"""Compute the signatures of a text: a hash for equality and a MinHash for similarity.

Both are computed from the folded text: NFKC, case-folded, white space collapsed. A shingle has five words, as in
FineWeb; a text of fewer words is one shingle. The hash of a shingle combines the XXH3 hashes of its words. The 112
permutations are multiply-add-shift functions over 64 bits (Dietzfelbinger et al. 1997). They are exact in wrapping
arithmetic, so any other implementation with the same constants gives the same numbers.
"""

import unicodedata

import numpy as np
import numpy.typing as npt
import xxhash

from filters.words import WORDS_VERSION, words

SHINGLE_WORDS = 5
PERMUTATIONS = 112
SEED = 1
SIGNATURE_VERSION = (
    f"xxh128 of NFKC casefold; minhash of {SHINGLE_WORDS} {WORDS_VERSION},"
    f" {PERMUTATIONS} permutations, seed {SEED}"
)
CHUNK = 8192
"""Shingles that are permuted at a time; their numbers take 4 MB."""

MinHashes = npt.NDArray[np.uint32]
HashArray = npt.NDArray[np.uint64]


def _constants(count: int, salt: int) -> HashArray:
    """Return `count` odd 64-bit constants, each the XXH3 hash of its number."""
    numbers = [xxhash.xxh3_64_intdigest(f"{SEED}/{salt}/{number}".encode()) | 1 for number in range(count)]
    return np.array(numbers, dtype=np.uint64)


HASH_FACTORS, HASH_TERMS = _constants(PERMUTATIONS, 1), _constants(PERMUTATIONS, 2)
POSITION_FACTORS = _constants(SHINGLE_WORDS, 3)
ROW_FACTORS = _constants(PERMUTATIONS, 4)
HALF_BITS = np.uint64(32)
EMPTY_HASH = np.uint32(2**32 - 1)


def text_hash(text: str) -> bytes:
    """Return 16 bytes that are equal for texts that differ only in case, width forms or white space."""
    return xxhash.xxh3_128_digest(" ".join(_fold(text).split()).encode(errors="surrogatepass"))


def minhash(text: str) -> MinHashes:
    """Return 112 numbers of 32 bits; the share of equal numbers estimates the Jaccard similarity of the shingles.

    A text without a word has no shingles: all its numbers are `EMPTY_HASH`, and `has_shingles` returns False for it.
    """
    text_words = words(_fold(text))
    hashes = {word: xxhash.xxh3_64_intdigest(word.encode(errors="surrogatepass")) for word in set(text_words)}
    shingles = _shingles(
        np.fromiter(map(hashes.__getitem__, text_words), dtype=np.uint64, count=len(text_words))
    )
    minimums = np.full(PERMUTATIONS, EMPTY_HASH, dtype=np.uint32)
    for start in range(0, len(shingles), CHUNK):
        chunk = shingles[start : start + CHUNK, None]
        permuted = ((chunk * HASH_FACTORS + HASH_TERMS) >> HALF_BITS).astype(np.uint32)
        minimums = np.minimum(minimums, permuted.min(axis=0))
    return minimums


def has_shingles(minhashes: MinHashes) -> npt.NDArray[np.bool_]:
    """Return for each document whether it has shingles; documents without any do not resemble each other."""
    return np.asarray((minhashes[:, :4] != EMPTY_HASH).any(axis=1))


def band_keys(minhashes: MinHashes, band: int, rows: int) -> HashArray:
    """Return one 64-bit key per document; keys are equal if all rows of the band are equal."""
    first = band * rows
    keys = np.zeros(len(minhashes), dtype=np.uint64)
    for row in range(first, first + rows):
        keys = (keys ^ minhashes[:, row].astype(np.uint64)) * ROW_FACTORS[row]
        keys ^= keys >> HALF_BITS
    return keys


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _shingles(words: HashArray) -> HashArray:
    count = len(words) - SHINGLE_WORDS + 1
    if count < 1:
        return np.array(
            [np.bitwise_xor.reduce(words * POSITION_FACTORS[: len(words)])] if len(words) else [],
            dtype=np.uint64,
        )
    total = np.zeros(count, dtype=np.uint64)
    for place in range(SHINGLE_WORDS):
        total += words[place : place + count] * POSITION_FACTORS[place]
    # The permutations use high bits, and high bits depend on all the low ones: fold them down.
    return np.asarray(total ^ (total >> HALF_BITS), dtype=np.uint64)
