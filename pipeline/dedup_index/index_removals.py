"""The table of removals: what `dedup` gives to everything behind it, made from the removals of the index."""

from collections import Counter
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from filters.dedup.clusters import cluster_sizes
from filters.dedup.dedup_rows import KINDS, WITNESS
from filters.dedup.document_rows import hex_ids
from filters.dedup.zsets import Rows
from pipeline.dedup_index.index_runs import KEY_RANGE, RunRef, rows_of_range
from pipeline.dedup_index.index_stages import IndexSettings
from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from pipeline.engine.task import ItemTracker, PartOutputs
from storage import tables


class RemovalsTask(NamedTuple):
    """Parameters of the part."""

    settings: IndexSettings
    removals: tuple[RunRef, ...]


def removals_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the table of removals, sorted by id, and count them by kind."""
    task: RemovalsTask = part.parameters
    rows = rows_of_range(store, task.removals, KEY_RANGE, task.settings.types.removals)
    counts: Counter[str] = Counter()
    for number, kind in enumerate(KINDS):
        those = rows[rows["kind"] == number]
        if len(those):
            counts[f"{kind}.documents"] = len(those)
            counts[f"{kind}.payload_bytes"] = int(those["payload_bytes"].sum())
            counts[f"{kind}.text_bytes"] = int(those["text_bytes"].sum())
    (name,) = part.writes
    table = removal_table(rows, task.settings.permutations)
    output = store.write(name, table.num_rows, partial(tables.write, table=table))
    return PartOutputs(counts=dict(counts), outputs=(output,))


def removal_table(rows: Rows, permutations: int) -> pa.Table:
    """Return removals as a table of `storage.tables.REMOVALS`. MinHashes have so many numbers."""
    similarity = np.where(rows["kind"] == KINDS.index("exact"), 1.0, rows["equal"] / permutations)
    is_unknown = rows["kind"] == KINDS.index("url")
    columns = (
        pa.array(hex_ids(rows), pa.string()),
        pa.array(hex_ids(rows, WITNESS), pa.string()),
        pa.array(np.array(KINDS, dtype=object)[rows["kind"]], pa.string()),
        pa.array(similarity, pa.float64(), mask=is_unknown),
        pa.array(cluster_sizes(rows), pa.int64()),
    )
    return pa.Table.from_arrays(list(columns), schema=tables.REMOVALS)
