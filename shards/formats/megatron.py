"""`megatron`: the indexed dataset of Megatron-LM. `.bin` holds the token ids one after another, `.idx` says where each
document begins.

Layout of the index (version 1, little-endian): the magic `MMIDIDX` and two zeros, u64 version, u8 code of the type of
an id, u64 sequences, u64 documents + 1; then for each sequence its length (i32), for each its offset in bytes (i64),
and the numbers of the sequences at which documents begin, the end included (i64). Each document is one sequence.
"""

import struct
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from thresher.shards.formats.format import Format, RowSize
from thresher.shards.formats.shard_rows import flat_ids

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
TYPE_CODES = {2: 8, 4: 4}
"""Codes of uint16 and int32 by their bytes."""


class MegatronShard:
    """Writes a pair of files. Holds 4 bytes for each document until the end."""

    def __init__(self, files: Sequence[BinaryIO], _: pa.Schema, id_bytes: int, __: RowSize) -> None:
        self._bin, self._idx = files
        self._id_bytes = id_bytes
        self._lengths: list[np.ndarray[tuple[int], np.dtype[np.int32]]] = []

    def write(self, rows: pa.Table) -> None:
        """Append documents."""
        ids, ends = flat_ids(rows["input_ids"])
        self._bin.write(ids.astype("<u2" if self._id_bytes == 2 else "<i4").tobytes())
        self._lengths.append(np.diff(ends, prepend=0).astype("<i4"))

    def close(self) -> None:
        """Write the index."""
        lengths = np.concatenate(self._lengths) if self._lengths else np.zeros(0, "<i4")
        starts = np.cumsum(lengths, dtype="<i8") - lengths
        self._idx.write(MAGIC)
        self._idx.write(
            struct.pack("<QBQQ", VERSION, TYPE_CODES[self._id_bytes], len(lengths), len(lengths) + 1)
        )
        self._idx.write(lengths.tobytes())
        self._idx.write((starts * self._id_bytes).astype("<i8").tobytes())
        self._idx.write(np.arange(len(lengths) + 1, dtype="<i8").tobytes())


def _bytes_of(size: RowSize, id_bytes: int) -> int:
    return size.tokens * id_bytes


MEGATRON = Format(
    name="megatron",
    directory="megatron",
    file_names=lambda number, _: (f"shard-{number:05d}.bin", f"shard-{number:05d}.idx"),
    open=MegatronShard,
    bytes_of=_bytes_of,
    holds_text=False,
    needs_tokens=True,
)
