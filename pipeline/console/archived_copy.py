"""`archived_copy` and `stored_document`: one record of the archive, and one extracted text, of bounded size.

A name from outside never becomes a path: only names that the catalog has are read.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.core import InputError
from thresher.pipeline.console.models.url_models import DocumentView
from thresher.pipeline.console.stored_reader import StoredReader
from thresher.pipeline.steps.columns.column_values import input_table
from thresher.pipeline.steps.process import NAME
from thresher.storage import tables
from thresher.storage.columns.kept_table import kept_schema, kept_values
from thresher.storage.columns.united_types import json_text
from thresher.storage.manifest import load_manifest, manifest_name
from thresher.storage.store import Store
from thresher.storage.warc.records import read_records

MAX_PAYLOAD = 4 << 20
"""Bytes of a payload that are shown."""
MAX_TEXT = 500_000
"""Characters of a document that are shown."""
MAX_HEADERS = 100
MAX_COLUMNS, MAX_VALUE = 100, 500
"""Columns of an input that are shown, and characters of each value."""
_SHOWN = tables.columns(
    tables.DOCUMENTS,
    *("id", "url", "title", "language", "extractor", "fetched_at_ms", "record_file", "record_offset", "text"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedCopy:
    """One record, as a server once sent it."""

    url: str
    date_ms: int
    status: int | None
    mime: str
    headers: tuple[tuple[str, str], ...]
    payload: bytes
    problem: str
    """Why the payload is not whole; empty if it is."""


def archived_copy(reader: StoredReader, file: str, offset: int) -> ArchivedCopy:
    """Return the record that begins at a byte of a sealed archive file, with at most `MAX_PAYLOAD` bytes of its
    payload. Raise `InputError` if there is none.
    """
    if offset < 0 or not reader.has_archive_file(file):
        raise InputError(f"{file[:200]!r}: there is no sealed archive file of this name")
    with reader.store.open(file) as source:
        record = next(read_records(source, offset, offset + 1, name=file, limit=MAX_PAYLOAD), None)
    if record is None:
        raise InputError(f"{file}: no record begins at byte {offset:,}")
    return ArchivedCopy(
        url=record.url,
        date_ms=record.date_ms,
        status=record.status,
        mime=record.mime,
        headers=record.headers[:MAX_HEADERS],
        payload=record.payload[:MAX_PAYLOAD],
        problem=record.problem or record.truncated or "",
    )


def stored_document(reader: StoredReader, part: str, id_: str) -> DocumentView:
    """Return a document of a part of the process step, with its verdict. Raise `InputError` if there is none."""
    view = reader.manifest(manifest_name(NAME, part))
    outputs = {each.name.partition("/")[0]: each for each in load_manifest(reader.store, view.name).outputs}
    wanted = pa.array([id_], pa.string())
    documents = tables.read(reader.store, outputs["documents"], _SHOWN)
    rows = documents.filter(pc.is_in(documents["id"], value_set=wanted)).to_pylist()
    if not rows:
        raise InputError(
            f"{part}: it has no document {id_[:100]!r}; the record was dropped before extraction"
        )
    schema = tables.columns(tables.VERDICTS, "id", "keep", "rule", "reason")
    verdicts = tables.read(reader.store, outputs["verdicts"], schema)
    (verdict,) = verdicts.filter(pc.is_in(verdicts["id"], value_set=wanted)).to_pylist()[:1]
    measured = tables.read(reader.store, outputs["measurements"], None)
    names = [field.name for field in measured.schema if field.type == pa.float64()]
    (values,) = measured.filter(pc.is_in(measured["id"], value_set=wanted)).to_pylist()[:1] or [{}]
    row = rows[0]
    return DocumentView(
        id=row["id"],
        url=row["url"],
        title=row["title"],
        language=row["language"],
        extractor=row["extractor"],
        fetched_at=row["fetched_at_ms"],
        record_file=row["record_file"],
        record_offset=row["record_offset"],
        keep=verdict["keep"],
        rule=verdict["rule"],
        reason=verdict["reason"],
        measurements={name: values[name] for name in names if values.get(name) is not None},
        columns=_input_columns(reader.store, part, row["record_offset"]),
        text=row["text"][:MAX_TEXT],
        is_cut=len(row["text"]) > MAX_TEXT,
    )


def _input_columns(store: Store, part: str, offset: int) -> dict[str, str]:
    """Return the columns that came with the record at an offset, as texts."""
    table = input_table(store, part)
    if table is None:
        return {}
    schema = pa.schema(list(kept_schema(store, table.name))[1 : MAX_COLUMNS + 1])
    (row,) = kept_values(store, table, np.array([offset], np.int64), schema).to_pylist()
    texts = {name: value if isinstance(value, str) else json_text(value) for name, value in row.items()}
    return {name: text[:MAX_VALUE] for name, text in texts.items() if row[name] is not None}
