"""Slices: the text that each repeat claims to repeat, on its way to the document that repeats it.

1. A slice is a row of a Parquet file with the place of the repeat, the place of its witness, and the witness's text.
2. Rows are sorted by the piece of the repeat. The statistics of a row group say which pieces it has, so the reader of a
   piece takes few groups, and holds one at a time.
3. Pages carry checksums, and a reader knows the digest of the footer.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from thresher.core import CorruptData
from thresher.pipeline.dedup_index.index_runs import RunRef
from thresher.storage.store import Readable

GROUP_BYTES = 1 << 20
"""Bytes of text of a row group."""
_FIELDS: "list[pa.Field[Any]]" = [
    *(pa.field(name, pa.uint32(), nullable=False) for name in ("piece", "document", "unit", "count", "kind")),
    pa.field("witness", pa.string(), nullable=False),
    *(pa.field(name, pa.int64(), nullable=False) for name in ("witness_start", "witness_end")),
    pa.field("text", pa.string(), nullable=False),
]
SLICES = pa.schema(_FIELDS)
_TAIL = 8
"""Bytes behind a Parquet footer: its length, and the magic number."""


def write_slices(file: BinaryIO, rows: Iterable[dict[str, Any]]) -> int:
    """Write slices, which come sorted by their piece, and return their number."""
    total = 0
    with pq.ParquetWriter(
        file,
        SLICES,
        compression="zstd",
        compression_level=1,
        write_statistics=["piece"],
        write_page_checksum=True,
    ) as writer:
        waiting: list[dict[str, Any]] = []
        size = 0
        for row in rows:
            waiting.append(row)
            size += len(row["text"])
            if size >= GROUP_BYTES:
                writer.write_table(pa.Table.from_pylist(waiting, schema=SLICES))
                total, waiting, size = total + len(waiting), [], 0
        if waiting:
            writer.write_table(pa.Table.from_pylist(waiting, schema=SLICES))
    return total + len(waiting)


def slices_ref(store: Readable, name: str, rows: int) -> RunRef:
    """Return the reference to a file of slices that was just sealed. Its digest is that of the Parquet footer. Raise
    `CorruptData` if it is no such file.
    """
    try:
        with store.open(name) as file:
            footer = pq.read_metadata(file)
            edges = [_group_edges(footer.row_group(at)) for at in range(footer.num_row_groups)]
            return RunRef(
                name=name, rows=rows, first=edges[0][0], last=edges[-1][1], digest=_footer_digest(file)
            )
    except (pa.ArrowException, OSError, IndexError, AttributeError) as error:
        raise _damage(name, error) from error


def slices_of(store: Readable, run: RunRef, piece: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the slices of a piece in a file, some at a time. Raise `CorruptData`, which names it, if it is damaged."""
    try:
        with store.open(run.name) as file:
            if _footer_digest(file) != run.digest:
                raise _damage(run.name, "its footer was changed")
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            for at in range(parquet.num_row_groups):
                first, last = _group_edges(parquet.metadata.row_group(at))
                if first <= piece <= last:
                    rows = parquet.read_row_group(at, use_threads=False).to_pylist()
                    yield [row for row in rows if row["piece"] == piece]
    except (pa.ArrowException, OSError, ValueError, KeyError, AttributeError) as error:
        raise _damage(run.name, error) from error


def _group_edges(group: Any) -> tuple[int, int]:
    """Return the smallest and the largest piece of the rows of a row group."""
    statistics = group.column(0).statistics
    return int(statistics.min), int(statistics.max)


def _footer_digest(file: Any) -> str:
    file.seek(0, 2)
    size = file.tell()
    file.seek(max(0, size - _TAIL))
    length = int.from_bytes(file.read(_TAIL)[:4], "little")
    file.seek(max(0, size - _TAIL - length))
    digest = hashlib.sha256(file.read(length + _TAIL)).hexdigest()
    file.seek(0)
    return digest


def _damage(name: str, error: Exception | str) -> CorruptData:
    return CorruptData(f"working files of dedup are damaged: {name}: {error}; run the same command again")
