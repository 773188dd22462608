"""`parquet`: Apache Parquet, Zstandard, a CRC-32 in each page. Any Parquet tool reads it."""

from collections.abc import Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from thresher.shards.formats.format import Format, RowSize
from thresher.shards.formats.row_groups import RowGroups

INT32_BYTES = 4
REFERENCE_BYTES = 200
"""Bytes of the reference columns of a row: an id of 32 digits, a URL, the name of a WARC file, an offset."""


class ParquetShard:
    """Writes one Parquet file."""

    def __init__(self, files: Sequence[BinaryIO], schema: pa.Schema, _: int, __: RowSize) -> None:
        (file,) = files
        self._writer = pq.ParquetWriter(
            file, schema, compression="zstd", compression_level=3, write_page_checksum=True
        )
        self._groups = RowGroups(schema)

    def write(self, rows: pa.Table) -> None:
        """Append rows."""
        for group in self._groups.add(rows):
            self._put(group)

    def close(self) -> None:
        """Write the last row group and the footer."""
        for group in self._groups.rest():
            self._put(group)
        self._writer.close()

    def _put(self, group: pa.Table) -> None:
        self._writer.write_table(group, row_group_size=max(group.num_rows, 1))


def bytes_of(size: RowSize, _: int) -> int:
    """Return the bytes of rows before compression."""
    return size.tokens * INT32_BYTES + size.text_bytes + size.rows * REFERENCE_BYTES + size.column_bytes


PARQUET = Format(
    name="parquet",
    directory="data",
    file_names=lambda number, _: (f"shard-{number:05d}.parquet",),
    open=ParquetShard,
    bytes_of=bytes_of,
)
