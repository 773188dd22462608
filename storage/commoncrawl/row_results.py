"""What was taken of Common Crawl: the rows of each batch as a table beside its archive file, and which ranges are known.

1. The table holds every row that was looked up, also those whose record was refused, with the reason: nothing is asked for twice.
2. It can be joined to the documents by `record_file` and `record_offset`.
3. Known ranges are held as 16 bytes each, of whatever length their names are.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from storage import tables
from storage.commoncrawl.index.row import CrawlIndexRow
from storage.manifest import manifests
from storage.store import Store

STEP_NAME = "commoncrawl"
STEP = f"{STEP_NAME}@1"
DIRECTORY = "commoncrawl"
KEY = np.dtype([("high", "<u8"), ("low", "<u8")])
BATCH = 10_000
"""Rows that are taken apart at a time."""
_NUMBERS = frozenset({"offset", "length", "status"})
SCHEMA = pa.schema(
    [
        *(
            pa.field(each.name, pa.int64() if each.name in _NUMBERS else pa.string(), nullable=False)
            for each in fields(CrawlIndexRow)
        ),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("record_file", pa.string(), nullable=False),
        pa.field("record_offset", pa.int64(), nullable=False),
    ]
)
"""A row of the index, and what became of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """What became of one row."""

    row: CrawlIndexRow
    reason: str = ""
    """Why its record was refused; empty where it was taken."""
    offset: int = -1
    """Of its record in our file; -1 where it was refused."""


def table_name(part: str) -> str:
    """Where the table of a part lies."""
    return f"{DIRECTORY}/{part}.parquet"


def write(path: Path, taken: Sequence[RowResult], file: str) -> None:
    """Write the table. The same rows give the same bytes."""
    columns: dict[str, list[Any]] = {
        each.name: [getattr(one.row, each.name) for one in taken] for each in fields(CrawlIndexRow)
    }
    columns["reason"] = [one.reason for one in taken]
    columns["record_file"] = ["" if one.reason else file for one in taken]
    columns["record_offset"] = [one.offset for one in taken]
    tables.write(path, pa.table(columns, schema=SCHEMA))


class KnownRanges:
    """The ranges that a source has of Common Crawl."""

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
    """What the sealed tables of a source name."""
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
