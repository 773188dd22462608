"""`Packer`: turn the documents of a shard into rows that are packed sequences, for formats that hold rows.

Best-fit packs windows of documents that depend on the documents alone, not on how they arrive. The other packings need
no window. The last sequence of `concat` is padded; nothing crosses a shard.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from thresher.shards.dataset import ShardFile
from thresher.shards.formats.row_groups import RowGroups
from thresher.shards.formats.shard_rows import DOCUMENT_ROW, RowColumns, flat_ids
from thresher.shards.packed_rows import IdFormat, assemble, id_bytes_view
from thresher.shards.packing import (
    WINDOW_DOCUMENTS,
    PackingLoss,
    Pieces,
    best_fit_windows,
    concat_pieces,
    document_pieces,
    joined_loss,
    packing_loss,
)

WINDOW_BYTES = 64 << 20
"""A window of documents has at most so many bytes of token ids (16 million tokens), and at least one document."""
ROWS_AT_ONCE = 256
TOKENS_AT_ONCE = 1 << 20
"""Rows are built together up to so many tokens, at least one row: some 16 bytes of memory for each token."""
NEEDED = pa.schema([DOCUMENT_ROW.field("input_ids"), DOCUMENT_ROW.field("id")])

Packings = Literal["best-fit", "concat", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How documents are put into sequences of one length."""

    length: int
    kind: Packings
    pad_id: int
    """Token id behind the last piece of a sequence."""
    is_marked: bool = False
    """Whether token ids are marked (`shards.loss_marks`), so that rows have labels."""


class Packer:
    """Packs the documents of one shard."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._windows = RowGroups(NEEDED, max_rows=WINDOW_DOCUMENTS, max_bytes=WINDOW_BYTES)
        self._ids = np.zeros(0, np.int32)
        self._sizes = np.zeros(0, np.int64)
        self._names: list[str] = []
        self._lengths: list[Any] = []
        self._sequences = 0

    def add(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Take documents, and yield the sequences that are complete."""
        for window in self._windows.add(rows):
            yield from self._packed(window, is_last=False)

    def rest(self) -> Iterator[pa.Table]:
        """Yield the sequences of the documents that wait."""
        for window in self._windows.rest():
            yield from self._packed(window, is_last=False)
        yield from self._packed(NEEDED.empty_table(), is_last=True)

    @property
    def loss(self) -> PackingLoss:
        """What packing the shard cost, after `rest`."""
        ends = np.cumsum(np.concatenate([np.zeros(0, np.int64), *self._lengths])).astype(np.uint64)
        return packing_loss(self._packing.kind, ends, self._sequences, self._packing.length)

    def _packed(self, window: pa.Table, *, is_last: bool) -> Iterator[pa.Table]:
        ids, ends = flat_ids(window["input_ids"])
        sizes = np.diff(ends, prepend=0)
        self._lengths.append(sizes)
        self._ids = np.concatenate([self._ids, ids])
        self._sizes = np.concatenate([self._sizes, sizes])
        self._names += [str(each) for each in window["id"].to_pylist()]
        length, kind = self._packing.length, self._packing.kind
        waiting = np.cumsum(self._sizes).astype(np.uint64)
        if kind == "concat":
            count = -(-len(self._ids) // length) if is_last else len(self._ids) // length
            yield from self._rows(concat_pieces(waiting, len(self._ids), np.arange(count), length), waiting)
            self._drop(min(count * length, len(self._ids)), waiting)
            return
        if kind == "none":
            yield from self._rows(document_pieces(waiting, np.arange(len(waiting)), length), waiting)
        elif len(waiting):
            for pieces in best_fit_windows(waiting, length, len(waiting)):
                yield from self._rows(pieces, waiting)
        self._drop(len(self._ids), waiting)

    def _drop(self, tokens: int, ends: Any) -> None:
        """Forget the first tokens, and the documents that end with them."""
        done = int(np.searchsorted(ends, np.uint64(tokens), side="right")) if len(ends) else 0
        self._ids, self._names = self._ids[tokens:], self._names[done:]
        rest = ends[done:].astype(np.int64) - tokens
        self._sizes = np.diff(rest, prepend=0)

    def _rows(self, pieces: Pieces, ends: Any) -> Iterator[pa.Table]:
        count, length = len(pieces.counts), self._packing.length
        self._sequences += count
        first_pieces = np.concatenate([np.zeros(1, np.int64), np.cumsum(pieces.counts)])
        at_once = min(ROWS_AT_ONCE, max(1, TOKENS_AT_ONCE // length))
        for start in range(0, count, at_once):
            stop = min(start + at_once, count)
            first, last = int(first_pieces[start]), int(first_pieces[stop])
            part = Pieces(
                counts=pieces.counts[start:stop],
                starts=pieces.starts[first:last],
                lengths=pieces.lengths[first:last],
            )
            rows = stop - start
            (batch,) = assemble(
                [id_bytes_view(self._ids)] * rows,
                part,
                length,
                self._packing.pad_id,
                rows,
                IdFormat(self._ids.itemsize, self._packing.is_marked),
            )
            # An empty document begins where the next one does; a piece of none of them is the last that begins there.
            documents = np.searchsorted(ends, part.starts.astype(np.uint64), side="right")
            if self._packing.kind == "none":
                documents = np.arange(start, stop)
            names = [self._names[at] for at in documents.tolist()]
            edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(part.counts)]).tolist()
            columns: dict[str, Any] = {
                name: pa.ListArray.from_arrays(
                    pa.array(np.arange(0, rows * length + 1, length), pa.int32()),
                    pa.array(values.reshape(-1), pa.int32()),
                )
                for name, values in batch.items()
            }
            columns["ids"] = pa.array(
                [" ".join(names[begin:end]) for begin, end in pairwise(edges)], pa.string()
            )
            schema = RowColumns(has_labels=self._packing.is_marked).packed
            yield pa.table(columns).select(schema.names).cast(schema)


def packing_losses(recipe: Mapping[str, Any], shards: Sequence[ShardFile]) -> list[PackingLoss]:
    """Return what packing cost in each shard of the first format; nothing if documents are not packed."""
    packing = recipe.get("packing")
    return [
        PackingLoss(
            sequences=shard.sequences,
            length=packing["length"],
            tokens=shard.tokens,
            placed=shard.placed_tokens,
            cut_documents=shard.cut_documents,
        )
        for shard in shards
        if packing is not None and shard.format == shards[0].format
    ]


def packing_body(recipe: Mapping[str, Any], shards: Sequence[ShardFile]) -> dict[str, Any]:
    """Return the key `packing` with what packing a dataset cost, for programs; nothing if documents are not packed."""
    losses = packing_losses(recipe, shards)
    if not losses:
        return {}
    loss = joined_loss(losses)
    return {"packing": {**recipe["packing"], **asdict(loss), "utilisation": loss.utilisation}}


def loss_line(losses: list[PackingLoss]) -> str:
    """Return the line about the packing of a dataset, for people."""
    loss = joined_loss(losses)
    truncated = (loss.tokens - loss.placed) / loss.tokens if loss.tokens else 0.0
    return (
        f"packed into {loss.sequences:,} sequences of {loss.length:,}: {1 - loss.utilisation:.3%} padding, "
        f"{truncated:.3%} of the tokens cut off, {loss.cut_documents:,} documents cut"
    )


def rows_line(rows: Mapping[str, Mapping[str, int]]) -> str:
    """Return the line about the sequences of each format (`shards.dataset.Dataset.rows`), for people."""
    return "sequences: " + ", ".join(f"{counts['sequences']:,} in {name}" for name, counts in rows.items())
