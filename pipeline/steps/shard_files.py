"""Write the files of one shard: merge its rows from runs, and stream them into the writer of its format."""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.sorted_runs import TOKENS, merged_rows
from thresher.shards.chat.labelled_rows import loss_count, with_labels
from thresher.shards.dataset import ShardFile, SideFile, shard_body
from thresher.shards.formats.format import RowSize
from thresher.shards.formats.packing_plan import PLAN_SUFFIX, write_plan
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.row_groups import data_bytes, row_bytes
from thresher.shards.formats.shard_rows import LABELS, RowColumns
from thresher.shards.packer import Packer, Packing
from thresher.shards.packing import PackingLoss, packing_loss, sequence_count
from thresher.storage.manifest import Output


class ShardParameters(NamedTuple):
    """Parameters of a shard worker besides its runs."""

    format: str
    source: str | None
    places: range
    """Places of the rows that belong into the shard."""
    columns: RowColumns
    id_bytes: int
    packing: Packing | None


def shard_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the files of a shard, and its line of the manifest."""
    task: ShardParameters = part.parameters
    *names, line_file = part.writes
    runs = [span.name for span in part.inputs]
    is_of_texts = task.columns.has_text and not task.columns.has_ids
    outcome = _Outcome(
        text_bytes=0 if is_of_texts else None, loss_tokens=0 if task.columns.has_labels else None
    )
    writes = partial(_write_shard, store, task, runs, outcome)
    shard, *companions = _write_files(store, names, len(task.places), writes)
    line = ShardFile(
        name=shard.name,
        bytes=shard.bytes,
        sha256=shard.sha256,
        documents=len(task.places),
        tokens=outcome.tokens,
        format=task.format,
        frame_sha256=outcome.frame_sha256,
        source=task.source,
        sequences=outcome.loss.sequences if outcome.loss else 0,
        placed_tokens=outcome.loss.placed if outcome.loss else 0,
        cut_documents=outcome.loss.cut_documents if outcome.loss else 0,
        data_bytes=outcome.data_bytes,
        text_bytes=outcome.text_bytes,
        loss_tokens=outcome.loss_tokens,
        companions=tuple(
            SideFile(
                name=file.name,
                bytes=file.bytes,
                sha256=file.sha256,
                frame_sha256=outcome.plan_frame_sha256 if file.name.endswith(PLAN_SUFFIX) else None,
            )
            for file in companions
        ),
    )
    text = json.dumps(shard_body(line), sort_keys=True)
    sealed = store.write(line_file, 1, lambda file: file.write(text.encode()))
    return PartOutputs(
        counts={"documents": len(task.places), "tokens": outcome.tokens}, outputs=(shard, *companions, sealed)
    )


@dataclass(slots=True)
class _Outcome:
    """What a worker counts while it writes a shard."""

    tokens: int = 0
    data_bytes: int = 0
    text_bytes: int | None = None
    """Of rows with texts and without token ids."""
    loss_tokens: int | None = None
    """Tokens that bear loss, of rows with labels."""
    loss: PackingLoss | None = None
    frame_sha256: str | None = None
    """Of the shard."""
    plan_frame_sha256: str | None = None
    """Of its packing plan."""

    def add(self, rows: pa.Table) -> None:
        """Count the tokens or the texts of documents."""
        self.tokens += _tokens(rows)
        if self.loss_tokens is not None:
            self.loss_tokens += loss_count(rows)
        if self.text_bytes is not None:
            self.text_bytes += int(row_bytes(rows.select(["text"])).sum())


def _write_shard(
    store: PartStore, task: ShardParameters, runs: list[str], outcome: _Outcome, files: Sequence[BinaryIO]
) -> None:
    kind = FORMATS[task.format]
    expected = RowSize()
    if kind.counts_first:
        counted = (_tokens(rows) for rows in merged_rows(store, runs, task.places, [TOKENS], complete=True))
        expected = RowSize(rows=len(task.places), tokens=sum(counted))
    in_rows = task.packing is not None and not kind.is_by_source
    has_plan = task.packing is not None and kind.is_by_source and task.packing.kind == "best-fit"
    schema = task.columns.packed if in_rows else task.columns.document
    shown = schema.names
    if task.columns.has_labels and kind.is_by_source:
        shown = [name for name in shown if name != LABELS]  # its marks are in the ids
    writer = kind.open(files[:-1] if has_plan else files, schema, task.id_bytes, expected)
    packer = Packer(task.packing) if task.packing is not None and in_rows else None
    lengths = [np.zeros(0, np.int64)]
    for rows in merged_rows(store, runs, task.places, [TOKENS, *task.columns.exact.names], complete=True):
        outcome.add(rows)
        if task.packing is not None and kind.is_by_source:
            lengths.append(rows[TOKENS].to_numpy())
        documents = with_labels(rows) if LABELS in shown and packer is None else rows
        for each in (documents,) if packer is None else packer.add(rows):
            outcome.data_bytes += data_bytes(each.select(shown))
            writer.write(each)
    for each in () if packer is None else packer.rest():
        outcome.data_bytes += data_bytes(each.select(shown))
        writer.write(each)
    outcome.frame_sha256 = writer.close()
    if packer is not None:
        outcome.loss = packer.loss
    elif task.packing is not None:
        ends = np.cumsum(np.concatenate(lengths)).astype(np.uint64)
        if has_plan:
            _write_plan(task.packing, ends, outcome, files[-1])
        else:
            outcome.loss = _loss(task.packing, ends)


def _write_plan(packing: Packing, ends: npt.NDArray[np.uint64], outcome: _Outcome, file: BinaryIO) -> None:
    """Write the loader's best-fit plan of a shard of tokens."""
    assert outcome.frame_sha256 is not None, "a shard of tokens has a frame"
    plan = io.BytesIO()  # the plan seeks, and an output cannot; it has 20 bytes for each piece of a document
    written = write_plan(plan, ends, packing.length, outcome.frame_sha256)
    file.write(plan.getvalue())
    outcome.loss, outcome.plan_frame_sha256 = written.loss, written.frame_sha256


def _loss(packing: Packing, ends: npt.NDArray[np.uint64]) -> PackingLoss:
    """Return what the loader's packing of a shard of tokens costs, if it needs no plan."""
    tokens = int(ends[-1]) if len(ends) else 0
    count = sequence_count(packing.kind, documents=len(ends), tokens=tokens, length=packing.length)
    assert count is not None
    return packing_loss(packing.kind, ends, count, packing.length)


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
    return int(pc.sum(rows[TOKENS]).as_py() or 0)
