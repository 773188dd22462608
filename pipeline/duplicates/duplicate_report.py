"""What the duplicates of some sources are: the largest clusters, the domains, and which source repeats which.

Memory holds 150 bytes a removed document, whatever the number of others.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from thresher.filters.dedup.clusters import cluster_roots
from thresher.filters.dedup.dedup_rows import ID, WITNESS, find
from thresher.filters.dedup.zsets import IntArray, Rows, sort_order, starts_of
from thresher.pipeline.domains import domain_of
from thresher.pipeline.duplicates.cut_summary import CutSummary
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.storage import tables
from thresher.storage.manifest import Manifest
from thresher.storage.store import Store

CLUSTERS, DOMAINS = 20, 20
"""Clusters and domains that a report has, the largest first."""
MEMBERS = 10
"""URLs that a report has of a cluster, besides that of the document that stays."""
MAX_DOMAINS = 1_000_000
OTHERS = "(others)"

_ROWS = np.dtype([(name, "<u8") for name in (*ID, *WITNESS)])
_PLACES = pa.schema([tables.SIGNATURES.field(name) for name in ("id", "url")])
_REMOVED = pa.schema([tables.REMOVALS.field(name) for name in ("id", "witness")])


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateCluster:
    """A document that stays, and everything that it stands for."""

    size: int
    """With the document that stays."""
    url: str
    source: str
    members: tuple[str, ...]
    """URLs of removed documents, in the order of the sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainDuplicates:
    """A registered domain."""

    domain: str
    documents: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateReport:
    """The duplicates of some sources."""

    sources: tuple[str, ...]
    documents: tuple[int, ...]
    """Documents that the filters keep, by source."""
    removed: int
    clusters: tuple[DuplicateCluster, ...]
    domains: tuple[DomainDuplicates, ...]
    matrix: tuple[tuple[int, ...], ...]
    """Row n, column m: removed documents of source n for which a document of source m stays."""
    cut: CutSummary | None = None
    """What was cut out of the documents that stay; None if `[dedup]` asks for no cuts."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return asdict(self)


def duplicate_report(
    store: Store, sources: Sequence[str], removed: Manifest, verdict_set: str = ""
) -> DuplicateReport:
    """Return the report of a run of deduplication of the documents that a set of verdicts keeps. Raise `CorruptData` if
    a table is damaged.
    """
    removals = _removals(store, removed)
    stays, sizes, cluster = _clusters(removals)
    largest = np.argsort(-sizes, kind="stable")[:CLUSTERS].tolist()
    source_of_stays = np.full(len(stays), -1, np.int16)
    source_of_removed = np.full(len(removals), -1, np.int16)
    domains = _DomainCounts()
    counts = [0] * len(sources)
    urls: dict[int, str] = {}
    members: dict[int, list[str]] = {at: [] for at in largest}
    for number, ids, places in _places(store, sources, verdict_set):
        counts[number] += len(ids)
        is_removed, is_stay = find(ids, removals), find(ids, stays)
        source_of_removed[is_removed[is_removed >= 0]] = number
        source_of_stays[is_stay[is_stay >= 0]] = number
        for url, at, stay in zip(places, is_removed.tolist(), is_stay.tolist(), strict=True):
            domains.add(url, is_removed=at >= 0)
            if stay in members:
                urls[stay] = url
            elif at >= 0 and int(cluster[at]) in members and len(members[int(cluster[at])]) < MEMBERS:
                members[int(cluster[at])].append(url)
    matrix = np.zeros((len(sources), len(sources)), np.int64)
    if len(removals):
        np.add.at(matrix, (source_of_removed, source_of_stays[cluster]), 1)
    return DuplicateReport(
        sources=tuple(sources),
        documents=tuple(counts),
        removed=len(removals),
        clusters=tuple(
            DuplicateCluster(
                size=int(sizes[at]) + 1,
                url=urls[at],
                source=sources[source_of_stays[at]],
                members=tuple(members[at]),
            )
            for at in largest
        ),
        domains=domains.worst(),
        matrix=tuple(map(tuple, matrix.tolist())),
    )


def _clusters(removals: Rows) -> tuple[Rows, IntArray, IntArray]:
    """Return the documents that stay, how many removals each stands for, and for each removal the number of its
    document that stays.
    """
    roots = cluster_roots(removals)
    order = sort_order(roots, ID)
    starts = starts_of(roots[order], ID)
    stays = roots[order][starts]
    sizes = np.diff(np.append(starts, len(roots)))
    cluster = np.empty(len(roots), np.int64)
    cluster[order] = np.repeat(np.arange(len(stays)), sizes)
    return stays, sizes, cluster


class _DomainCounts:
    """Documents and removals by registered domain. Those beyond the first `MAX_DOMAINS` count together."""

    def __init__(self) -> None:
        self._documents, self._removed = Counter[str](), Counter[str]()

    def add(self, url: str, *, is_removed: bool) -> None:
        """Count a document."""
        domain = domain_of(url)
        domain = domain if domain in self._documents or len(self._documents) < MAX_DOMAINS else OTHERS
        self._documents[domain] += 1
        self._removed[domain] += is_removed

    def worst(self) -> tuple[DomainDuplicates, ...]:
        """Return the `DOMAINS` domains with the most removals."""
        ordered = sorted(self._removed.items(), key=lambda item: (-item[1], item[0]))[:DOMAINS]
        return tuple(
            DomainDuplicates(domain=domain, documents=self._documents[domain], removed=count)
            for domain, count in ordered
            if count
        )


def _removals(store: Store, removed: Manifest) -> Rows:
    """Return the ids of removals and witnesses, sorted by id."""
    (table,) = removed.outputs
    pieces = [np.empty(0, _ROWS)]
    for group in tables.row_groups(store, table, _REMOVED):
        rows = np.empty(group.num_rows, _ROWS)
        for column, fields in (("id", ID), ("witness", WITNESS)):
            words = _words(group[column])
            for name, of in zip(fields, ID, strict=True):
                rows[name] = words[of]
        pieces.append(rows)
    return np.concatenate(pieces)


def _places(store: Store, sources: Sequence[str], verdict_set: str) -> Iterator[tuple[int, Rows, list[str]]]:
    """Yield the number of a source, and ids and URLs of some of its kept documents."""
    for number, source in enumerate(sources):
        for part in judged_parts(store, source, verdict_set):
            for group in tables.row_groups(store, part.signatures, _PLACES):
                yield number, _words(group["id"]), cast("list[str]", group["url"].to_pylist())


def _words(ids: "pa.ChunkedArray[Any]") -> Rows:
    words = np.frombuffer(bytes.fromhex("".join(cast("list[str]", ids.to_pylist()))), ">u8").reshape(-1, 2)
    rows = np.empty(len(words), np.dtype([(name, "<u8") for name in ID]))
    for at, name in enumerate(ID):
        rows[name] = words[:, at]
    return rows
