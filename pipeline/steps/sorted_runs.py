"""Runs: the working files of an export. A run holds rows in the order of their places, and runs are merged by place.

1. A run is a Parquet file with small row groups. The places in the statistics of a group say which groups a range of
   places needs, so reading a range costs little more than its bytes.
2. `merged_rows` yields the rows of a range of places in order, from any number of runs. It holds at most one row group
   of each run, and one window of places.
3. No place occurs twice, and all runs together have every place; otherwise they are damaged, and that is an error.
"""

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thresher.core import CorruptData
from thresher.pipeline.engine.part_store import PartStore
from thresher.shards.formats.row_groups import row_bytes
from thresher.shards.formats.shard_rows import RowColumns
from thresher.shards.order import IntArray

GROUP_BYTES = 512 << 10
"""Bytes of a row group before compression: merging 256 runs then holds 128 MB."""
WINDOW_BYTES = 16 << 20
"""About so many bytes are merged at once."""
PLACE, TOKENS = " place", " tokens"
"""Names of the first columns of a run. No column that a user names has such a name, because its spaces are stripped."""
FACTS = [pa.field(PLACE, pa.int64(), nullable=False), pa.field(TOKENS, pa.int64(), nullable=False)]


def run_schema(columns: RowColumns) -> pa.Schema:
    """Return the columns of a run: those of a row, its place, and the number of its tokens."""
    return pa.schema([*FACTS, *columns.exact])


def token_counts(rows: pa.Table) -> IntArray:
    """Return the number of tokens of each row; 0 for rows without token ids."""
    if "input_ids" not in rows.column_names:
        return np.zeros(rows.num_rows, dtype=np.int64)
    counts: IntArray = pc.list_value_length(rows["input_ids"]).to_numpy().astype(np.int64)
    return counts


def write_run(file: BinaryIO, rows: pa.Table, documents: IntArray, places: IntArray) -> None:
    """Write a run: for each place the row of the document with that index, in the order of the places."""
    order = np.argsort(places, kind="stable")
    documents, places = documents[order], places[order]
    sizes = row_bytes(rows)[documents]
    tokens = token_counts(rows)[documents]
    schema = pa.schema([*FACTS, *rows.schema])
    with _run_writer(file, schema) as writer:
        for start, stop in _group_edges(sizes):
            group = rows.take(pa.array(documents[start:stop], pa.int64()))
            facts = [pa.array(numbers[start:stop], pa.int64()) for numbers in (places, tokens)]
            writer.write_table(pa.table([*facts, *group.columns], schema=schema), row_group_size=stop - start)


def write_merged(file: BinaryIO, rows: Iterator[pa.Table], schema: pa.Schema) -> None:
    """Write rows that are in the order of their places as a run."""
    with _run_writer(file, schema) as writer:
        for table in rows:
            for start, stop in _group_edges(row_bytes(table)):
                writer.write_table(table.slice(start, stop - start), row_group_size=stop - start)


def _run_writer(file: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    options: dict[str, Any] = {"use_dictionary": ["source", "record_file"], "write_statistics": [PLACE]}
    return pq.ParquetWriter(
        file, schema, compression="zstd", compression_level=1, write_page_checksum=True, **options
    )


def merged_rows(
    store: PartStore, names: Sequence[str], places: range, columns: Sequence[str], *, complete: bool
) -> Iterator[pa.Table]:
    """Yield the columns, `PLACE` among them, of the rows at a range of places, in order.

    Raise `CorruptData` if a run cannot be read, if a place occurs twice, or if `complete` is set and a place is
    missing.
    """
    wanted = [PLACE, *(name for name in columns if name != PLACE)]
    runs = [_Run(store, name, places, wanted) for name in names]
    window = max(1, WINDOW_BYTES * len(places) // max(sum(run.bytes for run in runs), 1))
    for start in range(places.start, places.stop, window):
        stop = min(start + window, places.stop)
        found = [table for run in runs for table in run.rows_until(stop)]
        if not found and not complete:
            continue
        table = (
            pa.concat_tables(found).combine_chunks() if found else pa.table({PLACE: pa.array([], pa.int64())})
        )
        there = table[PLACE].to_numpy()
        order = np.argsort(there)
        if (np.diff(there[order]) < 1).any() or (complete and len(there) != stop - start):
            raise CorruptData(
                f"the working files of the export do not have one row for each place from {start} to {stop}; "
                "run the same export again"
            )
        yield table.take(pa.array(order, pa.int64()))


class _Run:
    """One run while a range of its places is read."""

    def __init__(self, store: PartStore, name: str, places: range, columns: Sequence[str]) -> None:
        self._name, self._columns, self._stop = name, list(columns), places.stop
        self._waiting: pa.Table | None = None
        self._start = places.start
        try:
            self._file = pq.ParquetFile(store.open(name), page_checksum_verification=True, pre_buffer=False)
            groups = [self._file.metadata.row_group(at) for at in range(self._file.num_row_groups)]
            edges = [_edges(group) for group in groups]
        except (pa.ArrowException, OSError, AttributeError) as error:
            raise self._damage(error) from error
        chosen = [
            at for at, (first, last) in enumerate(edges) if last >= places.start and first < places.stop
        ]
        self._firsts = {at: edges[at][0] for at in chosen}
        self._groups = iter(chosen)
        self._next = next(self._groups, None)
        self.bytes = sum(groups[at].total_byte_size for at in chosen)
        """Bytes before compression of the groups that are needed."""

    def rows_until(self, stop: int) -> Iterator[pa.Table]:
        """Yield the rows below a place that were not yielded before."""
        if self._waiting is not None:
            yield from self._divided(self._waiting, stop)
        while self._waiting is None and self._next is not None and self._firsts[self._next] < stop:
            try:
                table = self._file.read_row_group(self._next, columns=self._columns, use_threads=False)
            except (pa.ArrowException, OSError) as error:
                raise self._damage(error) from error
            self._next = next(self._groups, None)
            yield from self._divided(table.slice(_rows_below(table, self._start)), stop)

    def _divided(self, table: pa.Table, stop: int) -> Iterator[pa.Table]:
        below = _rows_below(table, stop)
        # A slice keeps the whole group in memory, but no more than one group of each run.
        self._waiting = table.slice(below) if below < table.num_rows else None
        if below:
            yield table.slice(0, below)

    def _damage(self, error: Exception) -> CorruptData:
        return CorruptData(
            f"the working file {self._name} is damaged ({str(error).splitlines()[0]}); run the same export again"
        )


def _edges(group: Any) -> tuple[int, int]:
    """Return the first and the last place of a row group."""
    statistics = group.column(0).statistics
    return statistics.min, statistics.max


def _rows_below(table: pa.Table, place: int) -> int:
    return int(np.searchsorted(table[PLACE].to_numpy(), place))


def _group_edges(sizes: IntArray) -> Iterator[tuple[int, int]]:
    """Yield the ranges of rows that make a group: at least one row, and otherwise at most `GROUP_BYTES`."""
    start, total = 0, 0
    for at, size in enumerate(sizes.tolist()):
        if at > start and total + size > GROUP_BYTES:
            yield start, at
            start, total = at, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes)
