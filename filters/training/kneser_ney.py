"""Train an n-gram model with interpolated modified Kneser-Ney smoothing, and write it as an ARPA file.

The estimate is that of KenLM's `lmplz` without pruning (Chen and Goodman 1998, section 4.1.6; Heafield et al. 2013,
"Scalable Modified Kneser-Ney Language Model Estimation", section 3): counts of lower orders are numbers of different
words to the left, except at the begin of a sentence; the unigrams are interpolated with the uniform distribution.
`lmplz` is in no Python package; this module needs some 200 bytes of memory for each word of the corpus, and `lmplz` has
no such limit. KenLM reads what either writes.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
MARKS = (UNKNOWN, BEGIN, END)
MAX_ORDER = 6
MAX_WORDS = 30_000_000
"""Words of a corpus: 6 GB of memory."""
FALLBACK = (0.5, 1.0, 1.5)
"""Discounts where counts of counts give none (`lmplz --discount_fallback`)."""
_CHUNK = 1 << 16
"""Lines that are joined before they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """The n-grams of one length: each array has one entry an n-gram."""

    words: Ints
    """The last word."""
    prefixes: Ints
    """The number of the n-gram without its last word, among those of the length before."""
    suffixes: Ints
    """The number of the n-gram without its first word."""
    counts: Ints
    """Occurrences; different words to the left for lower orders."""


def train_perplexity(sentences: Iterable[str], order: int, target: BinaryIO) -> dict[str, int]:
    """Write the model of `sentences`, whose words have spaces between them, to `target`. Return its sizes.

    Words that are marks of the format are left out. Raise `ValueError` if there are no words, or more than `MAX_WORDS`.
    """
    vocabulary, tokens, left = _numbered(sentences)
    orders = _counted(tokens, left, len(vocabulary), order)
    probabilities, backoffs = _estimated(orders, len(vocabulary))
    _write(vocabulary, orders, probabilities, backoffs, target)
    return {
        "words": int((tokens > MARKS.index(END)).sum()),
        **{f"{n}-grams": len(each.words) for n, each in enumerate(orders, 1)},
    }


def _numbered(sentences: Iterable[str]) -> tuple[list[str], Ints, Ints]:
    """Return the vocabulary, the numbers of all words with begins and ends, and how many words follow each of them in
    its sentence.
    """
    numbers = {mark: number for number, mark in enumerate(MARKS)}
    begin, end = numbers[BEGIN], numbers[END]
    parts: list[Ints] = []
    left: list[Ints] = []
    size = 0
    for sentence in sentences:
        words = [word for word in sentence.split() if word not in MARKS]
        if not words:
            continue
        line = [begin, *(numbers.setdefault(word, len(numbers)) for word in words), end]
        parts.append(np.array(line, np.int64))
        left.append(np.arange(len(line) - 1, -1, -1, dtype=np.int64))
        size += len(words)
        if size > MAX_WORDS:
            raise ValueError(
                f"more than {MAX_WORDS:,} words; take a part of the corpus, or use KenLM's lmplz"
            )
    if not parts:
        raise ValueError("there are no words")
    return list(numbers), np.concatenate(parts), np.concatenate(left)


def _counted(tokens: Ints, left: Ints, vocabulary: int, order: int) -> list[_Order]:
    begin = MARKS.index(BEGIN)
    grams = tokens
    raw = np.bincount(tokens, minlength=vocabulary)
    orders = [
        _Order(
            words=np.arange(vocabulary),
            prefixes=np.zeros(vocabulary, np.int64),
            suffixes=np.zeros(vocabulary, np.int64),
            counts=raw,
        )
    ]
    starts = np.arange(vocabulary) == begin
    for length in range(2, order + 1):
        places = np.flatnonzero(left >= length - 1)
        keys = grams[places] * vocabulary + tokens[places + length - 1]
        unique, first, inverse, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        suffixes = grams[places[first] + 1]
        before = orders[-1]
        # What is at the begin of a sentence has no word to its left: its occurrences count.
        distinct = np.bincount(suffixes, minlength=len(before.counts))
        orders[-1] = _Order(
            words=before.words,
            prefixes=before.prefixes,
            suffixes=before.suffixes,
            counts=np.where(starts, before.counts, distinct),
        )
        orders.append(
            _Order(words=unique % vocabulary, prefixes=unique // vocabulary, suffixes=suffixes, counts=counts)
        )
        starts = tokens[places[first]] == begin
        grams = np.full(len(tokens), -1, np.int64)
        grams[places] = inverse
    # Nothing predicts the begin of a sentence.
    orders[0].counts[begin] = 0
    return orders


def _estimated(orders: list[_Order], vocabulary: int) -> tuple[list[Floats], list[Floats]]:
    """Return the probability of each n-gram, and the weight that its continuations leave to shorter ones."""
    probabilities: list[Floats] = []
    backoffs: list[Floats] = []
    for length, each in enumerate(orders, 1):
        contexts = 1 if length == 1 else len(orders[length - 2].words)
        discounts = np.array([0.0, *_discounts(each.counts)])
        taken = discounts[np.minimum(each.counts, 3)]
        sums = np.bincount(each.prefixes, each.counts, contexts)
        rest = np.bincount(each.prefixes, taken, contexts)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = np.where(sums > 0, rest / sums, 1.0)
            direct = np.where(sums > 0, 1.0 / sums, 0.0)[each.prefixes] * (each.counts - taken)
        if length == 1:
            shorter = np.full(vocabulary, 1 / (vocabulary - 1))  # the begin of a sentence is never predicted
            probabilities.append(direct + weights[0] * shorter)
        else:
            backoffs.append(weights)
            probabilities.append(direct + weights[each.prefixes] * probabilities[-1][each.suffixes])
    return probabilities, backoffs


def _discounts(counts: Ints) -> tuple[float, float, float]:
    """Return what is taken off counts of 1, of 2, and of 3 or more."""
    t1, t2, t3, t4 = (int((counts == n).sum()) for n in range(1, 5))
    if not t1 or not t2 or not t3 or not t4:
        return FALLBACK
    y = t1 / (t1 + 2 * t2)
    found = (1 - 2 * y * t2 / t1, 2 - 3 * y * t3 / t2, 3 - 4 * y * t4 / t3)
    return found if all(0 < discount < n for n, discount in enumerate(found, 1)) else FALLBACK


def _write(
    vocabulary: list[str],
    orders: list[_Order],
    probabilities: list[Floats],
    backoffs: list[Floats],
    target: BinaryIO,
) -> None:
    file = io.TextIOWrapper(target, encoding="utf-8", newline="\n", write_through=False)
    sizes = "".join(f"ngram {n}={len(each.words)}\n" for n, each in enumerate(orders, 1))
    file.write(f"\\data\\\n{sizes}")
    texts: list[str] = [""]
    for length, (each, probability) in enumerate(zip(orders, probabilities, strict=True), 1):
        logs = np.log10(probability)
        if length == 1:
            logs[MARKS.index(BEGIN)] = -99
        words = (vocabulary[word] for word in each.words.tolist())
        prefixes = each.prefixes.tolist()
        texts = (
            list(words)
            if length == 1
            else [f"{texts[prefix]} {word}" for prefix, word in zip(prefixes, words, strict=True)]
        )
        file.write(f"\n\\{length}-grams:\n")
        rows: Iterator[str]
        if length < len(orders):
            weights = np.log10(np.maximum(backoffs[length - 1], 1e-99)).tolist()
            rows = (
                f"{log:.7g}\t{text}\t{weight:.7g}\n"
                for log, text, weight in zip(logs.tolist(), texts, weights, strict=True)
            )
        else:
            rows = (f"{log:.7g}\t{text}\n" for log, text in zip(logs.tolist(), texts, strict=True))
        while chunk := list(_take(rows)):
            file.write("".join(chunk))
    file.write("\n\\end\\\n")
    file.flush()
    file.detach()


def _take(rows: Iterator[str]) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        yield row
        if number == _CHUNK:
            return
