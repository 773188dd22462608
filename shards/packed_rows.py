"""Copy sequences into the arrays of batches, one row a sequence."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shards.packing import IntArray, Pieces

Batch = dict[str, npt.NDArray[Any]]
NOTHING = np.zeros(0, np.uint16)
"""The tokens of a row that has no sequence."""


def assemble(tokens: Sequence[Any], pieces: Pieces, length: int, pad_id: int, size: int) -> Iterator[Batch]:
    """Yield `size` rows at a time: `input_ids` (int64), `positions` and `segments` (int32), of shape (size, length).

    `tokens` has for each row the token ids of its shard, in which its pieces lie; it holds a multiple of `size` rows.
    `positions` counts from 0 within each piece. `segments` numbers the pieces of a row from 1. Padding behind the last
    piece has `pad_id`, 0 and 0.
    """
    spans = _with_padding(pieces, length)
    lengths, segments = spans.lengths, spans.segments
    # Where a piece begins in the flat array of its batch: what is subtracted from a count gives its positions.
    begins = ((spans.rows % size) * length + spans.columns).astype(np.int32)
    starts, stops = spans.starts.tolist(), (spans.starts + lengths).tolist()
    sources = [tokens[row] for row in spans.rows.tolist()]
    edges = np.searchsorted(spans.rows, np.arange(0, len(tokens) + 1, size)).tolist()
    paddings = np.flatnonzero(segments == 0)
    padding_edges = np.searchsorted(paddings, edges).tolist()
    padded: list[int] = paddings.tolist()
    for place in padded:
        sources[place] = _padding(length)
    count_up = _count_up(size * length)
    for number, (first, last) in enumerate(itertools.pairwise(edges)):
        here = zip(sources[first:last], starts[first:last], stops[first:last], strict=True)
        copied = [ids[start:stop] for ids, start, stop in here]
        sizes = lengths[first:last]
        batch_segments = np.repeat(segments[first:last], sizes)
        positions = np.repeat(begins[first:last], sizes)
        np.subtract(count_up, positions, out=positions)
        input_ids = np.empty(size * length, np.int64)  # what embeddings and losses of PyTorch take
        np.concatenate(copied, out=input_ids)
        for place in padded[padding_edges[number] : padding_edges[number + 1]]:
            begin = int(begins[place])
            input_ids[begin : begin + int(lengths[place])] = pad_id
            positions[begin : begin + int(lengths[place])] = 0
        yield {
            "input_ids": input_ids.reshape(size, length),
            "positions": positions.reshape(size, length),
            "segments": batch_segments.reshape(size, length),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spans:
    """Pieces with their rows and columns, and a piece of padding behind each row that is not full."""

    rows: IntArray
    columns: IntArray
    starts: IntArray
    lengths: IntArray
    segments: npt.NDArray[np.int32]


def _with_padding(pieces: Pieces, length: int) -> _Spans:
    rows = np.repeat(np.arange(len(pieces.counts)), pieces.counts)
    used = np.bincount(rows, pieces.lengths, len(pieces.counts)).astype(np.int64)
    short = np.flatnonzero(used < length)
    rows = np.concatenate((rows, short))
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    lengths = np.concatenate((pieces.lengths, length - used[short]))[order]
    first_of_row = np.searchsorted(rows, np.arange(len(pieces.counts)))
    before = np.cumsum(lengths) - lengths
    segments = np.arange(len(rows)) - first_of_row[rows] + 1
    segments[order >= len(pieces.lengths)] = 0
    return _Spans(
        rows=rows,
        columns=before - before[first_of_row[rows]],
        starts=np.concatenate((pieces.starts, np.zeros(len(short), np.int64)))[order],
        lengths=lengths,
        segments=segments.astype(np.int32),
    )


@lru_cache(maxsize=4)
def _padding(length: int) -> npt.NDArray[np.uint16]:
    return np.zeros(length, np.uint16)


@lru_cache(maxsize=4)
def _count_up(length: int) -> npt.NDArray[np.int32]:
    numbers = np.arange(length, dtype=np.int32)
    numbers.flags.writeable = False
    return numbers
