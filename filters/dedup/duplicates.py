"""Decide which documents are duplicates, from the signatures of all kept documents. Pure.

1. Of documents that duplicate each other, the best stays: the one with the longest text, then the smallest URL, then
   the smallest id.
2. A removal names its witness: a better document that it directly matched. A still better document may remove the
   witness itself; the chain ends at a document that stays.
3. Equal texts are removed first, then equal URLs (an empty URL equals none), then near duplicates: they share a band of
   the MinHash and have an estimated similarity of at least `SIMILARITY`. Each document is compared only with the best
   document of its bucket. A text without words resembles no other.
4. The result does not depend on the order of the documents.

Memory: a few numbers per document beside the given columns, because bands are processed one at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from core import InputError
from filters.dedup.signature import PERMUTATIONS, MinHashes, band_keys, has_shingles

SIMILARITY = 0.7
"""Minimum estimated similarity of near duplicates: rejects documents that share a band by chance.

It lies just below the threshold of 14 bands of 8 rows, (1/14)^(1/8) = 0.72.
"""

CHUNK = 1 << 16
"""Pairs that are compared at a time; they take 30 MB."""

DuplicateKind = Literal["exact", "url", "near"]
DUPLICATE_KINDS: tuple[DuplicateKind, ...] = ("exact", "url", "near")
IntArray = npt.NDArray[np.int64]


class SignatureColumns(Protocol):
    """Signatures as columns; row n of every column belongs to the same document."""

    @property
    def ids(self) -> Sequence[str]: ...
    @property
    def urls(self) -> Sequence[str]: ...
    @property
    def text_hashes(self) -> Sequence[bytes]: ...
    @property
    def text_bytes(self) -> npt.NDArray[np.int64]: ...
    @property
    def minhashes(self) -> MinHashes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One removed document and the reason."""

    id: str
    witness: str
    kind: DuplicateKind
    similarity: float
    """1 if the texts are equal; otherwise the share of equal numbers in the two MinHashes."""
    cluster_size: int
    """Number of documents in its cluster, including the one that stays."""


class _WitnessForest:
    """The witness of each removed document. A witness is always better than the document, so there are no cycles."""

    def __init__(self, count: int) -> None:
        self.witness = np.full(count, -1, dtype=np.int64)
        self.similarity = np.zeros(count)
        self.kind = np.zeros(count, dtype=np.int8)

    def remove(
        self, duplicates: IntArray, witness: IntArray, similarity: npt.NDArray[Any], kind: DuplicateKind
    ) -> None:
        """Record witnesses. A document keeps its most similar witness; of equally similar ones, the better."""
        before = self.similarity[duplicates]
        closer = (
            (self.witness[duplicates] < 0)
            | (similarity > before)
            | ((similarity == before) & (witness < self.witness[duplicates]))
        )
        duplicates = duplicates[closer]
        self.witness[duplicates], self.similarity[duplicates] = witness[closer], similarity[closer]
        self.kind[duplicates] = DUPLICATE_KINDS.index(kind)

    def cluster_sizes(self) -> IntArray:
        """Return the size of the cluster of each document."""
        # Documents are numbered best first: a witness has a smaller number, so one pass finds the roots.
        roots = np.arange(len(self.witness))
        for number in np.flatnonzero(self.witness >= 0):
            roots[number] = roots[self.witness[number]]
        return np.bincount(roots, minlength=len(roots))[roots]


def find_removals(signatures: SignatureColumns, bands_and_rows: tuple[int, int] | None) -> list[Removal]:
    """Return every removal, in the order of the ids. If `bands_and_rows` is None, near duplicates stay.

    Raise `InputError` if the bands need more numbers than a signature has.
    """
    bands, rows = bands_and_rows or (0, 0)
    if bands * rows > PERMUTATIONS:
        raise InputError(
            f"dedup.near = '{bands}x{rows}' needs {bands * rows} permutations and a signature has "
            f"{PERMUTATIONS}; choose bands x rows of at most {PERMUTATIONS}"
        )
    ids = np.array(signatures.ids, dtype=np.dtypes.StringDType())
    urls = _dense_ranks(signatures.urls)
    # From here on documents are numbered by rank: 0 is the best.
    order = np.lexsort((_dense_ranks(signatures.ids), urls, -signatures.text_bytes))
    forest = _WitnessForest(len(ids))
    all_documents = np.arange(len(ids))
    minhashes = signatures.minhashes
    removed, witness = _match_equal(
        all_documents, np.frombuffer(b"".join(signatures.text_hashes), dtype="V16")[order]
    )
    forest.remove(removed, witness, np.ones(len(removed)), "exact")
    empty_url = 0 if "" in signatures.urls else -1
    remaining = all_documents[(forest.witness < 0) & (urls[order] != empty_url)]
    removed, witness = _match_equal(remaining, urls[order[remaining]])
    forest.remove(removed, witness, _similarity(minhashes, order[removed], order[witness]), "url")
    if bands:
        remaining = all_documents[(forest.witness < 0) & has_shingles(minhashes)[order]]
        for band in range(bands):
            removed, witness = _match_equal(remaining, band_keys(minhashes, band, rows)[order[remaining]])
            similarity = _similarity(minhashes, order[removed], order[witness])
            alike = similarity >= SIMILARITY
            forest.remove(removed[alike], witness[alike], similarity[alike], "near")
    sizes = forest.cluster_sizes()
    removed = np.flatnonzero(forest.witness >= 0)
    return [
        Removal(
            id=str(ids[order[number]]),
            witness=str(ids[order[forest.witness[number]]]),
            kind=DUPLICATE_KINDS[forest.kind[number]],
            similarity=float(forest.similarity[number]),
            cluster_size=int(sizes[number]),
        )
        for number in removed[ids[order[removed]].argsort()]
    ]


def _dense_ranks(column: Sequence[str]) -> IntArray:
    """Return a number for each text, in the order of the texts; equal texts get equal numbers, the smallest gets 0."""
    return np.unique(np.array(column, dtype=np.dtypes.StringDType()), return_inverse=True)[1]


def _match_equal(documents: IntArray, keys: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Return the documents that share their key with a better one, and the best document with that key for each."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    best = first[group]  # the first occurrence of a key is its best document: ranks ascend
    others = np.flatnonzero(best != np.arange(len(documents)))
    return documents[others], documents[best[others]]


def _similarity(minhashes: MinHashes, some: IntArray, others: IntArray) -> npt.NDArray[np.float64]:
    """Return the estimated Jaccard similarity of the rows, pair by pair."""
    found = np.zeros(len(some))
    for start in range(0, len(some), CHUNK):
        pairs = slice(start, start + CHUNK)
        found[pairs] = (minhashes[some[pairs]] == minhashes[others[pairs]]).mean(axis=1)
    return found
