"""What duplicates what: a pure decision over the signatures of all kept documents.

Rules
1. Of documents that are the same the best stays: the longest text, then the smallest URL, then the smallest id.
2. A removal names its witness: a better document that it directly matched. The witness may itself be removed by
   a still better one; the chain ends at a document that stays.
3. Exact text first, then equal URLs (an empty one equals none), then near duplicates: a shared band of the MinHash and an estimated
   similarity of at least `SIMILARITY`. In a bucket everyone is compared with its best, and with nobody else.
   A text without words is like no other.
4. The order of the documents changes nothing.

Memory: a few numbers a document beside the columns that are given; bands are worked through one at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from core import InputError
from filters.dedup.signature import PERMUTATIONS, MinHashes, band_keys, has_shingles

SIMILARITY = 0.7
"""Below the threshold of 14 x 8, (1/14)^(1/8) = .72: refuses what shared a band by chance."""

CHUNK = 1 << 16
"""Pairs compared at a time: 30 MB."""

DuplicateKind = Literal["exact", "url", "near"]
DUPLICATE_KINDS: tuple[DuplicateKind, ...] = ("exact", "url", "near")
IntArray = npt.NDArray[np.int64]


class SignatureColumns(Protocol):
    """Columns, row by row the same document."""

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
    """One document that goes, and why."""

    id: str
    witness: str
    kind: DuplicateKind
    similarity: float
    """1 of equal texts; otherwise the share of equal numbers in the two MinHashes."""
    cluster_size: int
    """Documents of its cluster, the one that stays included."""


class _WitnessForest:
    """Each removed document points to its witness, which is better: so there are no circles."""

    def __init__(self, count: int) -> None:
        self.witness = np.full(count, -1, dtype=np.int64)
        self.similarity = np.zeros(count)
        self.kind = np.zeros(count, dtype=np.int8)

    def remove(
        self, duplicates: IntArray, witness: IntArray, similarity: npt.NDArray[Any], kind: DuplicateKind
    ) -> None:
        """The most similar witness counts; between equals the better one."""
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
        """Size of the cluster of each document."""
        # Documents are numbered best first, so a witness has a smaller number, and one pass finds the roots.
        roots = np.arange(len(self.witness))
        for number in np.flatnonzero(self.witness >= 0):
            roots[number] = roots[self.witness[number]]
        return np.bincount(roots, minlength=len(roots))[roots]


def find_removals(signatures: SignatureColumns, bands_and_rows: tuple[int, int] | None) -> list[Removal]:
    """Every removal, in the order of the ids. `bands_and_rows` None leaves near duplicates in.

    Raises `InputError` where the bands ask for more numbers than a signature has.
    """
    bands, rows = bands_and_rows or (0, 0)
    if bands * rows > PERMUTATIONS:
        raise InputError(
            f"dedup.near = '{bands}x{rows}' needs {bands * rows} permutations and a signature has "
            f"{PERMUTATIONS}; choose bands x rows of at most {PERMUTATIONS}"
        )
    ids = np.array(signatures.ids, dtype=np.dtypes.StringDType())
    urls = _dense_ranks(signatures.urls)
    # From here on a document is its rank: 0 is the best.
    order = np.lexsort((_dense_ranks(signatures.ids), urls, -signatures.text_bytes))
    forest = _WitnessForest(len(ids))
    everyone = np.arange(len(ids))
    minhashes = signatures.minhashes
    gone, witness = _match_equal(
        everyone, np.frombuffer(b"".join(signatures.text_hashes), dtype="V16")[order]
    )
    forest.remove(gone, witness, np.ones(len(gone)), "exact")
    without = 0 if "" in signatures.urls else -1
    staying = everyone[(forest.witness < 0) & (urls[order] != without)]
    gone, witness = _match_equal(staying, urls[order[staying]])
    forest.remove(gone, witness, _similarity(minhashes, order[gone], order[witness]), "url")
    if bands:
        staying = everyone[(forest.witness < 0) & has_shingles(minhashes)[order]]
        for band in range(bands):
            gone, witness = _match_equal(staying, band_keys(minhashes, band, rows)[order[staying]])
            similarity = _similarity(minhashes, order[gone], order[witness])
            alike = similarity >= SIMILARITY
            forest.remove(gone[alike], witness[alike], similarity[alike], "near")
    sizes = forest.cluster_sizes()
    gone = np.flatnonzero(forest.witness >= 0)
    return [
        Removal(
            id=str(ids[order[number]]),
            witness=str(ids[order[forest.witness[number]]]),
            kind=DUPLICATE_KINDS[forest.kind[number]],
            similarity=float(forest.similarity[number]),
            cluster_size=int(sizes[number]),
        )
        for number in gone[ids[order[gone]].argsort()]
    ]


def _dense_ranks(column: Sequence[str]) -> IntArray:
    """Numbers that are equal and in order as the texts are; the smallest is 0."""
    return np.unique(np.array(column, dtype=np.dtypes.StringDType()), return_inverse=True)[1]


def _match_equal(documents: IntArray, keys: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """The documents whose key a better one has, and the best of those that have it."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    best = first[group]  # the first occurrence of a key is its best document: ranks ascend
    others = np.flatnonzero(best != np.arange(len(documents)))
    return documents[others], documents[best[others]]


def _similarity(minhashes: MinHashes, some: IntArray, others: IntArray) -> npt.NDArray[np.float64]:
    """Estimated Jaccard similarity of the rows, pair by pair."""
    found = np.zeros(len(some))
    for start in range(0, len(some), CHUNK):
        pairs = slice(start, start + CHUNK)
        found[pairs] = (minhashes[some[pairs]] == minhashes[others[pairs]]).mean(axis=1)
    return found
