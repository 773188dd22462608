"""Merge runs into one run of a range of places: a level between `tokenize` and `shard`, for datasets of many runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.sorted_runs import merged_rows, run_schema, write_merged
from thresher.shards.formats.shard_rows import RowColumns


class MergeParameters(NamedTuple):
    """Parameters of a merge worker besides its runs."""

    places: range
    wanted: tuple[range, ...]
    """The places in `places` that the runs have rows for, in order."""
    columns: RowColumns


def merge_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write one run of the rows at the wanted places."""
    task: MergeParameters = part.parameters
    schema = run_schema(task.columns)
    names = [span.name for span in part.inputs]
    count = 0

    def rows() -> Iterator[pa.Table]:
        nonlocal count
        for places in task.wanted:
            for table in merged_rows(store, names, places, schema.names, complete=False):
                count += table.num_rows
                yield table.select(schema.names)

    (name,) = part.writes
    output = store.write(name, 0, lambda file: write_merged(file, rows(), schema))
    return PartOutputs(counts={"rows": count}, outputs=(replace(output, rows=count),))
