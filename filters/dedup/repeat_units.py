"""Divide a text into the units that may repeat: windows of words, lines and paragraphs, each with a hash. Pure.

1. A word is a run of characters without white space. In scripts that put no space between words (Han, kana, Thai, Lao,
   Myanmar, Khmer) each letter begins a word, and marks and punctuation belong to the letter before. So no window begins
   or ends inside a word or inside a grapheme.
2. A window is N words in a row. Windows are equal if their words are equal; white space between words does not count.
3. Each window has a filter: the smallest hash among its runs of N/2 words (winnowing: Schleimer, Wilkerson and Aiken
   2003). Equal windows have equal filters, and neighbours mostly share theirs, so a text of n words has about 4n/N
   filters. A window whose filter occurs once does not repeat: filters find out which windows need to be compared.
4. Lines end with a line break, paragraphs with an empty line. They are equal if they differ only in letter case, width
   forms and white space, as equal documents are.
"""

from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import xxhash

from thresher.core.unicode14 import category
from thresher.filters.dedup.signature import fold
from thresher.filters.dedup.zsets import IntArray
from thresher.filters.words import is_unspaced

Hashes = npt.NDArray[np.uint64]

BLOCK = 1 << 15
"""Characters that are hashed at a time. Characters of a word behind so many do not count in its hash."""
_TABLE = 1 << 18
"""Code points with a class of their own; the letters of Unicode lie below."""
_SPACE, _OTHER, _LETTER, _ALONE, _MARK = range(5)
_STACKERS = "\u1039\u17d2"
"""Signs of Myanmar and Khmer that put the next letter below the one before."""
_EXTENDING = "\u0e33\u0eb3\uff9e\uff9f\u200d" + "".join(map(chr, range(0x1F3FB, 0x1F400)))
"""Characters that no mark category has, and that belong to the character before (UAX 29, table 1b)."""
_BASE, _FACTOR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
"""Odd; the second is 3 modulo 8, so its powers repeat after 2^62 words only."""


_SPACES = bytes(
    ord(" ") if chr(byte).isspace() and byte < 128 and byte != 10 else byte for byte in range(256)
)
"""Bytes with a space in place of each white space of ASCII but the line break."""
_SPACES_OF_NFKC = "\x85\u1680\u2028\u2029"
"""White space that is neither ASCII nor mapped to a space by NFKC."""


class Words(NamedTuple):
    """The words of a text: word n has the characters from `starts[n]` to `ends[n]`."""

    starts: IntArray
    ends: IntArray
    hashes: Hashes


class Blocks(NamedTuple):
    """The lines or paragraphs of a text that are not empty, without the line break behind them."""

    starts: IntArray
    ends: IntArray
    high: Hashes
    low: Hashes
    """The two words of a hash of 128 bits."""


Units: TypeAlias = Words | Blocks


def words(text: str) -> Words:
    """Return the words of a text."""
    all_kinds, all_values = _characters()
    if text.isascii():
        points = np.frombuffer(text.encode(), np.uint8)
    else:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        points = np.minimum(points, np.uint32(_TABLE - 1))
    kinds = all_kinds.take(points)
    before = np.concatenate((np.array([_SPACE], np.uint8), kinds[:-1]))
    begins = (before == _SPACE) & (kinds != _SPACE) & (kinds != _MARK)
    if (kinds == _ALONE).any():
        begins |= ((kinds == _ALONE) & ~_is_stacked(points, kinds)) | (
            (kinds == _LETTER) & (before == _ALONE)
        )
    starts = np.flatnonzero(begins)
    if not len(starts):
        return Words(starts, starts, np.empty(0, np.uint64))
    ends = np.append(starts[1:], len(points))
    is_space_behind = kinds[ends - 1] == _SPACE
    visible_ends = np.flatnonzero((kinds == _SPACE) & (before != _SPACE))
    ends[is_space_behind] = visible_ends[
        np.searchsorted(visible_ends, ends[is_space_behind], side="left") - 1
    ]
    return Words(starts, ends, _word_hashes(points, all_values, starts))


def _is_stacked(points: npt.NDArray[Any], kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return which characters follow a sign that stacks letters, with nothing but marks between the two."""
    places = np.arange(1, len(points) + 1)
    is_stacker = np.isin(points, [ord(sign) for sign in _STACKERS])
    last_stacker = np.maximum.accumulate(np.where(is_stacker, places, 0))
    last_other = np.maximum.accumulate(np.where(kinds == _MARK, 0, places))
    return np.concatenate(([False], (last_stacker > last_other)[:-1]))


def window_hashes(hashes: Hashes, size: int) -> Hashes:
    """Return the hash of each window of `size` words; none if there are fewer words."""
    return _mixed(_polynomials(hashes, size))


def window_filters(hashes: Hashes, size: int) -> Hashes:
    """Return the filter of each window of `size` words (rule 3)."""
    run = -(-size // 2)
    smallest, span = _mixed(_polynomials(hashes, run)), 1
    wanted = size - run + 1
    while 2 * span <= wanted:
        smallest, span = np.minimum(smallest[: max(len(smallest) - span, 0)], smallest[span:]), 2 * span
    rest = wanted - span
    return np.minimum(smallest[: max(len(smallest) - rest, 0)], smallest[rest:])


def filter_counts(filters: Hashes, size: int) -> tuple[Hashes, IntArray]:
    """Return the filters of a text, equal neighbours once, and for each how many of its windows may lie at a distance
    of at least `size` words: 1 if all of them overlap.
    """
    if not len(filters):
        return filters, np.empty(0, np.int64)
    starts = np.concatenate(([0], np.flatnonzero(filters[1:] != filters[:-1]) + 1))
    lengths = np.diff(np.append(starts, len(filters)))
    return filters[starts], -(-lengths // size)


def lines(text: str) -> Blocks:
    """Return the lines of a text."""
    return _blocks([(line, line) for line in range(text.count("\n") + 1)], text)


def paragraphs(text: str) -> Blocks:
    """Return the paragraphs of a text: runs of lines that are not empty."""
    runs: list[tuple[int, int]] = []
    empty_before = True
    for number, line in enumerate(text.split("\n")):
        is_empty = not line or line.isspace()
        if not is_empty:
            first = number if empty_before else runs.pop()[0]
            runs.append((first, number))
        empty_before = is_empty
    return _blocks(runs, text)


def different(blocks: Blocks) -> tuple[Hashes, Hashes]:
    """Return the hashes of a text's lines or paragraphs, each once."""
    order = np.lexsort((blocks.low, blocks.high))
    high, low = blocks.high[order], blocks.low[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return high[is_new], low[is_new]


def is_same_block(one: str, other: str) -> bool:
    """Return whether two lines or paragraphs are equal (rule 4)."""
    return fold(one).split() == fold(other).split()


def is_same_passage(one: str, other: str) -> bool:
    """Return whether two passages are equal (rule 2)."""
    return one == other or "".join(one.split()) == "".join(other.split())


def _blocks(runs: list[tuple[int, int]], text: str) -> Blocks:
    """Return the blocks of lines from one number to another, both included; empty ones are left out."""
    folded = fold(text)
    if not folded.isascii():
        for space in _SPACES_OF_NFKC:
            folded = folded.replace(space, " ")
    data = folded.encode(errors="surrogatepass").translate(_SPACES)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    keys = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ").split(b"\n")
    offsets = np.concatenate(([0], np.cumsum([len(line) + 1 for line in text.split("\n")])))
    spans, digests = [], []
    for first, last in runs:
        key = keys[first] if first == last else b" ".join(keys[first : last + 1])
        if key:
            spans.append((first, last))
            digests.append(xxhash.xxh3_128_digest(key))
    numbers = np.array(spans, np.int64).reshape(-1, 2)
    halves = np.frombuffer(b"".join(digests), ">u8").astype(np.uint64).reshape(-1, 2)
    return Blocks(offsets[numbers[:, 0]], offsets[numbers[:, 1] + 1] - 1, halves[:, 0], halves[:, 1])


def _word_hashes(points: npt.NDArray[Any], all_values: Hashes, starts: IntArray) -> Hashes:
    """Return the hash of the visible characters from each start to the next, in blocks that begin with a word."""
    powers, inverse = _powers()
    found, first = [], 0
    while first < len(starts):
        begin = int(starts[first])
        last = max(int(np.searchsorted(starts, begin + BLOCK, side="right")) - 1, first + 1)
        last = len(starts) if len(points) - begin <= BLOCK else last
        stop = min(int(starts[last]) if last < len(starts) else len(points), begin + BLOCK)
        places = starts[first:last] - begin
        values = all_values.take(points[begin:stop])
        sums = np.add.reduceat(values * powers[: stop - begin], places)
        found.append(_mixed(sums * inverse[places]))
        first = last
    return np.concatenate(found)


def _polynomials(hashes: Hashes, size: int) -> Hashes:
    """Return for each run of `size` words the sum of their hashes times powers of a factor."""
    if len(hashes) < size:
        return np.empty(0, np.uint64)
    found, length = np.zeros(len(hashes) + 1, np.uint64), 0
    power, span = hashes, 1
    while True:
        if size & span:
            count = len(hashes) - length - span + 1
            factor = np.uint64(pow(_FACTOR, span, 1 << 64))
            found, length = found[:count] * factor + power[length : length + count], length + span
        if 2 * span > size:
            return found
        factor = np.uint64(pow(_FACTOR, span, 1 << 64))
        power, span = power[:-span] * factor + power[span:], 2 * span


def _mixed(numbers: Hashes) -> Hashes:
    """Return numbers whose bits depend on all bits of the given ones (the finalizer of SplitMix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))


@lru_cache(maxsize=1)
def _powers() -> tuple[Hashes, Hashes]:
    """Return the powers of the base for the places of a block, and their inverses."""
    return _powers_of(_BASE), _powers_of(pow(_BASE, -1, 1 << 64))


def _powers_of(base: int) -> Hashes:
    factors = np.full(BLOCK, base, np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


@lru_cache(maxsize=1)
def _characters() -> tuple[npt.NDArray[np.uint8], Hashes]:
    """Return the class and the value of each code point. White space has the value 0. All code points from the end of
    the table on have the value of its last one.
    """
    kinds = np.fromiter((_kind(chr(point)) for point in range(_TABLE)), np.uint8, _TABLE)
    values = _mixed(np.arange(1, _TABLE + 1, dtype=np.uint64))
    values[kinds == _SPACE] = 0
    return kinds, values


def _kind(character: str) -> int:
    if character.isspace():
        return _SPACE
    kind = category(character)[0]
    if kind == "M" or character in _EXTENDING:
        return _MARK
    if kind not in "LN":
        return _OTHER
    return _ALONE if is_unspaced(character) else _LETTER
