"""`jsonl`: one JSON object a line, UTF-8, one Zstandard frame a file. `zstd -d`, DuckDB and pandas read it."""

from collections.abc import Sequence
from typing import BinaryIO

import msgspec
import pyarrow as pa
import zstandard

from shards.formats.format import Format, RowSize

DIGITS = 6
"""Bytes of a token id as text, with its comma."""
KEY_BYTES = 300
"""Bytes of a line besides its tokens and its text."""
LINES_AT_ONCE = 256


class JsonlShard:
    """Writes one compressed file of lines."""

    def __init__(self, files: Sequence[BinaryIO], schema: pa.Schema, _: int, __: RowSize) -> None:
        (file,) = files
        self._names = schema.names
        self._out = zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(file, closefd=False)
        self._encoder = msgspec.json.Encoder()

    def write(self, rows: pa.Table) -> None:
        """Append rows, one line each."""
        table = rows.select(self._names)
        for start in range(0, table.num_rows, LINES_AT_ONCE):
            self._out.write(self._encoder.encode_lines(table.slice(start, LINES_AT_ONCE).to_pylist()))

    def close(self) -> None:
        """End the frame."""
        self._out.flush(zstandard.FLUSH_FRAME)


def _bytes_of(size: RowSize, _: int) -> int:
    return size.tokens * DIGITS + size.text_bytes + size.rows * KEY_BYTES


JSONL = Format(
    name="jsonl",
    directory="jsonl",
    file_names=lambda number, _: (f"shard-{number:05d}.jsonl.zst",),
    open=JsonlShard,
    bytes_of=_bytes_of,
)
