"""Find the document and the archived record that a token of a batch came from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.core import CorruptData, InputError, RecordRef
from thresher.shards.formats.tokens import refs_name
from thresher.shards.loader.datasets import LoaderShard
from thresher.shards.packing import Pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOrigin:
    """Where one token came from."""

    document: str
    """The document's id."""
    url: str
    source: str
    """The source of the shard: the name that `Loader.sources` and `mix` have."""
    document_source: str
    """Column `source` of the document: the crawl or ingest that it is from."""
    record: RecordRef
    shard: str
    """The address of the shard."""
    row: int
    """The number of the document in the shard."""
    token: int
    """The number of the token in the document."""


def token_at(pieces: Pieces, position: int) -> int:
    """Return which token of a shard is at a position of a sequence. Raise `InputError` if that position is padding."""
    stops = np.cumsum(pieces.lengths)
    piece = int(np.searchsorted(stops, position, side="right"))
    if piece == len(stops):
        raise InputError(
            f"position {position} is padding: the sequence has {int(stops[-1]) if piece else 0} tokens"
        )
    return int(pieces.starts[piece] + position - (stops[piece] - pieces.lengths[piece]))


def origin_of(shard: LoaderShard, ends: npt.NDArray[np.uint64], token: int) -> TokenOrigin:
    """Return the origin of a token of a shard.

    Raise `CorruptData` if the shard's document references are missing or damaged.
    """
    row = int(np.searchsorted(ends, np.uint64(token), side="right"))
    line = _reference(shard, row)
    first = int(ends[row - 1]) if row else 0
    return TokenOrigin(
        document=str(line["id"]),
        url=str(line["url"]),
        source=shard.source,
        document_source=str(line["source"]),
        record=RecordRef(
            file=str(line["record_file"]),
            offset=int(str(line["record_offset"])),
            length=int(str(line["record_length"])),
            digest=str(line["record_digest"]),
        ),
        shard=shard.where,
        row=row,
        token=token - first,
    )


def _reference(shard: LoaderShard, row: int) -> dict[str, object]:
    """Read one row of the shard's document references: one row group of the file.

    A process compares the file with its SHA-256 when it reads it for the first time.
    """
    import pyarrow as pa  # noqa: PLC0415 - only a trace needs it, and it takes long to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    from thresher.storage.sealed_reading import check_sealed  # noqa: PLC0415

    name = refs_name(shard.file.name)
    where, remedy = f"{shard.store.uri}/{name}", "run `thresher verify` on the export"
    sealed = shard.side_files.get(name)
    if sealed is None:
        raise CorruptData(f"{where}: the manifest does not name it; {remedy}")
    try:
        check_sealed(shard.store, sealed)
    except CorruptData:
        raise CorruptData(f"{where}: is missing or not what was sealed; {remedy}") from None
    try:
        with shard.store.open(name) as file:
            table = pq.ParquetFile(file, pre_buffer=False)
            for group in range(table.metadata.num_row_groups):
                rows = table.metadata.row_group(group).num_rows
                if row < rows:
                    # No threads: one that still holds `file` when the interpreter ends aborts the process.
                    rows_read = table.read_row_group(group, use_threads=False)
                    found: dict[str, object] = rows_read.slice(row, 1).to_pylist()[0]
                    return found
                row -= rows
    except (pa.ArrowException, OSError) as error:
        raise CorruptData(f"{where}: {error}; {remedy}") from None
    raise CorruptData(f"{where}: has fewer rows than its shard; {remedy}")
