"""Copy sequences into the arrays of a batch, one row a sequence."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shards.packing import Pieces

Batch = dict[str, npt.NDArray[Any]]


def assemble(tokens: Sequence[npt.NDArray[Any]], pieces: Pieces, length: int, pad_id: int) -> Batch:
    """Return `input_ids` (int64), `positions` and `segments` (int32), each of shape (rows, length).

    `tokens` has for each row the token ids of its shard, in which its pieces lie. `positions` counts from 0 within
    each piece. `segments` numbers the pieces of a row from 1. Padding behind the last piece has `pad_id`, 0 and 0.
    """
    rows = len(tokens)
    input_ids = np.empty((rows, length), np.int64)  # what embeddings and losses of PyTorch take
    positions = np.empty((rows, length), np.int32)
    segments = np.empty((rows, length), np.int32)
    count_up = _count_up(length)
    starts, sizes = pieces.starts.tolist(), pieces.lengths.tolist()
    piece = 0
    for row, (ids, count) in enumerate(zip(tokens, pieces.counts.tolist(), strict=True)):
        row_ids, row_positions, row_segments = input_ids[row], positions[row], segments[row]
        place = 0
        for segment in range(1, count + 1):
            start, size = starts[piece], sizes[piece]
            stop = place + size
            row_ids[place:stop] = ids[start : start + size]
            row_positions[place:stop] = count_up[:size]
            row_segments[place:stop] = segment
            place = stop
            piece += 1
        if place < length:
            row_ids[place:] = pad_id
            row_positions[place:] = 0
            row_segments[place:] = 0
    return {"input_ids": input_ids, "positions": positions, "segments": segments}


@cache
def _count_up(length: int) -> npt.NDArray[np.int32]:
    numbers = np.arange(length, dtype=np.int32)
    numbers.flags.writeable = False
    return numbers
