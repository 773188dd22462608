"""Tell pages that share nothing but the text of their site from copies. Pure.

A page with a short main text may be a menu or a notice for the most part. Such pages resemble each other, but what one
shares with another, most pages of the site share too, and each has some text that few others have.

1. A number of a MinHash is *rare* if less than `SITE_SHARE` of the documents of its host in the bucket hold it. A
   document has text of its own if at least `MIN_OWN` of its numbers are rare.
2. A bucket *tells* the text of a site if at least `MIN_PAGES` documents of the host, and at least half of them, have
   text of their own. Copies of one page have none. Versions of a page have none either, but for the first and the last
   one, because what one version adds, the next one keeps.
3. Two documents of such a host are no copies (`OWN_TEXT`) if one of them has text of its own and they share fewer rare
   numbers than they differ in. In a bucket that does not tell, this is `UNCLEAR`, unless more than `MAX_ALIKE` of their
   numbers are equal.

All of it follows from the documents of the bucket, as every decision about a bucket does.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.filters.dedup.zsets import IntArray

COPY, UNCLEAR, OWN_TEXT = range(3)
MIN_PAGES = 3
MIN_OWN = 0.05
"""A page of 200 words of which some five are its own is still a copy, because a date and a number make as much."""
SITE_SHARE = 0.25
MAX_ALIKE = 0.9
CHUNK = 1 << 16
"""Pairs or documents that are compared at a time; with 112 numbers each they take 60 MB."""

Numbers = npt.NDArray[np.unsignedinteger[Any]]
Words = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]


class SiteText(NamedTuple):
    """What buckets tell about the text of sites, for each of their members."""

    sites: Words
    """Hash of each member's host; 0 if it has none."""
    tells: Flags
    has_own: Flags
    rare: Flags
    """Shape (members, permutations)."""


def site_text(buckets: IntArray, sites: Words, minhashes: Numbers) -> SiteText:
    """Return what buckets tell. `buckets` is ascending. `sites` has the hash of each member's host."""
    order = np.lexsort((sites, buckets))
    is_start = np.ones(len(order), np.bool_)
    is_start[1:] = (buckets[order][1:] != buckets[order][:-1]) | (sites[order][1:] != sites[order][:-1])
    sizes = np.diff(np.append(np.flatnonzero(is_start), len(order)))
    sizes_of = np.repeat(sizes, sizes)
    asked = (sizes_of >= MIN_PAGES) & (sites[order] != 0)
    members, sizes_of = order[asked], sizes_of[asked]
    groups = np.cumsum(is_start[asked]) - 1
    rare_numbers = _rare_numbers(groups, sizes_of, minhashes[members])
    own = rare_numbers.sum(axis=1) >= MIN_OWN * minhashes.shape[1]
    with_own = np.bincount(groups, weights=own)[groups] if len(groups) else np.zeros(0)
    telling = with_own >= np.maximum(MIN_PAGES, sizes_of / 2)
    tells, has_own = np.zeros((2, len(buckets)), np.bool_)
    rare = np.zeros(minhashes.shape, np.bool_)
    tells[members], has_own[members], rare[members] = telling, own, rare_numbers
    return SiteText(sites, tells, has_own, rare)


def resemblances(
    known: SiteText, minhashes: Numbers, some: IntArray, others: IntArray, equal: IntArray
) -> Codes:
    """Return for each pair of members of a bucket that resemble each other `COPY`, `UNCLEAR` or `OWN_TEXT`. `equal` is
    how many numbers a pair shares.
    """
    permutations = minhashes.shape[1]
    found = np.full(len(some), COPY, np.uint8)
    of_site = (known.sites[some] != 0) & (known.sites[some] == known.sites[others])
    found[of_site & ~known.tells[some] & (equal <= MAX_ALIKE * permutations)] = UNCLEAR
    asked = np.flatnonzero(of_site & known.tells[some] & (known.has_own[some] | known.has_own[others]))
    for start in range(0, len(asked), CHUNK):
        pairs = asked[start : start + CHUNK]
        one, other = some[pairs], others[pairs]
        shared = ((minhashes[one] == minhashes[other]) & known.rare[one]).sum(axis=1)
        found[pairs] = np.where(shared < permutations - equal[pairs], OWN_TEXT, COPY)
    return found


def _rare_numbers(groups: IntArray, sizes: IntArray, minhashes: Numbers) -> Flags:
    """Return for each member of the groups which of its numbers few members of its group hold."""
    most = np.maximum(1, np.ceil(SITE_SHARE * sizes) - 1)
    rare = np.empty(minhashes.shape, np.bool_)
    numbers_of = groups.astype(np.uint64) << np.uint64(32)
    for at in range(minhashes.shape[1]):
        keys = numbers_of | minhashes[:, at]
        order = np.argsort(keys)
        keys = keys[order]
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else order
        holders = np.diff(np.append(starts, len(keys)))
        rare[order, at] = np.repeat(holders, holders) <= most[order]
    return rare
