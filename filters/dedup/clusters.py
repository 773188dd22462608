"""The clusters of duplicates: the document that stands for each removed one. Pure."""

import numpy as np

from thresher.filters.dedup.dedup_rows import ID, WITNESS, find
from thresher.filters.dedup.zsets import IntArray, Rows, sort_order, starts_of

CHUNK = 1 << 20
"""Removals whose witnesses are looked up at a time; they take 60 MB."""


def cluster_roots(removals: Rows) -> Rows:
    """Return for each removal the id of the document that stays for it, at the end of its chain of witnesses.

    `removals` is sorted by id.
    """
    pieces = [find(removals[at : at + CHUNK], removals, WITNESS) for at in range(0, len(removals), CHUNK)]
    witness = np.concatenate([np.empty(0, np.int64), *pieces])
    # Chains end, because a witness is better than its document: each round doubles the steps that were taken.
    last = np.where(witness < 0, np.arange(len(removals)), witness)
    while True:
        further = last[last]
        if (further == last).all():
            break
        last = further
    root = np.empty(len(removals), np.dtype([(name, "<u8") for name in ID]))
    for name, of in zip(ID, WITNESS, strict=True):
        root[name] = removals[of][last]
    return root


def cluster_sizes(removals: Rows) -> IntArray:
    """Return for each removal the number of documents of its cluster, including the one that stays.

    `removals` is sorted by id. A cluster is everything whose chain of witnesses ends at one document.
    """
    root = cluster_roots(removals)
    order = sort_order(root, ID)
    starts = starts_of(root[order], ID)
    sizes = np.empty(len(removals), np.int64)
    counts = np.diff(np.append(starts, len(root)))
    sizes[order] = np.repeat(counts + 1, counts)
    return sizes
