"""Look new documents up in a sealed index of deduplication, before anything else is done with them.

1. A Bloom filter of the index (`screen_filter`) says of most new documents that the index has none like them. Only the
   others are looked up, and only a match that `filters.dedup.screen_matches` verifies counts. So the filter decides
   what a look-up costs, and never which documents are screened: that follows from the index and the document alone.
2. Bands are looked up one after another, each for the documents without a witness so far.
3. Memory: the filter, and the members of one band of the documents of a part.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import xxhash

from thresher.core import CorruptData
from thresher.filters.dedup import screen_matches
from thresher.filters.dedup.bloom_filter import BloomFilter
from thresher.filters.dedup.document_rows import hex_ids
from thresher.filters.dedup.screen_matches import Candidates, NewDocuments
from thresher.pipeline.dedup_index.index_runs import RunRef, rows_of_keys
from thresher.pipeline.dedup_index.index_stages import IndexSettings
from thresher.pipeline.engine.part_store import PartStore
from thresher.storage.manifest import Input
from thresher.storage.sealed_reading import read_sealed


class ScreenTask(NamedTuple):
    """The index that documents are looked up in."""

    filter: Input
    """The stored Bloom filter."""
    settings: IndexSettings
    texts: tuple[RunRef, ...]
    bands: tuple[RunRef, ...]
    documents: tuple[RunRef, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Objects that a look-up may read, besides the filter."""
        return tuple(run.name for runs in (self.texts, self.bands, self.documents) for run in runs)


class Witness(NamedTuple):
    """The known document that a new one repeats."""

    id: str
    kind: str
    """`exact` or `near`."""
    similarity: float
    """1 for equal texts, else the share of equal numbers of the MinHashes."""
    table: int
    """Hash of the table of signatures that has the known document (`document_rows.table_hash`)."""


class SignedText(Protocol):
    """What is known of a new document."""

    @property
    def text_hash(self) -> bytes:
        """Hash of its text."""
        ...

    @property
    def url(self) -> str:
        """Its URL; empty if there is none."""
        ...

    @property
    def minhash(self) -> npt.NDArray[np.uint32]:
        """Its MinHash."""
        ...


def find_witnesses(
    store: PartStore, task: ScreenTask, source: str, signed: Sequence[SignedText]
) -> list[Witness | None]:
    """Return the witness of each new document of a source, or None for a document that the index has nothing like.

    Raise `CorruptData` if the filter or the index is damaged.
    """
    found: list[Witness | None] = [None] * len(signed)
    if not signed:
        return found
    new, settings = _new_documents(task, source, signed), task.settings
    is_suspect = _filter(store, task.filter).has(new.keys.reshape(-1)).reshape(new.keys.shape)
    rank = f"rank_{settings.prefer.index('source')}" if "source" in settings.prefer else ""
    for column in range(new.keys.shape[1]):
        chosen = np.array([n for n in np.flatnonzero(is_suspect[:, column]) if found[n] is None], np.int64)
        if not len(chosen):
            continue
        candidates = _candidates(store, task, new, chosen, column)
        documents = rows_of_keys(
            store, task.documents, np.unique(candidates.ids["id_hi"]), settings.types.documents
        )
        which, at, equal = screen_matches.matches(
            new, candidates, documents, fewest_equal=settings.fewest_equal if column else 0, rank=rank
        )
        ids = hex_ids(documents[at])
        for n, id_, row, shared in zip(which, ids, documents[at], equal, strict=True):
            found[n] = Witness(
                id=id_,
                kind="near" if column else "exact",
                similarity=int(shared) / settings.permutations if column else 1.0,
                table=int(row["table"]),
            )
    return found


def _new_documents(task: ScreenTask, source: str, signed: Sequence[SignedText]) -> NewDocuments:
    settings = task.settings
    known = source in settings.sources
    return screen_matches.new_documents(
        [each.text_hash for each in signed],
        [each.url for each in signed],
        np.array([each.minhash for each in signed], np.uint32),
        bands=settings.bands,
        rows=settings.rows,
        group=xxhash.xxh3_64_intdigest(source.encode()) if settings.within_source else 0,
        source_rank=settings.sources.index(source) if known else len(settings.sources),
    )


def _candidates(
    store: PartStore, task: ScreenTask, new: NewDocuments, chosen: npt.NDArray[np.int64], column: int
) -> Candidates:
    keys, types = np.unique(new.keys[chosen, column]), task.settings.types
    if not column:
        return screen_matches.equal_texts(new, chosen, rows_of_keys(store, task.texts, keys, types.texts))
    bands = rows_of_keys(store, task.bands, keys, types.bands)
    return screen_matches.band_members(new, chosen, column - 1, bands)


@lru_cache(maxsize=1)
def _filter(store: PartStore, sealed: Input) -> BloomFilter:
    """Return a stored filter. A process reads it once."""
    try:
        return BloomFilter.from_bytes(read_sealed(store, sealed))
    except ValueError as error:
        raise CorruptData(f"{sealed.name}: {error}; run `thresher verify --repair`") from error
