"""The table of removals: what `dedup` gives to everything behind it, made from the removals of the index.

Sizes of clusters follow from all removals together, so this part holds the ids of all removals and their witnesses: 100
bytes each. Everything else is read and written in ranges of keys.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from thresher.filters.dedup.clusters import cluster_sizes
from thresher.filters.dedup.dedup_rows import ID, KINDS, WITNESS, WORD
from thresher.filters.dedup.document_rows import hex_ids
from thresher.filters.dedup.zsets import IntArray, Rows
from thresher.pipeline.dedup_index.index_runs import KEY_RANGE, RunRef, rows_of_range
from thresher.pipeline.dedup_index.index_stages import IndexSettings
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.storage import tables

RANGE_ROWS = 200_000
"""Removals that are read at a time; they take 60 MB."""
_LINKS = np.dtype([(name, WORD) for name in (*ID, *WITNESS)])


class RemovalsTask(NamedTuple):
    """Parameters of the part."""

    settings: IndexSettings
    removals: tuple[RunRef, ...]


def removals_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the table of removals, sorted by id, and count them by kind."""
    task: RemovalsTask = part.parameters
    counts, links = Counter[str](), np.empty(sum(run.rows for run in task.removals), _LINKS)
    rows_so_far = 0
    for rows in _by_range(store, task):
        _count(counts, rows)
        for name in _LINKS.names or ():
            links[name][rows_so_far : rows_so_far + len(rows)] = rows[name]
        rows_so_far += len(rows)
    sizes = cluster_sizes(links[:rows_so_far])
    del links
    (name,) = part.writes
    pieces = _tables(store, task, sizes)
    output = store.write(
        name, rows_so_far, partial(tables.write_pieces, schema=tables.REMOVALS, pieces=pieces)
    )
    return PartOutputs(counts=dict(counts), outputs=(output,))


def _by_range(store: PartStore, task: RemovalsTask) -> Iterator[Rows]:
    """Yield all removals in the order of their ids."""
    count = -(-sum(run.rows for run in task.removals) // RANGE_ROWS) or 1
    for start, stop in pairwise(KEY_RANGE.stop * at // count for at in range(count + 1)):
        yield rows_of_range(store, task.removals, range(start, stop), task.settings.types.removals)


def _tables(store: PartStore, task: RemovalsTask, sizes: IntArray) -> Iterator[pa.Table]:
    start = 0
    for rows in _by_range(store, task):
        yield removal_table(rows, sizes[start : start + len(rows)], task.settings.permutations)
        start += len(rows)


def _count(counts: Counter[str], rows: Rows) -> None:
    for number, kind in enumerate(KINDS):
        those = rows[rows["kind"] == number]
        if len(those):
            counts[f"{kind}.documents"] += len(those)
            counts[f"{kind}.payload_bytes"] += int(those["payload_bytes"].sum())
            counts[f"{kind}.text_bytes"] += int(those["text_bytes"].sum())


def removal_table(rows: Rows, sizes: IntArray, permutations: int) -> pa.Table:
    """Return removals as a table of `storage.tables.REMOVALS`. `sizes` are those of their clusters, and MinHashes have
    `permutations` numbers.
    """
    similarity = np.where(rows["kind"] == KINDS.index("exact"), 1.0, rows["equal"] / permutations)
    is_unknown = rows["kind"] == KINDS.index("url")
    columns = (
        pa.array(hex_ids(rows), pa.string()),
        pa.array(hex_ids(rows, WITNESS), pa.string()),
        pa.array(np.array(KINDS, dtype=object)[rows["kind"]], pa.string()),
        pa.array(similarity, pa.float64(), mask=is_unknown),
        pa.array(sizes, pa.int64()),
    )
    return pa.Table.from_arrays(list(columns), schema=tables.REMOVALS)
