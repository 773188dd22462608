"""Merge runs into one run of a range of places: a level between `tokenize` and `shard`, for datasets of many runs."""

from functools import partial
from itertools import chain
from typing import NamedTuple

from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from pipeline.engine.task import ItemTracker, PartOutputs
from pipeline.steps.runs import merged_rows, run_schema, write_merged


class MergeParameters(NamedTuple):
    """Parameters of a merge worker besides its runs."""

    places: range
    wanted: tuple[range, ...]
    """The places in `places` that the runs have rows for, in order."""
    with_text: bool


def merge_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write one run of the rows at the wanted places."""
    task: MergeParameters = part.parameters
    schema = run_schema(with_text=task.with_text)
    names = [span.name for span in part.inputs]
    rows = chain.from_iterable(merged_rows(store, names, each, schema.names) for each in task.wanted)
    (name,) = part.writes
    count = sum(map(len, task.wanted))
    output = store.write(name, count, partial(write_merged, rows=rows, schema=schema))
    return PartOutputs(counts={"rows": count}, outputs=(output,))
