"""Find the n-grams that occur more than once in a text, for growing n, and measure how much of the text they are.

An n-gram can occur twice only if its first n - 1 words do. Repeated n-grams are therefore searched only at the places
of repeated (n - 1)-grams, and a text with little repetition costs little more than its pairs of words. All numbers are
exact, because words are compared and not their hashes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
TOP_LENGTHS = (2, 3, 4)
"""Lengths of n-grams of which the most frequent one is measured (Rae et al. 2021, table A1)."""
REPEATED_LENGTHS = (5, 6, 7, 8, 9, 10)
"""Lengths of n-grams of which all that repeat are measured (the same)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedNgrams:
    """The n-grams of one length that occur more than once."""

    n: int
    places: IntArray
    """Token numbers at which they begin, ascending."""
    grams: IntArray
    """Number of the n-gram at each place; equal n-grams have equal numbers."""
    ends: IntArray
    """Number of characters in the tokens before each token; the last entry counts all tokens."""

    def top_characters(self) -> int:
        """Return the characters of all occurrences of the most frequent n-gram, with a space between words.

        If several are equally frequent, the first one counts, as in datatrove: the first n-gram of a text in which
        none is repeated. Return 0 if the text has fewer than n tokens.
        """
        if not len(self.places):
            return self._characters(0) + self.n - 1 if self.n < len(self.ends) else 0
        counts = np.bincount(self.grams)[self.grams]
        most = int(counts.argmax())
        return int(counts[most]) * (self._characters(int(self.places[most])) + self.n - 1)

    def repeated_characters(self) -> int:
        """Return the characters, without spaces, of all n-grams that occurred earlier in the text. None counts twice.

        The text is scanned from its start. After a repeated n-gram the scan continues behind its last word, as in
        datatrove.
        """
        seen: set[int] = set()
        characters = resume = 0
        for place, gram in zip(self.places.tolist(), self.grams.tolist(), strict=True):
            if place < resume:
                continue
            if gram in seen:
                characters += self._characters(place)
                resume = place + self.n
            seen.add(gram)
        return characters

    def longest_top_characters(self) -> int:
        """Return the characters, without spaces, of all occurrences of the most frequent n-gram. If several are equally
        frequent, the longest one counts, as in DCLM. Return 0 if nothing is repeated.
        """
        if not len(self.places):
            return 0
        counts = np.bincount(self.grams)[self.grams]
        places = self.places[counts == counts.max()]
        return int(counts.max()) * int((self.ends[places + self.n] - self.ends[places]).max())

    def covered_characters(self) -> int:
        """Return the characters of all tokens that belong to an n-gram that occurs more than once, as in DCLM."""
        marks = np.zeros(len(self.ends), dtype=np.int64)
        np.add.at(marks, self.places, 1)
        np.add.at(marks, self.places + self.n, -1)
        return int(np.diff(self.ends)[marks.cumsum()[:-1] > 0].sum())

    def _characters(self, place: int) -> int:
        return int(self.ends[place + self.n] - self.ends[place])


def require_lengths(top: Sequence[tuple[int, float]], repeated: Sequence[tuple[int, float]]) -> None:
    """Raise `ValueError` unless the limits of a rule on repetition are for lengths that it measures, each once."""
    for name, limits, lengths in (("top", top, TOP_LENGTHS), ("repeated", repeated, REPEATED_LENGTHS)):
        found = [n for n, _ in limits]
        if len({*found}) < len(found) or not {*found} <= {*lengths}:
            known = ", ".join(map(str, lengths))
            raise ValueError(
                f"`{name}` must have pairs of a length and a limit, lengths of {known}, each once"
            )


def repeated_ngrams(identities: IntArray, lengths: IntArray) -> Iterator[RepeatedNgrams]:
    """Yield the repeated n-grams for n = 2, 3 and so on without end.

    `identities` has a number for each token, the same for equal tokens, and `lengths` its characters.
    """
    count = int(identities.max()) + 1 if len(identities) else 0
    ends = np.zeros(len(identities) + 1, dtype=np.int64)
    lengths.cumsum(out=ends[1:])
    places, grams = np.arange(len(identities)), identities
    n = 1
    while True:
        n += 1
        if len(places):
            if places[-1] + n > len(identities):  # no other place can be so near to the end
                places, grams = places[:-1], grams[:-1]
            # A key is smaller than the number of tokens squared, or that of tokens of a lexicon: 64 bits are exact.
            places, grams = _repeated_keys(places, grams * count + identities[places + n - 1])
        yield RepeatedNgrams(n=n, places=places, grams=grams, ends=ends)


def _repeated_keys(places: IntArray, keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the places whose key occurs at another place too, and a number from 0 for each key."""
    if not len(places):
        return places, keys
    order = keys.argsort()
    ordered = keys[order]
    numbers = np.zeros(len(keys), dtype=np.int64)
    (ordered[1:] != ordered[:-1]).cumsum(out=numbers[1:])
    if numbers[-1] == len(keys) - 1:
        return places[:0], keys[:0]
    grams = np.empty_like(numbers)
    grams[order] = numbers
    is_repeated = np.bincount(numbers)[grams] > 1
    return places[is_repeated], grams[is_repeated]
