"""What duplicates what: a pure decision over the signatures of all kept documents.

Rules
1. Of documents that are the same the best stays: the longest text, then the smallest URL, then the smallest id.
2. A removal names its witness: a better document that it directly matched. The witness may itself be removed by
   a still better one; the chain ends at a document that stays.
3. Exact text first, then equal URLs, then near duplicates: a shared band of the MinHash and an estimated
   similarity of at least `SIMILARITY`. In a bucket everyone is compared with its best, and with nobody else.
4. The order of the documents changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from filters.signature import Signature, band_keys

SIMILARITY = 0.7
"""Below the threshold of 14 x 8, (1/14)^(1/8) = .72: refuses what shared a band by chance."""

Kind = Literal["exact", "url", "near"]
Numbers = npt.NDArray[np.int64]


class Signatures(Protocol):
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
    def minhashes(self) -> Signature: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One document that goes, and why."""

    id: str
    witness: str
    kind: Kind
    similarity: float
    cluster_size: int
    """Documents of its cluster, the one that stays included."""


class _Forest:
    """Each removed document points to its witness, which is better: so there are no circles."""

    def __init__(self, count: int) -> None:
        self.witness = np.full(count, -1, dtype=np.int64)
        self.similarity = np.zeros(count)
        self.kind = np.zeros(count, dtype=np.int8)

    def remove(self, gone: Numbers, witness: Numbers, similarity: npt.NDArray[Any], kind: int) -> None:
        """The most similar witness counts; between equals the better one."""
        before = self.similarity[gone]
        closer = (
            (self.witness[gone] < 0)
            | (similarity > before)
            | ((similarity == before) & (witness < self.witness[gone]))
        )
        gone = gone[closer]
        self.witness[gone], self.similarity[gone] = witness[closer], similarity[closer]
        self.kind[gone] = kind

    def cluster_sizes(self) -> Numbers:
        """Size of the cluster of each document."""
        # Documents are numbered best first, so a witness has a smaller number, and one pass finds the roots.
        roots = np.arange(len(self.witness))
        for number in np.flatnonzero(self.witness >= 0):
            roots[number] = roots[self.witness[number]]
        return np.bincount(roots, minlength=len(roots))[roots]


KINDS: tuple[Kind, ...] = ("exact", "url", "near")


def removals(signatures: Signatures, bands_and_rows: tuple[int, int] | None) -> list[Removal]:
    """Every removal, in the order of the ids. `bands_and_rows` None leaves near duplicates in."""
    ids, urls = np.array(signatures.ids, dtype=object), np.array(signatures.urls, dtype=object)
    # From here on a document is its rank: 0 is the best.
    order = np.array(
        sorted(range(len(ids)), key=lambda n: (-int(signatures.text_bytes[n]), urls[n], ids[n])),
        dtype=np.int64,
    )
    forest = _Forest(len(ids))
    everyone = np.arange(len(ids))
    _equal(forest, everyone, np.array([signatures.text_hashes[n] for n in order], dtype="V16"), 0)
    staying = everyone[forest.witness < 0]
    _equal(forest, staying, urls[order[staying]], 1)
    if bands_and_rows is not None:
        staying = everyone[forest.witness < 0]
        _near(forest, staying, signatures.minhashes[order[staying]], *bands_and_rows)
    sizes = forest.cluster_sizes()
    found = [
        Removal(
            id=str(ids[order[number]]),
            witness=str(ids[order[forest.witness[number]]]),
            kind=KINDS[forest.kind[number]],
            similarity=float(forest.similarity[number]),
            cluster_size=int(sizes[number]),
        )
        for number in np.flatnonzero(forest.witness >= 0)
    ]
    return sorted(found, key=lambda removal: removal.id)


def _equal(forest: _Forest, documents: Numbers, keys: npt.NDArray[Any], kind: int) -> None:
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    best = first[group]  # the first occurrence of a key is its best document: ranks ascend
    gone = best != np.arange(len(documents))
    forest.remove(documents[gone], documents[best[gone]], np.ones(int(gone.sum())), kind)


def _near(forest: _Forest, documents: Numbers, minhashes: Signature, bands: int, rows: int) -> None:
    for band in range(bands):
        _, first, group = np.unique(band_keys(minhashes, band, rows), return_index=True, return_inverse=True)
        best = first[group]
        others = np.flatnonzero(best != np.arange(len(documents)))
        similarity = (
            (minhashes[others] == minhashes[best[others]]).mean(axis=1) if len(others) else np.zeros(0)
        )
        alike = similarity >= SIMILARITY
        gone = others[alike]
        forest.remove(documents[gone], documents[best[gone]], similarity[alike], 2)
