"""Which of some new documents repeat a document that is known. Pure.

1. A new document is screened if its text equals a known one, or if it shares a band with a known document and enough
   numbers of their MinHashes are equal. These are the matches of `filters.dedup.decisions`, and only verified ones.
2. A near duplicate of the same host is no match. It may be a newer version of the page, and `dedup` keeps the newest.
   Or the two may share nothing but the text of their site, which only `dedup` can tell, because it sees the other
   pages of the site (`site_text`).
3. A document whose source is preferred to that of the known one is no match, because `dedup` would keep the new one.
4. Of a band, the `MAX_MEMBERS` members with the smallest ids are compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.filters.dedup.dedup_rows import ID, SITE, TEXT, find
from thresher.filters.dedup.document_rows import site_hash
from thresher.filters.dedup.signature import HashArray, MinHashes, all_band_keys, has_shingles
from thresher.filters.dedup.zsets import IntArray, Rows

MAX_MEMBERS = 16
"""Members of a band that a document is compared with. Bands with more hold copies of few texts."""

Flags = npt.NDArray[np.bool_]


class NewDocuments(NamedTuple):
    """New documents by column."""

    text: HashArray
    """Hash of the text as two words; shape (n, 2)."""
    site: HashArray
    """Hash of the host, 0 if there is none; shape (n,)."""
    minhashes: MinHashes
    keys: HashArray
    """Column 0: first word of the text's key. Then a column for each band; a document without shingles has its text's
    key there."""
    source_rank: int
    """Place of their source among the preferred ones."""


class Candidates(NamedTuple):
    """Pairs of a new document and a known one."""

    new: IntArray
    """Index of the new document, ascending."""
    ids: Rows
    """Ids of the known documents."""


def new_documents(  # noqa: PLR0913 - what a signature is made of, and how it is compared
    text_hashes: Sequence[bytes],
    urls: Sequence[str],
    minhashes: MinHashes,
    *,
    bands: int,
    rows: int,
    group: int,
    source_rank: int,
) -> NewDocuments:
    """Return new documents of one source. Documents of another `group` are not compared with them."""
    text = _words(text_hashes)
    keys = np.repeat(text[:, :1] ^ np.uint64(group), bands + 1, axis=1)
    signed = has_shingles(minhashes)
    if bands:
        keys[signed, 1:] = all_band_keys(minhashes[signed], bands, rows) ^ np.uint64(group)
    sites = np.array([site_hash(url) for url in urls], np.uint64)
    return NewDocuments(text, sites, minhashes, keys, source_rank)


def equal_texts(new: NewDocuments, chosen: IntArray, texts: Rows) -> Candidates:
    """Return for each chosen document the best known one of the same text. `texts` are rows of `texts`, sorted."""
    if not len(texts):
        return Candidates(chosen[:0], texts[list(ID)])
    keys, low = new.keys[chosen, 0], new.text[chosen, 1]
    at = np.searchsorted(texts[TEXT[0]], keys)
    # Two texts hardly ever share the first word of their hash.
    while True:
        inside = np.minimum(at, len(texts) - 1)
        other = (at < len(texts)) & (texts[TEXT[0]][inside] == keys) & (texts[TEXT[1]][inside] < low)
        if not other.any():
            break
        at = at + other
    same = (at < len(texts)) & (texts[TEXT[0]][inside] == keys) & (texts[TEXT[1]][inside] == low)
    return Candidates(chosen[same], texts[list(ID)][inside[same]])


def band_members(new: NewDocuments, chosen: IntArray, band: int, bands: Rows) -> Candidates:
    """Return for each chosen document the first members of its band. `bands` are rows of `bands`, sorted."""
    keys = new.keys[chosen, band + 1]
    first, last = (np.searchsorted(bands["band"], keys, side=side) for side in ("left", "right"))
    counts = np.minimum(last - first, MAX_MEMBERS)
    before = np.cumsum(counts) - counts
    at = np.repeat(first - before, counts) + np.arange(int(counts.sum()))
    return Candidates(np.repeat(chosen, counts), bands[list(ID)][at])


def matches(
    new: NewDocuments, found: Candidates, documents: Rows, *, fewest_equal: int, rank: str
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the documents that match, the row of their witness in `documents`, and how many numbers are equal.

    The witness is the most similar candidate, the one with the smallest id among equals. `fewest_equal` is 0 for
    candidates of equal texts. `rank` is the field of `documents` that has the place of the source; "" if no source is
    preferred.
    """
    at = find(found.ids, documents)
    is_match = at >= 0
    equal = np.zeros(len(at), np.int64)
    if len(documents):
        known = documents[at]
        equal[:] = (new.minhashes[found.new] == known["minhash"]).sum(axis=1)
        if fewest_equal:
            site = new.site[found.new]
            is_match &= (equal >= fewest_equal) & ((site == 0) | (site != known[SITE]))
        if rank:
            is_match &= known[rank] <= new.source_rank
    pairs = np.flatnonzero(is_match)
    order = pairs[np.lexsort([at[pairs], -equal[pairs], found.new[pairs]])]
    _, firsts = np.unique(found.new[order], return_index=True)
    best = order[firsts]
    return found.new[best], at[best], equal[best]


def _words(digests: Sequence[bytes]) -> HashArray:
    return np.frombuffer(b"".join(digests), ">u8").astype(np.uint64).reshape(-1, 2)
