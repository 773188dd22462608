"""`column_values`: the values of columns for the documents of one part, as an Arrow table in their order."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.pipeline.steps.annotations.annotation_tables import annotation_input
from thresher.pipeline.steps.columns.known_columns import Column
from thresher.pipeline.steps.verdicts.removed_documents import column_values as fixed_values
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart
from thresher.storage import tables
from thresher.storage.archive.open_files import STEP_NAME
from thresher.storage.columns.column_paths import values_within
from thresher.storage.columns.kept_names import kept_table_name
from thresher.storage.columns.kept_table import kept_values
from thresher.storage.columns.united_types import cast_from
from thresher.storage.manifest import Input, Output, load_manifest, manifest_name
from thresher.storage.store import Readable, Store

PART = re.compile(r"([^/]+)/part-(.+)-\d{12}")
"""Name of a part of `process`: its source, and the stem of its archive file."""


class ColumnTables(NamedTuple):
    """The tables that hold the columns of the documents of one part. It can be sent to a worker."""

    documents: Input
    measurements: Input | None = None
    inputs: Input | None = None
    """The columns of the inputs; None if the archive file has none, or no column of them is needed."""
    annotations: tuple[tuple[str, Input], ...] = ()
    """The table of each annotation by its name; an annotation that the source does not have is missing."""
    signatures: Input | None = None
    clusters: bytes = b""
    """The size of the duplicate cluster of each row of the signatures (u32)."""

    @property
    def spans(self) -> tuple[Input, ...]:
        """All of them, as inputs of a part of a step."""
        found = (
            self.documents,
            self.measurements,
            self.inputs,
            *dict(self.annotations).values(),
            self.signatures,
        )
        return tuple(each for each in found if each is not None)


def column_tables(
    store: Store, judged: JudgedPart, columns: Sequence[Column], clusters: bytes = b""
) -> ColumnTables:
    """Return the tables that `column_values` needs of a part. `clusters` are those of all its signed documents, if a
    column is their size.
    """
    origins = {column.origin for column in columns}
    return ColumnTables(
        documents=_input(judged.documents),
        measurements=_input(judged.measurements) if "measurement" in origins else None,
        inputs=input_table(store, judged.name) if "input" in origins else None,
        annotations=tuple(
            (name, table)
            for name in sorted({column.annotation for column in columns} - {""})
            if (table := annotation_input(store, judged, name)) is not None
        ),
        signatures=_input(judged.signatures) if "cluster" in origins else None,
        clusters=clusters,
    )


def input_table(store: Store, part: str) -> Input | None:
    """Return the table with the input columns of a part of `process`; None if its archive file has none."""
    found = PART.fullmatch(part)
    name = kept_table_name(f"{found[1]}/{found[2]}") if found else ""
    if not found or not store.exists(name):
        return None
    archive = load_manifest(store, manifest_name(STEP_NAME, f"{found[1]}/{found[2]}"))
    return next((_input(output) for output in archive.outputs if output.name == name), None)


def document_fields(columns: Iterable[Column]) -> list[str]:
    """Return the columns of `storage.tables.DOCUMENTS` that the values of `columns` need."""
    fields = {"id"}
    for column in columns:
        fields |= {column.path[0]} if column.origin == "document" else set()
        fields |= {"record_offset"} if column.origin == "input" else set()
    return [name for name in tables.DOCUMENTS.names if name in fields]


def column_values(
    store: Readable, part: ColumnTables, columns: Sequence[Column], documents: pa.Table | None = None
) -> pa.Table:
    """Return the columns, under the names that the user gave them, with a row for each document of the part in the
    order of its table. `documents` has its columns `document_fields`, if the caller has read them.

    A value that a document lacks is null. Raise `CorruptData` if a table is not as it was sealed.
    """
    if documents is None:
        schema = tables.columns(tables.DOCUMENTS, *document_fields(columns))
        documents = tables.read(store, part.documents, schema)
    by_origin: dict[str, list[Column]] = {}
    for column in columns:
        by_origin.setdefault(column.origin, []).append(column)
    found: dict[str, pa.ChunkedArray[Any]] = {
        column.name: documents[column.path[0]] for column in by_origin.get("document", ())
    }
    if measured := by_origin.get("measurement"):
        found.update(_measured(store, part, measured, documents))
    if inputs := by_origin.get("input"):
        found.update(_from_inputs(store, part, inputs, documents))
    for column in by_origin.get("annotation", ()):
        found[column.name] = _annotated(store, part, column, documents)
    for column in by_origin.get("cluster", ()):
        found[column.name] = _cluster_sizes(store, part, documents)
    return pa.table({column.name: found[column.name] for column in columns})


def _measured(
    store: Readable, part: ColumnTables, columns: Sequence[Column], documents: pa.Table
) -> Mapping[str, Any]:
    assert part.measurements is not None
    names = [column.path[0] for column in columns]
    schema = pa.schema([tables.MEASUREMENTS.field("id"), *(pa.field(name, pa.float64()) for name in names)])
    rows = tables.read(store, part.measurements, schema)
    rows = rows.take(pc.index_in(documents["id"], value_set=rows["id"].combine_chunks()))
    return {column.name: rows[column.path[0]] for column in columns}


def _from_inputs(
    store: Readable, part: ColumnTables, columns: Sequence[Column], documents: pa.Table
) -> Mapping[str, Any]:
    if part.inputs is None:
        return {
            column.name: pa.chunked_array([pa.nulls(documents.num_rows, cast("Any", column.type))])
            for column in columns
        }
    schema = pa.schema(list({column.path[0]: column.field for column in columns}.values()))
    offsets = fixed_values(documents["record_offset"], "<i8")
    rows = kept_values(store, part.inputs, offsets, schema)
    return {column.name: values_within(rows[column.path[0]], column.path[1:]) for column in columns}


def _annotated(
    store: Readable, part: ColumnTables, column: Column, documents: pa.Table
) -> "pa.ChunkedArray[Any]":
    table = dict(part.annotations).get(column.annotation)
    if table is None:
        return pa.chunked_array([pa.nulls(documents.num_rows, cast("Any", column.type))])
    rows = tables.read(store, table, None)
    rows = rows.take(pc.index_in(documents["id"], value_set=rows["id"].combine_chunks()))
    return values_within(cast_from(rows, column.field), column.path[1:])


def _cluster_sizes(store: Readable, part: ColumnTables, documents: pa.Table) -> "pa.ChunkedArray[Any]":
    assert part.signatures is not None
    signed = tables.read(store, part.signatures, tables.columns(tables.SIGNATURES, "id"))["id"]
    sizes = pa.table({"size": pa.array(np.frombuffer(part.clusters, "<u4").astype(np.int64))})
    return sizes.take(pc.index_in(documents["id"], value_set=signed.combine_chunks()))["size"]


def _input(output: Output) -> Input:
    return Input(name=output.name, sha256=output.sha256)
