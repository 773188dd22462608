"""Copy sequences into the arrays of batches, one row a sequence."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from thresher.shards.loss_marks import NO_LABEL, unmarked
from thresher.shards.packing import IntArray, Pieces

if TYPE_CHECKING:
    from typing_extensions import Buffer

Batch = dict[str, npt.NDArray[Any]]
NOTHING = b""
"""The tokens of a row that has no sequence."""


class IdFormat(NamedTuple):
    """How shards hold token ids."""

    bytes: int
    is_marked: bool = False
    """Whether the highest bit of an id says that it bears no loss (`shards.loss_marks`)."""


class IdBytes(Protocol):
    """The token ids of a shard as bytes. A slice gives a buffer of these bytes."""

    def __getitem__(self, span: slice, /) -> "Buffer":
        """Return the bytes of a slice, whose step is 1."""
        ...


def id_bytes_view(ids: npt.NDArray[Any]) -> memoryview:
    """Return the bytes of an array of token ids, without a copy."""
    return ids.view(np.uint8).data


def assemble(
    tokens: Sequence[IdBytes], pieces: Pieces, length: int, pad_id: int, size: int, kind: IdFormat
) -> Iterator[Batch]:
    """Yield `size` rows at a time: `input_ids` (int64), `positions` and `segments` (int32), of shape (size, length).

    `tokens` has for each row the token ids of its shard, as `kind` says, in which its pieces lie; it holds a multiple
    of `size` rows. `positions` counts from 0 within each piece. `segments` numbers the pieces of a row from 1. Padding
    behind the last piece has `pad_id`, 0 and 0. If ids are marked, `labels` (int64) are beside them: -100 in padding
    and for the first token of a piece, because the token before it is of another document.
    """
    id_bytes = kind.bytes
    spans = _with_padding(pieces, length)
    lengths, segments = spans.lengths, spans.segments
    # Where a piece begins in the flat array of its batch: what is subtracted from a count gives its positions.
    begins = ((spans.rows % size) * length + spans.columns).astype(np.int32)
    starts = (spans.starts * id_bytes).tolist()
    stops = ((spans.starts + lengths) * id_bytes).tolist()
    sources = [tokens[row] for row in spans.rows.tolist()]
    edges = np.searchsorted(spans.rows, np.arange(0, len(tokens) + 1, size)).tolist()
    paddings = np.flatnonzero(segments == 0)
    padding_edges = np.searchsorted(paddings, edges).tolist()
    padded: list[int] = paddings.tolist()
    padding, dtype = bytes(length * id_bytes), np.dtype(f"<u{id_bytes}")
    for place in padded:
        sources[place] = padding
    count_up = _count_up(size * length)
    for number, (first, last) in enumerate(itertools.pairwise(edges)):
        here = zip(sources[first:last], starts[first:last], stops[first:last], strict=True)
        # Joining bytes costs a third of what `np.concatenate` costs for pieces of a few KiB.
        joined = b"".join([ids[start:stop] for ids, start, stop in here])
        input_ids = np.frombuffer(joined, dtype).astype(
            np.int64
        )  # what embeddings and losses of PyTorch take
        labels = None
        if kind.is_marked:
            input_ids, labels = unmarked(input_ids)
        sizes = lengths[first:last]
        batch_segments = segments[first:last].repeat(sizes)
        positions = begins[first:last].repeat(sizes)
        np.subtract(count_up, positions, out=positions)
        for place in padded[padding_edges[number] : padding_edges[number + 1]]:
            begin = int(begins[place])
            input_ids[begin : begin + int(lengths[place])] = pad_id
            positions[begin : begin + int(lengths[place])] = 0
        batch: Batch = {"input_ids": input_ids, "positions": positions, "segments": batch_segments}
        if labels is not None:
            labels[positions == 0] = NO_LABEL
            batch["labels"] = labels
        yield {name: values.reshape(size, length) for name, values in batch.items()}


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
def _count_up(length: int) -> npt.NDArray[np.int32]:
    numbers = np.arange(length, dtype=np.int32)
    numbers.flags.writeable = False
    return numbers
