"""`jsonl`: one JSON object a line, UTF-8, one Zstandard frame a file. `zstd -d`, DuckDB and pandas read it."""

from collections.abc import Sequence
from typing import BinaryIO

import msgspec
import pyarrow as pa
import zstandard

from thresher.shards.formats.format import Format, RowSize
from thresher.shards.formats.plain_values import plain_rows
from thresher.shards.formats.row_groups import RowGroups

DIGITS = 6
"""Bytes of a token id as text, with its comma."""
KEY_BYTES = 300
"""Bytes of a line besides its tokens and its text."""
LINES_AT_ONCE = 256


class JsonlShard:
    """Writes one compressed file of lines."""

    def __init__(self, files: Sequence[BinaryIO], schema: pa.Schema, _: int, __: RowSize) -> None:
        (file,) = files
        # The compressor's blocks follow from what it gets at once, so that must follow from the rows alone.
        self._groups = RowGroups(schema, max_rows=LINES_AT_ONCE)
        self._out = zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(file, closefd=False)
        self._encoder = msgspec.json.Encoder()

    def write(self, rows: pa.Table) -> None:
        """Append rows, one line each."""
        for group in self._groups.add(rows):
            self._put(group)

    def close(self) -> None:
        """End the frame."""
        for group in self._groups.rest():
            self._put(group)
        self._out.flush(zstandard.FLUSH_FRAME)

    def _put(self, group: pa.Table) -> None:
        self._out.write(self._encoder.encode_lines(plain_rows(group)))


def _bytes_of(size: RowSize, _: int) -> int:
    return size.tokens * DIGITS + size.text_bytes + size.rows * KEY_BYTES + size.column_bytes


JSONL = Format(
    name="jsonl",
    directory="jsonl",
    file_names=lambda number, _: (f"shard-{number:05d}.jsonl.zst",),
    open=JsonlShard,
    bytes_of=_bytes_of,
)
