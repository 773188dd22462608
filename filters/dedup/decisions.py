"""Decide which documents are duplicates of each other. Pure, and a function of the set of documents alone.

1. Documents are compared by rank, an order of all documents; the smaller rank is the better document. No two documents
   have the same rank, because it ends with the id.
2. Of documents with equal texts the best stays. Of those that stay, the newest fetch of a URL stays.
3. Near duplicates share a bucket, which is a band of their MinHash. In the order of the ranks, each document of a
   bucket is compared with the bucket's leaders, which are better: the first leader that is similar enough is its
   witness in this bucket. If there is none, it is a leader itself, as long as there are fewer than `MAX_LEADERS`.
4. A document that has a witness in any bucket is removed. Its witness is the most similar one, then the one with the
   smallest id. A witness may be removed by a better one; the chain ends at a document that stays.

Each group and each bucket is decided by its own members. That is why a change of the documents changes nothing but the
groups that it touches (`filters.dedup.changes`).
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from filters.dedup.zsets import IntArray

Numbers: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
"""MinHashes, one a row."""

MAX_LEADERS = 64
"""Bounds the comparisons in a bucket of documents that do not resemble each other. Such buckets are rare."""
CHUNK = 1 << 16
"""Pairs that are compared at a time; with 112 numbers each they take 60 MB."""


def decide_buckets(buckets: IntArray, minhashes: Numbers, fewest_equal: int) -> tuple[IntArray, IntArray]:
    """Return for each member of the buckets the member that is its witness, or -1, and the number of equal numbers.

    `buckets` is ascending, and members of one bucket are in the order of their ranks.
    """
    witness, equal = np.full(len(buckets), -1, np.int64), np.zeros(len(buckets), np.int64)
    undecided = np.arange(len(buckets))
    for _ in range(MAX_LEADERS):
        within = buckets[undecided]
        if not len(within):
            break
        leads = np.concatenate(([True], within[1:] != within[:-1]))
        leaders = undecided[np.maximum.accumulate(np.where(leads, np.arange(len(undecided)), 0))]
        others, their_leaders = undecided[~leads], leaders[~leads]
        shared = equal_numbers(minhashes, others, their_leaders)
        alike = shared >= fewest_equal
        witness[others[alike]], equal[others[alike]] = their_leaders[alike], shared[alike]
        undecided = others[~alike]
    return witness, equal


def equal_numbers(minhashes: Numbers, some: IntArray, others: IntArray) -> IntArray:
    """Return how many numbers are equal in two rows, pair by pair. Their share estimates the Jaccard similarity."""
    found = np.zeros(len(some), np.int64)
    for start in range(0, len(some), CHUNK):
        pairs = slice(start, start + CHUNK)
        found[pairs] = (minhashes[some[pairs]] == minhashes[others[pairs]]).sum(axis=1)
    return found
