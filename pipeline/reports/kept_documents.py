"""The documents of a project as Arrow tables, a part at a time: those that an export holds, or those that filters keep.

The rows stand in the order of the archive. They have the columns of `storage.tables.DOCUMENTS`, with texts as they
would be exported, and the columns that a user names.

Memory holds one part at a time. A table that is not as it was sealed raises `CorruptData`.
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from thresher.core import InputError
from thresher.pipeline.steps.columns.column_values import column_tables, column_values
from thresher.pipeline.steps.columns.export_columns import column_schema
from thresher.pipeline.steps.columns.known_columns import Column, KnownColumns
from thresher.pipeline.steps.export_plan import Selected, kept_groups
from thresher.pipeline.steps.records.edited_texts import with_edits
from thresher.pipeline.steps.tokenizing import NamedColumns
from thresher.pipeline.steps.tokenizing import kept_documents as documents_of_parts
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.shards.mix import CLUSTER_SIZE
from thresher.storage import tables
from thresher.storage.manifest import Manifest
from thresher.storage.store import Store


def exported_documents(
    store: Store,
    sources: Sequence[str],
    removed: Manifest,
    cut: Manifest | None,
    columns: Iterable[str] = (),
    verdict_set: str = "",
) -> Iterator[pa.Table]:
    """Yield what an export of these sources holds: without duplicates, edited and cut. `removed` and `cut` are the runs
    of deduplication.

    Raise `InputError` if a name means no column.
    """
    named = _named(store, sources, columns)
    (table,) = removed.outputs
    kept = kept_groups(store, sources, table, Selected(verdict_set, named, cut, None))
    for part in (part for group in kept.groups for part in group.parts):
        spans = (part.documents, part.signatures, part.verdicts)
        lies = NamedColumns(named, (part.columns,))
        rows = documents_of_parts(store, spans, (part.kept,), tables.DOCUMENTS.names, lies)
        yield _typed(rows, named)


def kept_documents(
    store: Store, sources: Sequence[str], columns: Iterable[str] = (), verdict_set: str = ""
) -> Iterator[pa.Table]:
    """Yield the documents with the verdict `keep` of a set, duplicates among them, as the rules edited them.

    Raise `InputError` if the set does not cover a source, or if a name means no column.
    """
    named = _named(store, sources, columns)
    if any(column.origin == "cluster" for column in named):
        raise InputError(f"{CLUSTER_SIZE}: only documents without duplicates have it")
    for source in sources:
        for part in judged_parts(store, source, verdict_set):
            judged = tables.read(store, part.verdicts, tables.columns(tables.VERDICTS, "id", "keep"))
            rows = tables.read(store, part.documents, tables.DOCUMENTS)
            values = column_values(store, column_tables(store, part, named), named, rows)
            for column in named:
                rows = rows.append_column(column.name, values[column.name])
            rows = rows.filter(pc.is_in(rows["id"], value_set=judged.filter(judged["keep"])["id"]))
            yield _typed(with_edits(rows, tables.edits_by_id(store, part.verdicts)), named)


def _named(store: Store, sources: Sequence[str], columns: Iterable[str]) -> tuple[Column, ...]:
    wanted = [name for name in columns if name not in tables.DOCUMENTS.names]
    return KnownColumns(store, sources).find_all(wanted, "columns") if wanted else ()


def _typed(rows: pa.Table, named: Iterable[Column]) -> pa.Table:
    schema = pa.schema([*tables.DOCUMENTS, *column_schema(named)])
    return rows.select(schema.names).cast(schema).combine_chunks()
