"""Word lists by language: read them, and measure how many words of a text are listed.

A list has a word or a phrase a line; empty lines and lines that begin with `#` do not count. It is split like any text
(`filters.words`) and compared in lower case, so a phrase of a script without spaces is found within a sentence, and
`ass` is not found in `class`. C4 drops a document with one such word (Raffel et al. 2020, section 2.2), which is the
default here. Its list, LDNOOBW, is not part of Thresher.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from thresher.core.unicode14 import known
from thresher.filters.text import AnalyzedText, Finding
from thresher.filters.words import WORDS_VERSION, words

LIST_NAME = re.compile(r"([a-z]{2,3})(?:[-_][A-Za-z0-9]{1,8}){0,8}(?:\.txt)?")
"""Name of a file with the list of a language: `en` or `en.txt`, also with a country or more subtags of BCP 47, such as
LDNOOBW's `fr-CA-u-sd-caqc`."""


def parse_list(lines: Iterable[str]) -> list[str]:
    """Return the entries of a list, sorted, each once."""
    entries = (line.strip() for line in lines)
    return sorted({entry for entry in entries if entry and not entry.startswith("#") and words(known(entry))})


def encode_lists(lists: Mapping[str, Sequence[str]]) -> bytes:
    """Return the bytes of lists by language; the language of a list for all languages is empty."""
    return json.dumps(lists, ensure_ascii=False, sort_keys=True).encode()


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of a list. To look one up takes as long whatever the number of phrases with the same first word."""

    lengths: Mapping[str, tuple[int, ...]]
    """Numbers of words of the phrases, by their first word, the longest first."""
    known: frozenset[tuple[str, ...]]

    @staticmethod
    def of(entries: Iterable[str]) -> "Phrases":
        """Return the phrases of a list."""
        phrases = frozenset(tuple(words(known(entry).lower())) for entry in entries)
        lengths: dict[str, set[int]] = {}
        for phrase in phrases:
            lengths.setdefault(phrase[0], set()).add(len(phrase))
        return Phrases({first: tuple(sorted(each, reverse=True)) for first, each in lengths.items()}, phrases)

    def count(self, found: Sequence[str]) -> int:
        """Return how many of the words `found` are in listed phrases. A word belongs to one phrase at most."""
        count = resume = 0
        for place, word in enumerate(found):
            if place < resume or word not in self.lengths:
                continue
            for length in self.lengths[word]:
                phrase = tuple(found[place : place + length])
                if len(phrase) == length and phrase in self.known:
                    count += length
                    resume = place + length
                    break
        return count


def decode_lists(data: bytes) -> dict[str, Phrases]:
    """Return the phrases of `encode_lists` by language, each together with those for all languages."""
    lists: dict[str, list[str]] = json.loads(data)
    every = lists.get("", [])
    return {language: Phrases.of([*every, *entries]) for language, entries in lists.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordListRule:
    """Drop documents in which more than a share of the words are listed."""

    lists: str
    """Name of the stored lists, which has their digest."""
    most: float
    phrases: Callable[[str], Mapping[str, Phrases]] = field(repr=False, compare=False)
    """Returns stored lists by language."""

    name: ClassVar[str] = "word_list"
    measures: ClassVar[tuple[str, ...]] = ("listed_words",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Lists and limit."""
        return {"lists": self.lists, "most": self.most, "words": WORDS_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure the share of listed words; nothing is measured in a language without a list."""
        by_language = self.phrases(self.lists)
        phrases = by_language.get(text.language) or by_language.get("")
        if phrases is None:
            return Finding(measurements={}, reason=None)
        count = listed = 0
        for found in text.plain_words():
            count += len(found)
            listed += phrases.count(found)
        share = listed / max(count, 1)
        return Finding(
            measurements={"listed_words": share}, reason="listed_words" if share > self.most else None
        )
