"""Store the result of every index row as a table beside the archive file, and know which ranges a source already has.

1. The table holds every row that was looked up, with the reason if its record was refused. Nothing is requested twice.
2. It can be joined to the documents by `record_file` and `record_offset`.
3. A known range takes 16 bytes of memory, however long its file's name is.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.storage import tables
from thresher.storage.commoncrawl.index.row import CrawlIndexRow
from thresher.storage.manifest import manifests
from thresher.storage.store import Store

STEP_NAME = "commoncrawl"
STEP = f"{STEP_NAME}@1"
DIRECTORY = "commoncrawl"
KEY = np.dtype([("high", "<u8"), ("low", "<u8")])
BATCH = 10_000
"""Rows that are converted at a time."""
_NUMBERS = frozenset({"offset", "length", "status"})
SCHEMA = pa.schema(
    [
        *(
            pa.field(column.name, pa.int64() if column.name in _NUMBERS else pa.string(), nullable=False)
            for column in fields(CrawlIndexRow)
        ),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("record_file", pa.string(), nullable=False),
        pa.field("record_offset", pa.int64(), nullable=False),
    ]
)
"""Columns of the table: the fields of the index row, then its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """The result of one row."""

    row: CrawlIndexRow
    reason: str = ""
    """Reason code if its record was refused; empty if it was archived."""
    offset: int = -1
    """Offset of its record in the archive file; -1 if the record was refused."""


def table_name(part: str) -> str:
    """Return the name of a part's table in the store."""
    return f"{DIRECTORY}/{part}.parquet"


def write(path: Path, results: Sequence[RowResult], file: str) -> None:
    """Write the table of the results whose records lie in the archive file `file`. The same results give the same
    bytes.
    """
    columns: dict[str, list[Any]] = {
        column.name: [getattr(result.row, column.name) for result in results]
        for column in fields(CrawlIndexRow)
    }
    columns["reason"] = [result.reason for result in results]
    columns["record_file"] = ["" if result.reason else file for result in results]
    columns["record_offset"] = [result.offset for result in results]
    tables.write(path, pa.table(columns, schema=SCHEMA))


class KnownRanges:
    """The ranges of Common Crawl's files that a source already has."""

    __slots__ = ("_keys",)

    def __init__(self, keys: npt.NDArray[np.void]) -> None:
        self._keys = np.sort(keys)

    def __contains__(self, row: CrawlIndexRow) -> bool:
        key = np.array([_key(row.filename, row.offset)], dtype=KEY)
        at = int(np.searchsorted(self._keys, key)[0])
        return at < len(self._keys) and bool(self._keys[at] == key[0])

    def __len__(self) -> int:
        return len(self._keys)


def known_ranges(store: Store, source: str) -> KnownRanges:
    """Return the ranges that the sealed tables of a source list."""
    found: list[npt.NDArray[np.void]] = [np.empty(0, dtype=KEY)]
    for manifest in manifests(store, STEP_NAME, source):
        for output in manifest.outputs:
            table = tables.read(store, output, tables.columns(SCHEMA, "filename", "offset"))
            found.extend(
                np.fromiter(_keys(batch.to_pylist()), dtype=KEY) for batch in table.to_batches(BATCH)
            )
    return KnownRanges(np.concatenate(found))


def _keys(rows: Iterable[dict[str, Any]]) -> Iterable[tuple[int, int]]:
    return (_key(row["filename"], row["offset"]) for row in rows)


def _key(filename: str, offset: int) -> tuple[int, int]:
    digest = hashlib.blake2b(f"{filename} {offset}".encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
