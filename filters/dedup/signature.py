"""Compute the signatures of a text: a hash for equality and a MinHash for similarity.

1. Both are computed from the folded text: NFKC, then case-folded.
2. A shingle has five words, as in FineWeb; a text of fewer words is one shingle. A word is a run of letters, digits and
   their marks. In scripts that put no space between words (Han, kana, Thai, Lao, Myanmar, Khmer), each letter is a
   word, so their shingles are five letters.
3. Everything is arithmetic on arrays of 32-bit words that wrap: characters become numbers, words polynomials of their
   characters, shingles sums of their words, and each permutation multiplies and adds (Dietzfelbinger et al. 1997). Any
   other implementation with the same constants gives the same numbers. Number n of a MinHash does not depend on how
   many numbers follow.
4. Shingles have 32 bits, which is what a MinHash keeps of them. Among a million shingles, one in 4,300 shares its
   number with another.
"""

import re
import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import xxhash

from thresher.core.unicode14 import category, known, original
from thresher.filters.dedup.dedup_versions import SEED, SHINGLE_WORDS
from thresher.filters.words import UNSPACED

PERMUTATIONS = 112
"""Numbers of a MinHash that 14 bands of 8 rows need, as in FineWeb."""
MAX_PERMUTATIONS = 10_000
"""Leaves room for the 450 bands of 20 rows of Lee et al. 2021."""
CHUNK = 1 << 16
"""Numbers that are permuted at a time; they take 256 kB, which stays in the cache of a core."""
MAX_WORD = 1 << 14
"""Characters of a word that count. Longer words are not language."""

MinHashes = npt.NDArray[np.uint32]
HashArray = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.uint32]
Indexes = npt.NDArray[np.intp]

EMPTY_HASH = np.uint32(2**32 - 1)
_HALF = np.uint64(32)

_TABLE = 1 << 18
"""Code points that the tables of characters have; the letters of Unicode lie below."""
_BESIDE, _JOINED, _ALONE, _MARK = range(4)
"""Classes of a character: between words, part of a word, a word, mark of a letter that is a word."""


def sign(text: str, permutations: int = PERMUTATIONS) -> tuple[bytes, MinHashes]:
    """Return the `text_hash` and the `minhash` of a text."""
    folded = fold(text)
    return _hash(folded), _minhash(folded, permutations)


def text_hash(text: str) -> bytes:
    """Return 16 bytes that are equal for texts that differ only in case, width forms or white space."""
    return _hash(fold(text))


def minhash(text: str, permutations: int = PERMUTATIONS) -> MinHashes:
    """Return numbers of 32 bits; the share of equal numbers estimates the Jaccard similarity of the shingles.

    A text without a word has no shingles: all its numbers are `EMPTY_HASH`, and `has_shingles` returns False for it.
    """
    return _minhash(fold(text), permutations)


def minhash_of(shingles: Numbers, permutations: int = PERMUTATIONS) -> MinHashes:
    """Return the MinHash of a set of numbers of 32 bits."""
    factors, terms = (numbers[:, None] for numbers in permutation_parameters(permutations))
    mixed = _mixed(shingles)
    minimums = np.full(permutations, EMPTY_HASH, np.uint32)
    chunk = max(1, CHUNK // permutations)
    for start in range(0, len(mixed), chunk):
        permuted = factors * mixed[start : start + chunk]
        permuted += terms
        np.minimum(minimums, permuted.min(axis=1), out=minimums)
    return minimums


@lru_cache(maxsize=4)
def permutation_parameters(permutations: int) -> tuple[Numbers, Numbers]:
    """Return factors and terms: permutation n of a number of 32 bits is `factors[n] * x + terms[n]` modulo 2^32, and x
    is the number after the finalizer of MurmurHash3. This is the scheme `affine32` of datasketch 2.
    """
    factors, terms = (_constants(permutations, salt) for salt in (1, 2))
    return factors.astype(np.uint32), (terms >> _HALF).astype(np.uint32)


def shingle_hashes(text: str) -> Numbers:
    """Return a number of 32 bits for each shingle of a text, in order, repeated ones included."""
    return _shingles(_words(fold(text)))


def has_shingles(minhashes: MinHashes) -> npt.NDArray[np.bool_]:
    """Return for each document whether it has shingles; documents without any do not resemble each other."""
    return np.asarray((minhashes[:, :4] != EMPTY_HASH).any(axis=1))


def band_keys(minhashes: MinHashes, band: int, rows: int) -> HashArray:
    """Return one 64-bit key per document; keys are equal if all rows of the band are equal.

    The key depends on the number of the band, so different bands do not share keys.
    """
    first = band * rows
    factors = _band_factors(first + rows)
    keys = np.zeros(len(minhashes), dtype=np.uint64)
    for row in range(first, first + rows):
        keys = (keys ^ minhashes[:, row].astype(np.uint64)) * factors[row]
        keys ^= keys >> _HALF
    return keys


def all_band_keys(minhashes: MinHashes, bands: int, rows: int) -> HashArray:
    """Return the keys of `band_keys` for all bands: one row per document, one column per band."""
    numbers = minhashes[:, : bands * rows].reshape(len(minhashes), bands, rows).astype(np.uint64)
    factors = _band_factors(bands * rows).reshape(bands, rows)
    keys = np.zeros((len(minhashes), bands), dtype=np.uint64)
    for row in range(rows):
        keys = (keys ^ numbers[:, :, row]) * factors[:, row]
        keys ^= keys >> _HALF
    return keys


def fold(text: str) -> str:
    """Return the text in NFKC and case-folded. A folded text stays as it is. Line breaks stay where they are."""
    if text.isascii():
        return text.lower()
    # Folding may leave letters and marks that compose.
    return original(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", known(text)).casefold()))


def _hash(folded: str) -> bytes:
    if not folded.isascii():
        return xxhash.xxh3_128_digest(" ".join(folded.split()).encode(errors="surrogatepass"))
    # The same bytes, in a fifth of the time.
    data = folded.encode().translate(_SPACES).strip(b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return xxhash.xxh3_128_digest(data)


def _minhash(folded: str, permutations: int) -> MinHashes:
    return minhash_of(_shingles(_words(folded)), permutations)


def _shingles(words: Numbers) -> Numbers:
    size = min(SHINGLE_WORDS, len(words))
    count = len(words) - size + 1 if size else 0
    total = np.zeros(count, np.uint32)
    for place in range(size):
        total += words[place : place + count] * _PLACE_FACTORS[place]
    return total


def _words(folded: str) -> Numbers:
    """Return the hash of each word, in order."""
    if folded.isascii():
        values = _ASCII_VALUES.take(np.frombuffer(folded.encode(), np.uint8))
        inside = values != 0
        starts = np.flatnonzero(inside[1:] > inside[:-1]) + 1
        if len(inside) and inside[0]:
            starts = np.concatenate(([0], starts))
    else:
        classes, all_values = _characters()
        points = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), "<u4")
        points = np.minimum(points, np.uint32(_TABLE - 1))
        values, kinds = all_values.take(points), classes.take(points)
        before = np.concatenate((np.zeros(1, np.uint8), kinds[:-1]))
        starts = np.flatnonzero(
            (kinds == _ALONE)
            | ((kinds == _JOINED) & (before != _JOINED))
            | ((kinds == _MARK) & (before == _BESIDE))
        )
    if not len(starts):
        return np.empty(0, np.uint32)
    if len(values) <= MAX_WORD:
        return _polynomials(values, starts)
    return np.concatenate(list(_by_block(values, starts)))


def _by_block(values: Numbers, starts: Indexes) -> list[Numbers]:
    """Hash the words of a long text in pieces of at most `MAX_WORD` characters, each of which begins with a word."""
    hashes, first = [], 0
    while first < len(starts):
        begin = starts[first]
        # A word belongs to the piece if the next one begins within it.
        end = int(np.searchsorted(starts, begin + MAX_WORD, side="right")) - 1
        end = max(end, first + 1) if begin + MAX_WORD < len(values) else len(starts)
        until = min(int(starts[end]) if end < len(starts) else len(values), int(begin) + MAX_WORD)
        hashes.append(_polynomials(values[begin:until], starts[first:end] - begin))
        first = end
    return hashes


def _polynomials(values: Numbers, starts: Indexes) -> Numbers:
    """Return a hash for the characters from each start to the next. Characters with the value 0 do not count."""
    sums = np.add.reduceat(values * _POWERS[: len(values)], starts, dtype=np.uint32)
    return _mixed(sums * _INVERSE_POWERS[starts])


def _mixed(numbers: Numbers) -> Numbers:
    """Return numbers whose bits depend on all bits of the given ones (the finalizer of MurmurHash3)."""
    numbers = numbers ^ (numbers >> np.uint32(16))
    numbers *= np.uint32(0x85EBCA6B)
    numbers ^= numbers >> np.uint32(13)
    numbers *= np.uint32(0xC2B2AE35)
    numbers ^= numbers >> np.uint32(16)
    return numbers


def _constants(count: int, salt: int) -> HashArray:
    """Return `count` odd 64-bit constants, each the XXH3 hash of its number."""
    numbers = [xxhash.xxh3_64_intdigest(f"{SEED}/{salt}/{number}".encode()) | 1 for number in range(count)]
    return np.array(numbers, dtype=np.uint64)


@lru_cache(maxsize=64)
def _band_factors(count: int) -> HashArray:
    return _constants(count, 4)


@lru_cache(maxsize=1)
def _characters() -> tuple[npt.NDArray[np.uint8], Numbers]:
    """Return the class and the value of each code point."""
    categories = (category(chr(point))[0] for point in range(_TABLE))
    kinds = {"L": _JOINED, "N": _JOINED, "M": _JOINED}
    classes = np.fromiter((kinds.get(each, _BESIDE) for each in categories), np.uint8, _TABLE)
    for first, last in re.findall(r"(.)-(.)", UNSPACED):
        block = classes[ord(first) : ord(last) + 1]
        block[block == _JOINED] = _ALONE
        marks = [at for at in range(len(block)) if category(chr(ord(first) + at))[0] == "M"]
        block[marks] = _MARK
    classes[_TABLE - 1] = _BESIDE
    return classes, _values(np.arange(_TABLE, dtype=np.uint32), classes != _BESIDE)


def _values(points: Numbers, is_inside: npt.NDArray[np.bool_]) -> Numbers:
    """Return an odd number for each character of a word, and 0 for others."""
    return np.where(is_inside, _mixed(points * np.uint32(2) + np.uint32(1)) | np.uint32(1), np.uint32(0))


_PLACE_FACTORS = _constants(SHINGLE_WORDS, 3).astype(np.uint32)
_SPACES = bytes(ord(" ") if chr(byte).isspace() and byte < 128 else byte for byte in range(256))
_ASCII = np.arange(128, dtype=np.uint32)
_ASCII_VALUES = _values(_ASCII, np.array([chr(point).isalnum() for point in _ASCII.tolist()]))
_BASE = 0x2C1B3C6D
"""Odd, and 5 modulo 8, so that its powers repeat after 2^30 characters only."""
_POWERS = np.cumprod(np.full(MAX_WORD, _BASE, np.uint32), dtype=np.uint32)
_INVERSE_POWERS = np.cumprod(np.full(MAX_WORD, pow(_BASE, -1, 2**32), np.uint32), dtype=np.uint32)
