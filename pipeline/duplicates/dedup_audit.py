"""Check what deduplication decided with another implementation, on a sample of documents.

1. The sample is drawn by a hash of the id, so it is the same in each run; the witnesses of its documents join it.
2. The texts are read from the tables of documents and divided into shingles by `reference_shingles`. MinHashLSH of
   datasketch proposes pairs, with 128 permutations in 32 bands of 4 rows, which misses one pair in 6,500 at a Jaccard
   similarity of 0.7. The exact similarity of their shingles decides. Nothing of `filters.dedup` takes part.
3. A pair of similar documents is missed if both stay, unless they share nothing but the text of their site
   (`site_pairs`). A removal is wrong if the document and its witness do not have
   equal texts, equal URLs or similar shingles, whichever the removal claims.

Memory holds 15 kB a document of the sample; every table of documents is read once, one row group at a time.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from thresher.core import InputError
from thresher.core.unicode14 import known, normalize
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.duplicates.reference_shingles import reference_shingles
from thresher.pipeline.duplicates.site_pairs import site_text_pairs
from thresher.pipeline.duplicates.stored_minhashes import require_datasketch
from thresher.pipeline.steps.records.edited_texts import with_edits
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart, judged_parts
from thresher.storage import tables
from thresher.storage.manifest import Manifest, Output
from thresher.storage.store import Store

PERMUTATIONS, BANDS, ROWS = 128, 32, 4
MAX_PARTNERS = 100
"""Proposed documents that one document is compared with: bounds the pairs of a cluster of thousands."""

_Parts = Sequence[tuple[str, JudgedPart]]
"""Parts of the process step, each with its source."""
_IDS = pa.schema([tables.SIGNATURES.field("id")])
_TEXTS = pa.schema([tables.DOCUMENTS.field(name) for name in ("id", "url", "text")])

AUDITED_DOCUMENTS = 10_000
"""Size of the sample of an audit, if none is chosen. They take 10 s of CPU, and 150 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPair:
    """Two documents about which the decision and the audit differ."""

    kind: str
    """`missed` if both stay; otherwise the kind of the removal."""
    url: str
    other_url: str
    """The witness of a removal."""
    id: str
    other_id: str
    jaccard: float
    """Similarity of their shingles."""
    estimate: float | None
    """Similarity by which the document was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupAudit:
    """The result of an audit."""

    threshold: float
    documents: int
    """Kept documents of the sources."""
    sampled: int
    """Documents of the sample, with their witnesses."""
    pairs: int
    """Pairs of the sample that are at least as similar as the threshold, without `site_text_pairs`."""
    site_text_pairs: int
    """Similar pairs that stay, and share nothing but the text of their site."""
    missed: tuple[AuditedPair, ...]
    removals: int
    """Removals of documents of the sample."""
    wrong: tuple[AuditedPair, ...]

    @property
    def recall(self) -> float:
        """Share of the similar pairs of which at least one document is removed; 1 if there are none."""
        return 1 - len(self.missed) / self.pairs if self.pairs else 1.0

    @property
    def precision(self) -> float:
        """Share of the removals that the audit confirms; 1 if there are none."""
        return 1 - len(self.wrong) / self.removals if self.removals else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the audit for JSON."""
        return {**asdict(self), "recall": round(self.recall, 4), "precision": round(self.precision, 4)}


class _Removal(NamedTuple):
    witness: str
    kind: str
    similarity: float | None


class _Text(NamedTuple):
    """What is kept of a document of the sample."""

    source: str
    url: str
    digest: bytes
    shingles: npt.NDArray[np.uint64]
    """Hashes of the shingles, sorted, each once."""
    sketch: Any
    """A `LeanMinHash` of datasketch."""


def audit(
    store: Store,
    sources: Sequence[str],
    removed: Manifest,
    config: DedupConfig,
    *,
    sample: int,
    verdict_set: str = "",
) -> DedupAudit:
    """Check the removals among the documents that a set of verdicts keeps, on a sample of so many.

    Raise `InputError` if near duplicates stay, or datasketch is not installed, and `CorruptData` if a table is damaged.
    """
    if config.bands_and_rows is None:
        raise InputError('dedup --audit: near duplicates are not looked for, because dedup.near is "off"')
    require_datasketch()
    (table,) = removed.outputs
    parts = [(source, part) for source in sources for part in judged_parts(store, source, verdict_set)]
    documents, drawn = _draw(store, parts, sample)
    removals = dict(_removals_of(store, table, drawn))
    chosen = drawn | {removal.witness for removal in removals.values()}
    gone = {id_ for id_, _ in _removals_of(store, table, chosen)}
    texts = dict(_texts(store, parts, chosen))
    pairs = list(_similar_pairs(texts, config))
    stay = {(one, other): jaccard for one, other, jaccard in pairs if one not in gone and other not in gone}
    of_site = site_text_pairs(texts, [(one, other) for one, other, _ in pairs], list(stay))
    missed = [_pair("missed", texts, pair, jaccard) for pair, jaccard in stay.items() if pair not in of_site]
    wrong = [each for one, removal in removals.items() for each in _wrong(texts, one, removal, config)]
    return DedupAudit(
        threshold=config.similarity,
        documents=documents,
        sampled=len(texts),
        pairs=len(pairs) - len(of_site),
        site_text_pairs=len(of_site),
        missed=tuple(missed),
        removals=len(removals),
        wrong=tuple(wrong),
    )


def _draw(store: Store, parts: _Parts, sample: int) -> tuple[int, set[str]]:
    """Return the number of kept documents, and the ids of the sample."""
    counted = 0

    def ids() -> Iterator[tuple[int, str]]:
        nonlocal counted
        for _, part in parts:
            for group in tables.row_groups(store, part.signatures, _IDS):
                counted += group.num_rows
                for id_ in group["id"].to_pylist():
                    yield xxhash.xxh3_64_intdigest(f"audit {id_}".encode()), str(id_)

    drawn = {id_ for _, id_ in heapq.nsmallest(sample, ids())}
    return counted, drawn


def _removals_of(store: Store, table: Output, ids: set[str]) -> Iterator[tuple[str, _Removal]]:
    wanted = pa.array(sorted(ids), pa.string())
    for group in tables.row_groups(store, table, tables.REMOVALS):
        for row in group.filter(pc.is_in(group["id"], value_set=wanted)).to_pylist():
            yield row["id"], _Removal(row["witness"], row["kind"], row["similarity"])


def _texts(store: Store, parts: _Parts, ids: set[str]) -> Iterator[tuple[str, _Text]]:
    wanted = pa.array(sorted(ids), pa.string())
    for source, part in parts:
        edits = tables.edits_by_id(store, part.verdicts)
        for group in tables.row_groups(store, part.documents, _TEXTS):
            chosen = group.filter(pc.is_in(group["id"], value_set=wanted))
            for row in with_edits(pa.table(chosen), edits).to_pylist():
                yield row["id"], _text(source, row["url"], row["text"])


def _text(source: str, url: str, text: str) -> _Text:
    datasketch = require_datasketch()
    encoded = [shingle.encode() for shingle in reference_shingles(text)]
    sketch = datasketch.MinHash(num_perm=PERMUTATIONS, seed=1)
    sketch.update_batch(encoded)
    hashes = np.unique(np.array([xxhash.xxh3_64_intdigest(shingle) for shingle in encoded], np.uint64))
    folded = " ".join(known(normalize("NFKC", text)).casefold().split())
    digest = xxhash.xxh3_128_digest(folded.encode())
    return _Text(source, url, digest, hashes, datasketch.LeanMinHash(sketch))


def _similar_pairs(texts: dict[str, _Text], config: DedupConfig) -> Iterator[tuple[str, str, float]]:
    """Yield pairs of documents whose shingles are as similar as the threshold, each once."""
    index = require_datasketch().MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS))
    for one, text in sorted(texts.items()):
        if not len(text.shingles):
            continue
        proposed = [
            other
            for other in sorted(index.query(text.sketch))
            if config.within == "all" or texts[other].source == text.source
        ]
        for other in proposed[:MAX_PARTNERS]:
            similarity = _jaccard(text, texts[other])
            if similarity >= config.similarity:
                yield one, other, similarity
        index.insert(one, text.sketch, check_duplication=False)


def _wrong(
    texts: dict[str, _Text], one: str, removal: _Removal, config: DedupConfig
) -> Iterator[AuditedPair]:
    text, witness = texts[one], texts[removal.witness]
    jaccard = _jaccard(text, witness)
    is_right = {
        "exact": text.digest == witness.digest,
        "url": text.url == witness.url,
        "near": jaccard >= config.similarity,
    }
    if not is_right[removal.kind]:
        yield _pair(removal.kind, texts, (one, removal.witness), jaccard, removal.similarity)


def _pair(
    kind: str, texts: dict[str, _Text], ids: tuple[str, str], jaccard: float, estimate: float | None = None
) -> AuditedPair:
    one, other = ids
    return AuditedPair(
        kind=kind,
        url=texts[one].url,
        other_url=texts[other].url,
        id=one,
        other_id=other,
        jaccard=round(jaccard, 4),
        estimate=estimate,
    )


def _jaccard(one: _Text, other: _Text) -> float:
    common = len(np.intersect1d(one.shingles, other.shingles, assume_unique=True))
    union = len(one.shingles) + len(other.shingles) - common
    return common / union if union else 0.0
