"""New documents from the texts that a user's function wrote: rewritten, translated or made up from a document.

The texts become records of a source, as an ingested table does, so `process`, `dedup` and `export` work on them. The
external id of a new document is the id of its origin. Each part of the annotation is one input of the source: it is
ingested once, and a killed command goes on with the next.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from thresher.core import InputError
from thresher.pipeline.engine.step import Part
from thresher.pipeline.inputs.ingest import IngestOptions, ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps.annotations.annotation_tables import NAME
from thresher.pipeline.steps.annotations.annotator import ID, TEXT_DIGEST
from thresher.storage import tables
from thresher.storage.inputs.table_files.columns import Columns
from thresher.storage.manifest import load_manifest, manifest_name
from thresher.storage.store import Store

TEXT = "text"
FACTS = ("title", "author", "date", "license")
"""Facts that a new document has from its origin, unless the function returns them."""


def check_source(names: Sequence[str], into: str) -> None:
    """Raise `InputError` if the source of the new documents is a source of their origins."""
    if into in names:
        raise InputError(f"--into {into}: its own documents are annotated; name another source")


def ingest_texts(store: Store, parts: Sequence[Part], into: str) -> int:
    """Ingest the texts of each sealed part of an annotation, and return how many records they are. Raise `InputError`
    if it has no column `text`.
    """
    entries = 0
    with tempfile.TemporaryDirectory(prefix="thresher-texts-") as name:
        for part in parts:
            made = load_manifest(store, manifest_name(NAME, part.name))
            (output,) = made.outputs
            annotations = tables.read(store, output, None)
            if made.counts["annotated"] and TEXT not in annotations.column_names:
                raise InputError(
                    f"--into {into}: {made.recipe['with']} returned no column `text`, but "
                    f"{', '.join(annotations.column_names[2:])}; return {{'text': [...]}}, a text or None for each "
                    "document"
                )
            documents = tables.read(store, part.inputs[0], tables.DOCUMENTS)
            table = new_rows(annotations, documents)
            if not table.num_rows:
                continue
            path = Path(name) / f"{part.name.replace('/', '-')}.parquet"
            tables.write(path, table)
            summary = ingest(
                store,
                into,
                locate_inputs([path]),
                IngestOptions(columns=Columns(text=TEXT, id=ID)),
            )
            path.unlink()
            entries += summary.entries
            for refused in summary.refused:
                raise InputError(
                    f"--into {into}: {refused['reason']}; give the texts of another version another source"
                )
    return entries


def new_rows(annotations: pa.Table, documents: pa.Table) -> pa.Table:
    """Return a row for each new text, with the id of its origin. A list of texts has a row for each of them."""
    if TEXT not in annotations.column_names:
        return annotations.slice(0, 0)
    rows: list[dict[str, Any]] = []
    origins = documents.select([ID, "url", *FACTS]).to_pylist()
    for row, origin in zip(annotations.drop_columns([ID, TEXT_DIGEST]).to_pylist(), origins, strict=True):
        texts = row.pop(TEXT)
        every = texts if isinstance(texts, list) else [texts]
        facts = {name: origin[name] for name in FACTS} | {"origin_url": origin["url"]}
        rows.extend({ID: origin[ID], TEXT: text, **facts, **row} for text in every if text)
    return pa.Table.from_pylist(rows) if rows else annotations.slice(0, 0)
