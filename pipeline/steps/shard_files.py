"""Write the files of one shard: merge its rows from runs, and stream them into the writer of its format."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from pipeline.engine.task import ItemTracker, PartOutputs
from pipeline.steps.runs import merged_rows
from shards.dataset import ShardFile, SideFile
from shards.formats.format import RowSize
from shards.formats.registry import FORMATS
from shards.formats.rows import DOCUMENT_ROW, EXACT_ROW, without_text
from storage.manifest import Output


class ShardParameters(NamedTuple):
    """Parameters of a shard worker besides its runs."""

    format: str
    source: str | None
    places: range
    """Places of the rows that belong into the shard."""
    with_text: bool
    id_bytes: int


def shard_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the files of a shard, and its line of the manifest."""
    task: ShardParameters = part.parameters
    kind = FORMATS[task.format]
    *names, line_file = part.writes
    runs = [span.name for span in part.inputs]
    schema = DOCUMENT_ROW if task.with_text else without_text(DOCUMENT_ROW)
    columns = EXACT_ROW if task.with_text else without_text(EXACT_ROW)
    expected = RowSize()
    if kind.counts_first:
        counted = (_tokens(rows) for rows in merged_rows(store, runs, task.places, ["tokens"], complete=True))
        expected = RowSize(rows=len(task.places), tokens=sum(counted))
    tokens = 0

    def write(files: Sequence[BinaryIO]) -> None:
        nonlocal tokens
        writer = kind.open(files, schema, task.id_bytes, expected)
        for rows in merged_rows(store, runs, task.places, ["tokens", *columns.names], complete=True):
            tokens += _tokens(rows)
            writer.write(rows)
        writer.close()

    shard, *companions = _write_files(store, names, len(task.places), write)
    line = ShardFile(
        name=shard.name,
        bytes=shard.bytes,
        sha256=shard.sha256,
        documents=len(task.places),
        tokens=tokens,
        format=task.format,
        source=task.source,
        companions=tuple(
            SideFile(name=file.name, bytes=file.bytes, sha256=file.sha256) for file in companions
        ),
    )
    # The shard itself lies in the export directory. What is sealed here is its line of the manifest.
    text = json.dumps(asdict(line), sort_keys=True)
    sealed = store.write(line_file, 1, lambda file: file.write(text.encode()))
    return PartOutputs(counts={"documents": len(task.places), "tokens": tokens}, outputs=(sealed,))


def line_name(part: str) -> str:
    """Return the name of the manifest line of a shard, given the name of its part."""
    return f"lines/{part}.json"


def _write_files(
    store: PartStore, names: Sequence[str], rows: int, write: Callable[[Sequence[BinaryIO]], None]
) -> tuple[Output, ...]:
    """Make several outputs side by side: `write` gets them all, open, in the order of their names."""
    outputs: list[Output] = []

    def make(files: tuple[BinaryIO, ...]) -> None:
        if len(files) == len(names):
            write(files)
        else:
            outputs.append(store.write(names[len(files)], rows, lambda file: make((*files, file))))

    make(())
    return tuple(reversed(outputs))


def _tokens(rows: pa.Table) -> int:
    return int(pc.sum(rows["tokens"]).as_py() or 0)
