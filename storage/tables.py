"""Tables of what was made of records: their columns, and the Parquet files that hold them.

The same rows in the same order give the same bytes: no clock, no file name, and no trace of how the rows lay in memory
goes into a file. Any Parquet reader reads them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from thresher.core import CorruptData, Document, Edit, Verdict
from thresher.storage import sealed_reading
from thresher.storage.manifest import Output
from thresher.storage.sealed_reading import SealedObject
from thresher.storage.store import Readable, Store

ZSTD_LEVEL = 3
"""Zstandard's own default; higher levels cost more time than the text steps themselves."""
ROWS_A_GROUP = 4096
"""About 20 MB of text: small enough to read one group at a time, large enough to compress well."""
HASH_BYTES = 16
PERMUTATIONS = 112
"""Numbers in a MinHash unless others are wanted: 14 bands of 8 rows, as FineWeb (arXiv:2406.17557, section 3.4)."""


def _column(name: str, type_: pa.DataType) -> "pa.Field[Any]":
    return pa.field(name, type_, nullable=False)


DOCUMENTS = pa.schema(
    [
        *(
            _column(name, pa.string())
            for name in (
                "id",
                "url",
                "text",
                "title",
                "date",
                "language",
                "declared_language",
                "license",
                "mime",
                "charset",
                "extractor",
                "source",
                "external_id",
            )
        ),
        _column("fetched_at_ms", pa.int64()),
        _column("record_file", pa.string()),
        _column("record_offset", pa.int64()),
        _column("record_length", pa.int64()),
        _column("record_digest", pa.string()),
        *(
            _column(name, pa.string())
            for name in (
                "robots",
                "tdm_reservation",
                "tdm_policy",
                "author",
                "canonical_url",
                "declared_mime",
                "charset_source",
                "truncated",
                "route",
                "fact_sources",
            )
        ),
        _column("screenshot_offset", pa.int64()),
        _column("screenshot_length", pa.int64()),
    ]
)
"""One `Document` a row."""

TEXTS = tuple(
    field.name for field in DOCUMENTS if field.type == pa.string() and not field.name.startswith("record_")
)
"""Columns of documents that hold text written by others."""

_EDIT = pa.struct(
    [_column("start", pa.int64()), _column("end", pa.int64()), _column("replacement", pa.string())]
)
"""One `Edit`; places count characters (code points) of the document's text."""

VERDICTS = pa.schema(
    [
        _column("id", pa.string()),
        _column("keep", pa.bool_()),
        _column("rule", pa.string()),
        _column("reason", pa.string()),
        _column("edits", pa.list_(_column("item", _EDIT))),
    ]
)
"""One `Verdict` a row."""

REASON_PREFIX = "reason_"
"""Begins the name of the column with the reasons that a rule gave whatever its thresholds."""
MEASUREMENTS = pa.schema(
    [
        _column("id", pa.string()),
        _column("language", pa.string()),
        _column("payload_bytes", pa.int64()),
        _column("text_bytes", pa.int64()),
        VERDICTS.field("edits"),
    ]
)
"""What the rules measured of a document, kept or not, one a row: everything that a verdict follows from. `text_bytes`
are those of the unedited text. A nullable float64 column for each measurement follows, in the order of their names, and
a nullable text column for each rule that gave a reason whatever its thresholds."""

SIGNATURES = pa.schema(
    [
        _column("id", pa.string()),
        _column("text_hash", pa.binary(HASH_BYTES)),
        _column("url", pa.string()),
        _column("text_bytes", pa.int64()),
        _column("payload_bytes", pa.int64()),
        _column("fetched_at_ms", pa.int64()),
    ]
)
"""What deduplication knows of a kept document: hash of its text, its URL, sizes in bytes and fetch time. A column
`minhash` of `permutations` numbers follows (`signature_schema`)."""

REMOVALS = pa.schema(
    [
        _column("id", pa.string()),
        _column("witness", pa.string()),
        _column("kind", pa.string()),
        pa.field("similarity", pa.float64()),
        _column("cluster_size", pa.int64()),
    ]
)
"""One removed duplicate a row, with the document that it duplicates. `similarity` is 1 for equal texts, an estimate
for near duplicates, and null for equal URLs. `cluster_size` counts the cluster with the document that stays."""


SCREENED = pa.schema(
    [
        *(REMOVALS.field(name) for name in ("id", "witness", "kind", "similarity")),
        _column("witness_table", pa.uint64()),
    ]
)
"""One document that `process` left out, because deduplication knew its witness before. `kind` is `exact` or `near`.
`witness_table` is a hash of the name and the digest of the table of signatures that has the witness."""
CUTS = pa.schema(
    [
        _column("id", pa.string()),
        _column("kind", pa.string()),
        _column("start", pa.int64()),
        _column("end", pa.int64()),
        _column("characters", pa.int64()),
        _column("witness", pa.string()),
        _column("witness_start", pa.int64()),
        _column("witness_end", pa.int64()),
    ]
)
"""One repeat that was cut a row: characters `start` to `end` of the document's text, as the rules edited it, repeat
those of the document `witness`. Repeats may overlap: `characters` counts those that no row of the document before has.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """Columns of a table of signatures. The same index stands for the same document in all of them."""

    ids: list[str]
    text_hashes: list[bytes]
    urls: list[str]
    text_bytes: npt.NDArray[np.int64]
    payload_bytes: npt.NDArray[np.int64]
    fetched_at_ms: npt.NDArray[np.int64]
    minhashes: npt.NDArray[np.uint32]
    """Shape (rows, permutations)."""


def document_rows(documents: Iterable[Document]) -> pa.Table:
    """Return documents as a table of `DOCUMENTS`."""
    every = list(documents)
    values: dict[str, list[Any]] = {
        "record_file": [each.record.file for each in every],
        "record_offset": [each.record.offset for each in every],
        "record_length": [each.record.length for each in every],
        "record_digest": [each.record.digest for each in every],
    }
    columns = (
        values[name] if name in values else [getattr(each, name) for each in every]
        for name in DOCUMENTS.names
    )
    return _table(columns, DOCUMENTS)


def require_storable(document: Document) -> int:
    """Return the size of a document's text in UTF-8, in bytes. Raise `UnicodeEncodeError` if one of its texts holds
    half of a surrogate pair.
    """
    for name in TEXTS:
        getattr(document, name).encode()
    return len(document.text.encode())


def verdict_rows(verdicts: Sequence[Verdict]) -> pa.Table:
    """Return verdicts as a table of `VERDICTS`."""
    columns = [
        *([getattr(each, name) for each in verdicts] for name in VERDICTS.names if name != "edits"),
        [_edits(each.edits) for each in verdicts],
    ]
    return _table(columns, VERDICTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementRow:
    """One row of `MEASUREMENTS`."""

    id: str
    language: str
    payload_bytes: int
    text_bytes: int
    edits: Sequence[Edit]
    measurements: Mapping[str, float]
    reasons: Mapping[str, str]
    """By rule."""


def measurement_rows(rows: Sequence[MeasurementRow], names: Iterable[str], rules: Iterable[str]) -> pa.Table:
    """Return a table of `MEASUREMENTS` with the named measurements, and with the reasons of the named rules; null if a
    row lacks one.
    """
    names, rules = sorted(set(names) - set(MEASUREMENTS.names)), sorted(set(rules))
    schema = pa.schema(
        [
            *MEASUREMENTS,
            *(pa.field(name, pa.float64()) for name in names),
            *(pa.field(f"{REASON_PREFIX}{rule}", pa.string()) for rule in rules),
        ]
    )
    columns = [
        *([getattr(each, name) for each in rows] for name in MEASUREMENTS.names if name != "edits"),
        [_edits(each.edits) for each in rows],
        *([each.measurements.get(name) for each in rows] for name in names),
        *([each.reasons.get(rule) for each in rows] for rule in rules),
    ]
    return _table(columns, schema)


def _table(columns: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _edits(edits: Iterable[Edit]) -> list[dict[str, int | str]]:
    return [{"start": each.start, "end": each.end, "replacement": each.replacement} for each in edits]


def edits_by_id(store: Readable, sealed: SealedObject) -> dict[str, tuple[Edit, ...]]:
    """Return the edits of each document of a table of verdicts that has any. Raise `CorruptData` if the table is not as
    it was sealed.
    """
    table = read(store, sealed, columns(VERDICTS, "id", "edits"))
    has_edits = cast("pa.ListArray[Any]", table["edits"].combine_chunks()).value_lengths().to_numpy() > 0
    rows = table.filter(pa.array(has_edits)).to_pylist()
    return {row["id"]: tuple(Edit(**edit) for edit in row["edits"]) for row in rows}


def signature_schema(permutations: int) -> pa.Schema:
    """Return the schema of a table of signatures with MinHashes of so many numbers."""
    minhash = pa.list_(_column("item", pa.uint32()), permutations)
    return SIGNATURES.append(_column("minhash", minhash))


def signature_rows(  # noqa: PLR0913 - the columns of a table
    *,
    ids: Sequence[str],
    text_hashes: Sequence[bytes],
    urls: Sequence[str],
    text_bytes: Sequence[int],
    payload_bytes: Sequence[int],
    fetched_at_ms: Sequence[int],
    minhashes: npt.NDArray[np.uint32],
) -> pa.Table:
    """Return signatures as a table of `signature_schema`. `minhashes` has the shape (rows, permutations)."""
    schema = signature_schema(minhashes.shape[1])
    flat = pa.array(np.ascontiguousarray(minhashes, dtype=np.uint32).reshape(-1), pa.uint32())
    columns = {
        "id": ids,
        "text_hash": text_hashes,
        "url": urls,
        "text_bytes": text_bytes,
        "payload_bytes": payload_bytes,
        "fetched_at_ms": fetched_at_ms,
    }
    arrays = [pa.array(column, SIGNATURES.field(name).type) for name, column in columns.items()]
    arrays.append(pa.FixedSizeListArray.from_arrays(flat, type=schema.field("minhash").type))
    return pa.Table.from_arrays(arrays, schema=schema)


def read_signatures(
    store: Readable, sealed: Iterable[SealedObject], permutations: int = PERMUTATIONS
) -> Signatures:
    """Return the signatures of several tables, one table after another. Raise `CorruptData` if a table is not as it was
    sealed, or its MinHashes have another number of numbers.
    """
    schema = signature_schema(permutations)
    tables = [schema.empty_table(), *(read(store, each, schema) for each in sealed)]
    table = pa.concat_tables(tables)
    flat = [
        cast("pa.FixedSizeListArray[Any, Any]", chunk).flatten().to_numpy()
        for chunk in table["minhash"].chunks
    ]
    return Signatures(
        ids=cast("list[str]", table["id"].to_pylist()),
        text_hashes=cast("list[bytes]", table["text_hash"].to_pylist()),
        urls=cast("list[str]", table["url"].to_pylist()),
        text_bytes=table["text_bytes"].to_numpy(),
        payload_bytes=table["payload_bytes"].to_numpy(),
        fetched_at_ms=table["fetched_at_ms"].to_numpy(),
        minhashes=np.concatenate(flat).reshape(-1, permutations),
    )


def write(file: Path | BinaryIO, table: pa.Table) -> None:
    """Write a table as Parquet (Zstandard), each page with its CRC-32. The same rows in the same order give the same
    bytes.
    """
    pq.write_table(
        table.combine_chunks(),  # a page ends at the end of a chunk
        file,
        row_group_size=ROWS_A_GROUP,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        write_page_checksum=True,
    )


def write_pieces(file: Path | BinaryIO, schema: pa.Schema, pieces: Iterable[pa.Table]) -> None:
    """Write a table that comes in pieces, as `write` does: the bytes do not depend on the pieces. Memory holds one
    piece and one row group.
    """
    with pq.ParquetWriter(
        file, schema, compression="zstd", compression_level=ZSTD_LEVEL, write_page_checksum=True
    ) as writer:
        rest, is_empty = schema.empty_table(), True
        for piece in pieces:
            joined = pa.concat_tables([rest, piece]).combine_chunks()
            whole = len(joined) // ROWS_A_GROUP * ROWS_A_GROUP
            if whole:
                writer.write_table(joined.slice(0, whole).combine_chunks(), row_group_size=ROWS_A_GROUP)
                is_empty = False
            rest = joined.slice(whole)
        if len(rest) or is_empty:
            writer.write_table(rest.combine_chunks(), row_group_size=ROWS_A_GROUP)


def faults(store: Store, output: Output) -> Iterator[str]:
    """Yield what is wrong with a sealed table, one line each. Read one group at a time, because a table may be larger
    than memory.
    """
    rows = 0
    try:
        with store.open(output.name) as file:
            # A thread of pyarrow that still holds a file of Python's when the interpreter ends aborts the process.
            table = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            for group in range(table.num_row_groups):
                rows += table.read_row_group(group, use_threads=False).num_rows
    except (pa.ArrowException, OSError) as error:
        yield f"{output.name} cannot be read: {str(error).splitlines()[0]}"
        return
    if rows != output.rows:
        yield f"{output.name} has {rows} rows; it was sealed with {output.rows}"


def row_groups(store: Readable, sealed: SealedObject, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the columns of a schema from a sealed table, one row group after another: memory is bounded by a group.

    Pages are checked against their CRC-32. Nothing is compared with the seal, because that would read the other
    columns too; whoever needs that calls `sealed_reading.check_sealed`. Raise `CorruptData` if the table cannot be
    read, or lacks a column.
    """
    try:
        with store.open(sealed.name) as file:
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            for group in range(parquet.num_row_groups):
                yield parquet.read_row_group(group, columns=schema.names, use_threads=False).cast(schema)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _unreadable(sealed, error) from error


def column_names(store: Readable, sealed: SealedObject) -> list[str]:
    """Return the names of all columns of a sealed table. Raise `CorruptData` if it cannot be read."""
    try:
        with store.open(sealed.name) as file:
            return pq.read_schema(file).names
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(sealed, error) from error


def columns(schema: pa.Schema, *names: str) -> pa.Schema:
    """Return the schema of some columns."""
    return pa.schema([schema.field(name) for name in names])


def read(store: Readable, sealed: SealedObject, schema: pa.Schema | None) -> pa.Table:
    """Return the columns of a schema from a sealed table, all of them if it is None.

    Raise `CorruptData` if the table is not as it was sealed, or lacks one of them. The whole table is read,
    because only that gives its digest (decision 24).
    """
    data = sealed_reading.read_sealed(store, sealed)
    try:
        # A worker process may start no thread: neither to decode nor to read ahead.
        parquet = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        if schema is None:
            return parquet.read(use_threads=False)
        return parquet.read(columns=schema.names, use_threads=False).cast(schema)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _unreadable(sealed, error) from error


def _unreadable(sealed: SealedObject, error: Exception) -> CorruptData:
    detail = str(error).splitlines()[0] if str(error) else type(error).__name__
    return CorruptData(f"{sealed.name} cannot be read as a table of Thresher: {detail}; make it again")
