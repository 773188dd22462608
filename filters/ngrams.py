"""How much of a text is n-grams that it holds more than once, for growing n.

An n-gram can occur twice only where its first n - 1 words do: the places of repeated n-grams are found among
those of repeated (n - 1)-grams, so a text that repeats little costs little beyond its pairs of words.
All numbers are exact; words are compared, not hashes of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedNgrams:
    """The n-grams that occur more than once."""

    n: int
    places: IntArray
    """Where they begin, in tokens, ascending."""
    grams: IntArray
    """Which one it is, by number."""
    ends: IntArray
    """Characters of the tokens before each token, and of all."""

    def top_characters(self) -> int:
        """Characters of all occurrences of the most frequent one, with a space between words.

        Of equally frequent ones the first counts, as in datatrove. 0 where nothing is repeated.
        """
        if not len(self.places):
            return 0
        counts = np.bincount(self.grams)[self.grams]
        most = int(counts.argmax())
        return int(counts[most]) * (self._characters(int(self.places[most])) + self.n - 1)

    def repeated_characters(self) -> int:
        """Characters of the n-grams that stood earlier in the text, spaces left out, none counted twice.

        The text is read from its start; behind an n-gram that was there before, reading goes on (datatrove).
        """
        seen: set[int] = set()
        characters = free = 0
        for place, gram in zip(self.places.tolist(), self.grams.tolist(), strict=True):
            if place < free:
                continue
            if gram in seen:
                characters += self._characters(place)
                free = place + self.n
            seen.add(gram)
        return characters

    def _characters(self, place: int) -> int:
        return int(self.ends[place + self.n] - self.ends[place])


def repeated_ngrams(tokens: Sequence[str]) -> Iterator[RepeatedNgrams]:
    """Repeated n-grams for n = 2, 3 and so on without end."""
    numbers = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    identities = np.fromiter(map(numbers.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    ends = np.zeros(len(tokens) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens)), out=ends[1:])
    places, grams = np.arange(len(tokens)), identities
    n = 1
    while True:
        n += 1
        whole = places + n <= len(tokens)
        places, grams = places[whole], grams[whole]
        # At most tokens x tokens: exact below 3e9 tokens.
        places, grams = _repeated_keys(places, grams * len(numbers) + identities[places + n - 1])
        yield RepeatedNgrams(n=n, places=places, grams=grams, ends=ends)


def _repeated_keys(places: IntArray, keys: IntArray) -> tuple[IntArray, IntArray]:
    """The places whose key stands at another place too, and the keys renumbered from 0."""
    if not len(places):
        return places, keys
    order = keys.argsort(kind="stable")
    ordered = keys[order]
    news = np.empty(len(keys), dtype=bool)
    news[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=news[1:])
    runs = news.cumsum() - 1
    again = np.bincount(runs)[runs] > 1
    kept = order[again]
    back = kept.argsort(kind="stable")
    return places[kept[back]], runs[again][back]
