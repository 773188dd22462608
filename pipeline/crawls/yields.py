"""`domain_ranks`: rank the domains of a crawl by their yield.

1. The yield of a registered domain is the share of its documents that was kept: documents that passed the filters and,
   if a deduplication covers the crawl, were not removed as duplicates.
2. Fewer than `MIN_DOCUMENTS` documents say nothing: such a domain keeps its rank.
3. The best domains are asked first, the worst last. A poor yield excludes no domain, because ranks only order what may
   be asked.
"""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import cast

import pyarrow as pa

from thresher.frontier import Rank
from thresher.pipeline.domains import domain_of
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.steps import dedup
from thresher.pipeline.steps.cuts import cut_results
from thresher.storage import tables
from thresher.storage.manifest import Manifest, Output, manifests
from thresher.storage.store import Store

MIN_DOCUMENTS = 20
RANK_THRESHOLDS = ((0.5, Rank.FIRST), (0.2, Rank.RICH), (0.02, Rank.USUAL), (0.0, Rank.LAST))
"""The minimum yield of each rank. On web crawls the filters keep about a tenth of all documents."""

_URLS = pa.schema([tables.DOCUMENTS.field(name) for name in ("id", "url")])
_KEEP = pa.schema([tables.VERDICTS.field(name) for name in ("id", "keep")])
_REMOVED = pa.schema([tables.REMOVALS.field("id")])


def domain_ranks(project: OpenProject, crawl: str) -> dict[str, Rank]:
    """Return the rank of each registered domain of a crawl, from its processed parts."""
    documents, kept = _count_documents(project, crawl)
    return {domain: rank_of(kept[domain], n) for domain, n in documents.items() if n >= MIN_DOCUMENTS}


def kept_shares(project: OpenProject, crawl: str) -> dict[str, float]:
    """Return the share of kept documents of each registered domain of a crawl that has any document."""
    documents, kept = _count_documents(project, crawl)
    return {domain: kept[domain] / n for domain, n in documents.items()}


def rank_of(kept: int, documents: int) -> Rank:
    """Return the rank of a domain with this yield."""
    return next(earned for share, earned in RANK_THRESHOLDS if kept >= share * documents)


def _count_documents(project: OpenProject, crawl: str) -> tuple[Counter[str], Counter[str]]:
    removed = _removed_ids(project, crawl)
    documents, kept = Counter[str](), Counter[str]()
    for manifest in manifests(project.store, "process", crawl):
        for domain, is_kept in part_domains(project.store, manifest, removed):
            documents[domain] += 1
            kept[domain] += is_kept
    return documents, kept


def part_domains(
    store: Store, manifest: Manifest, removed: AbstractSet[str] = frozenset()
) -> Iterator[tuple[str, bool]]:
    """Yield the registered domain of each document of a part of the process step, and whether the document is kept:
    the filters keep it, and its id is not among the `removed`.
    """
    outputs = {output.name.partition("/")[0]: output for output in manifest.outputs}
    keep = _kept_ids(store, outputs["verdicts"])
    found = tables.read(store, outputs["documents"], _URLS)
    for id_, url in zip(_texts(found, "id"), _texts(found, "url"), strict=True):
        yield domain_of(url), id_ in keep and id_ not in removed


def _kept_ids(store: Store, verdicts: Output) -> set[str]:
    table = tables.read(store, verdicts, _KEEP)
    return set(_texts(table.filter(table["keep"]), "id"))


def _removed_ids(project: OpenProject, crawl: str) -> set[str]:
    run = dedup.find(project.store, [crawl], project.config.dedup)
    if run is None:
        return set()
    found: set[str] = set()
    for output in run.outputs:
        found.update(_texts(tables.read(project.store, output, _REMOVED), "id"))
    cut = cut_results.find(project.store, [crawl], project.config.dedup, run)
    found.update(cut_results.short_ids(project.store, cut))
    return found


def _texts(table: pa.Table, column: str) -> list[str]:
    return cast("list[str]", table[column].to_pylist())
