"""Decide which documents are duplicates of each other. Pure, and a function of the set of documents alone.

1. Documents are compared by rank, an order of all documents; the smaller rank is the better document. No two documents
   have the same rank, because it ends with the id.
2. Of documents with equal texts the best stays. Of those that stay, the newest fetch of a URL stays.
3. Near duplicates share a bucket, which is a band of their MinHash. In the order of the ranks, each document of a
   bucket is compared with the bucket's leaders, which are better: the first leader that is similar enough is its
   witness in this bucket. If there is none, it is a leader itself, as long as there are fewer than `MAX_LEADERS`. Pages
   that share nothing but the text of their site are not similar enough (`filters.dedup.site_text`).
4. A document that has a witness in any bucket is removed. But if a bucket shows that it shares nothing but the text of
   its site with others, buckets in which that was unclear do not count. Its witness is the most similar one, then the
   one with the smallest id. A witness may be removed by a better one; the chain ends at a document that stays.

Each group and each bucket is decided by its own members. That is why a change of the documents changes nothing but the
groups that it touches (`filters.dedup.changes`).
"""

from typing import NamedTuple

import numpy as np

from thresher.filters.dedup.site_text import COPY, OWN_TEXT, Codes, Numbers, Words, resemblances, site_text
from thresher.filters.dedup.zsets import IntArray

MAX_LEADERS = 64
"""Bounds the comparisons in a bucket of documents that do not resemble each other. Such buckets are rare."""
CHUNK = 1 << 16
"""Pairs that are compared at a time; with 112 numbers each they take 60 MB."""


class BucketDecision(NamedTuple):
    """What the members of buckets are to each other."""

    witness: IntArray
    """For each member the one that it resembles, or -1."""
    equal: IntArray
    """How many of their numbers are equal."""
    resemblance: Codes
    """Whether the member is a copy of its witness (`site_text`)."""


def decide_buckets(buckets: IntArray, sites: Words, minhashes: Numbers, fewest_equal: int) -> BucketDecision:
    """Return the witnesses of the members of buckets. A member that is no copy of any leader has the first one of those
    with which it shares the text of their site only.

    `buckets` is ascending, and members of one bucket are in the order of their ranks. `sites` has the hash of each
    member's host, 0 if it has none.
    """
    witness, equal = np.full(len(buckets), -1, np.int64), np.zeros(len(buckets), np.int64)
    resemblance = np.full(len(buckets), COPY, np.uint8)
    known = site_text(buckets, sites, minhashes)
    undecided = np.arange(len(buckets))
    for _ in range(MAX_LEADERS):
        within = buckets[undecided]
        if not len(within):
            break
        leads = np.concatenate(([True], within[1:] != within[:-1]))
        leaders = undecided[np.maximum.accumulate(np.where(leads, np.arange(len(undecided)), 0))]
        others, their_leaders = undecided[~leads], leaders[~leads]
        shared = equal_numbers(minhashes, others, their_leaders)
        alike = np.flatnonzero(shared >= fewest_equal)
        some, those, numbers = others[alike], their_leaders[alike], shared[alike]
        found = resemblances(known, minhashes, some, those, numbers)
        new = (found != OWN_TEXT) | (witness[some] < 0)
        witness[some[new]], equal[some[new]], resemblance[some[new]] = those[new], numbers[new], found[new]
        stays = np.ones(len(others), np.bool_)
        stays[alike[found != OWN_TEXT]] = False
        undecided = others[stays]
    return BucketDecision(witness, equal, resemblance)


def equal_numbers(minhashes: Numbers, some: IntArray, others: IntArray) -> IntArray:
    """Return how many numbers are equal in two rows, pair by pair. Their share estimates the Jaccard similarity."""
    found = np.zeros(len(some), np.int64)
    for start in range(0, len(some), CHUNK):
        pairs = slice(start, start + CHUNK)
        found[pairs] = (minhashes[some[pairs]] == minhashes[others[pairs]]).sum(axis=1)
    return found
