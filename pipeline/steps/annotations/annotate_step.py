"""The annotate step: it calls a user's function on batches of documents, and stores what the function returns.

A part of this step is a part of `process`. Its workers are not confined, because the function is the user's own code:
it may open files, use a GPU or ask a server. The function gets the texts as the rules edited them. Documents that are
not chosen, and documents whose text is unchanged since the part was made the last time, cost no call.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.core import Document, InputError, RecordRef, ThresherError
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.annotations.annotation_tables import (
    DIGEST_BYTES,
    FOLDER,
    NAME,
    annotation_table,
    earlier_values,
    made_by,
    table_name,
    text_digest,
)
from thresher.pipeline.steps.annotations.annotator import (
    ID,
    TEXT_DIGEST,
    Annotator,
    AnnotatorSpec,
    loaded_annotator,
)
from thresher.pipeline.steps.records.edited_texts import with_edits
from thresher.pipeline.steps.verdicts.removed_documents import find_ids, ids_of, removed_ids
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.storage import tables
from thresher.storage.manifest import JSON, Input, Output
from thresher.storage.store import Store

VERSION = 1
BATCH = 64
"""Documents that a function gets at a time, unless the user says otherwise."""

Documents: TypeAlias = Literal["kept", "deduplicated", "all"]


class AnnotateParameters(NamedTuple):
    """Parameters of a worker besides its inputs."""

    annotation: str
    annotator: AnnotatorSpec
    batch: int
    documents: Documents
    removed: bytes = b""
    """A bit for each row of `documents` that deduplication removed; empty if that does not matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatePlan:
    """What a user asks for."""

    annotation: str
    annotator: AnnotatorSpec
    files: tuple[str, ...]
    """Digests of the files that the version of the values covers besides the module, sorted: a file may be moved."""
    documents: Documents = "kept"
    verdict_set: str = ""
    batch: int = BATCH
    gpus: int = 0

    def step(self) -> Step:
        """Return the step. The size of a batch is not part of its recipe, because no value may depend on it."""
        recipe: dict[str, JSON] = {
            "with": self.annotator.path,
            "arguments": dict(self.annotator.arguments),
            "version": self.annotator.version,
            "columns": dict(self.annotator.columns),
            "files": list(self.files),
            "documents": self.documents,
            "verdicts": self.verdict_set,
        }
        return Step(name=NAME, version=VERSION, recipe=recipe, is_confined=False, gpus=self.gpus)


def parts(
    store: Store, sources: Sequence[str], plan: AnnotatePlan, removals: Output | None
) -> Iterator[Part]:
    """Yield a part for each part of `process` of the sources. `removals` is the table of deduplication, if its
    documents are left out.
    """
    earlier = set(store.list(f"{FOLDER}/{plan.annotation}/"))
    with nullcontext() if removals is None else removed_ids(store, removals) as gone:
        for source in sources:
            for judged in judged_parts(store, source, plan.verdict_set):
                removed = b""
                if gone is not None:
                    found = tables.read(store, judged.documents, tables.columns(tables.DOCUMENTS, ID))
                    is_gone, _ = find_ids(ids_of(found[ID], judged.documents.name), gone)
                    removed = np.packbits(is_gone).tobytes()
                output = table_name(plan.annotation, judged.name)
                used = (judged.documents, judged.verdicts, *([] if removals is None else [removals]))
                yield Part(
                    name=f"{plan.annotation}/{judged.name}",
                    inputs=tuple(Input(name=each.name, sha256=each.sha256) for each in used),
                    reads=(output,) if output in earlier else (),
                    writes=(output,),
                    parameters=AnnotateParameters(
                        annotation=plan.annotation,
                        annotator=plan.annotator,
                        batch=plan.batch,
                        documents=plan.documents,
                        removed=removed,
                    ),
                )


def work(store: PartStore, step: Step, part: Part, tracker: ItemTracker) -> PartOutputs:
    """Make the annotations of one part. An item is a batch, by the row of its first document: a batch that crashed its
    worker is not tried again, and fails its part.
    """
    task: AnnotateParameters = part.parameters
    annotator = loaded_annotator(task.annotator, task.annotation)
    documents = tables.read(store, part.inputs[0], tables.DOCUMENTS)
    chosen = np.flatnonzero(_chosen(store, part, documents))
    rows = with_edits(documents.take(chosen), tables.edits_by_id(store, part.inputs[1]))
    digests = [text_digest(str(text)) for text in rows["text"].to_pylist()]
    origin = made_by(step.recipe)
    earlier = earlier_values(store, part.writes[0], origin) if part.reads else None
    known = _known_rows(rows, digests, earlier)
    missing = np.flatnonzero(known < 0)
    at = [int(row) for row in chosen[missing]]
    made = annotator.arrays(_called(annotator, rows.take(missing), at, task.batch, tracker))
    values = {
        name: _spread(array, documents.num_rows, chosen)
        for name, array in _joined(annotator, made, missing, known, earlier).items()
    }
    all_digests = _spread(pa.array(digests, pa.binary(DIGEST_BYTES)), documents.num_rows, chosen)
    table = annotation_table(documents[ID], all_digests, values, origin)
    output = store.write(part.writes[0], table.num_rows, partial(tables.write, table=table))
    counts = {"documents": table.num_rows, "annotated": len(chosen)}
    return PartOutputs(counts=counts, outputs=(output,))


def _chosen(store: PartStore, part: Part, documents: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which documents are to be annotated."""
    task: AnnotateParameters = part.parameters
    if task.documents == "all":
        return np.ones(documents.num_rows, bool)
    verdicts = tables.read(store, part.inputs[1], tables.columns(tables.VERDICTS, "id", "keep"))
    kept = verdicts.filter(verdicts["keep"])["id"].combine_chunks()
    chosen = np.array(pc.is_in(documents[ID], value_set=kept).to_pylist(), bool)
    if task.removed:
        chosen &= ~np.unpackbits(np.frombuffer(task.removed, np.uint8), count=len(chosen)).astype(bool)
    return chosen


def _known_rows(
    rows: pa.Table, digests: Sequence[bytes], earlier: pa.Table | None
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return, for each document, the row of the earlier table with the values of the same text; -1 for none."""
    if earlier is None:
        return np.full(rows.num_rows, -1, np.int64)
    keys = zip(earlier[ID].to_pylist(), earlier[TEXT_DIGEST].to_pylist(), strict=True)
    at = {key: number for number, key in enumerate(keys)}
    found = (at.get(key, -1) for key in zip(rows[ID].to_pylist(), digests, strict=True))
    return np.fromiter(found, np.int64, rows.num_rows)


def _called(
    annotator: Annotator, rows: pa.Table, at: Sequence[int], batch: int, tracker: ItemTracker
) -> dict[str, list[Any]]:
    """Return the values of documents, a batch at a time. `at` are their rows in the table of documents."""
    values: dict[str, list[Any]] = {name: [] for name in annotator.types or ()}
    for first in range(0, rows.num_rows, batch):
        documents = documents_of(rows.slice(first, batch))
        if at[first] in tracker.crashing_items:
            raise ThresherError(
                f"{annotator.path} crashes its process at a batch of {len(documents)} documents, from "
                f"{documents[0].id} ({documents[0].url})"
            )
        tracker.start_item(at[first])
        found = annotator.values(documents)
        if not values:
            values = {name: [] for name in found}
        annotator.require_columns(found, values)
        for name, listed in found.items():
            values[name].extend(listed)
    return values


def _joined(
    annotator: Annotator,
    made: Mapping[str, Any],
    missing: np.ndarray[Any, np.dtype[np.int64]],
    known: np.ndarray[Any, np.dtype[np.int64]],
    earlier: pa.Table | None,
) -> dict[str, Any]:
    """Return the values of all chosen documents: new ones, and those of the earlier table."""
    kept = np.flatnonzero(known >= 0)
    if earlier is None or not len(kept):
        return dict(made)
    values = earlier.drop_columns([ID, TEXT_DIGEST]).take(known[kept])
    if len(missing):
        annotator.require_columns(made, values.column_names)
    order = np.empty(len(known), np.int64)
    order[kept], order[missing] = np.arange(len(kept)), len(kept) + np.arange(len(missing))
    joined = {}
    for name in values.column_names:
        pieces = [values.select([name]), *([pa.table({name: made[name]})] if len(missing) else [])]
        try:
            column = pa.concat_tables(pieces, promote_options="default")[name].combine_chunks().take(order)
        except pa.ArrowException:
            raise InputError(
                f"{annotator.path} returned values of {name} of another type than before; give it another VERSION"
            ) from None
        # The type is that of a part that was made in one go.
        joined[name] = (
            pa.nulls(len(column)) if annotator.types is None and column.null_count == len(column) else column
        )
    return joined


def _spread(array: Any, count: int, chosen: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    """Return the values at the places `chosen` of `count`, and nulls elsewhere."""
    at = np.full(count, -1, np.int64)
    at[chosen] = np.arange(len(chosen))
    return array.take(pa.array(at, mask=at < 0))


def documents_of(rows: pa.Table) -> list[Document]:
    """Return the documents of a table of `DOCUMENTS`."""
    return [_document(row) for row in rows.to_pylist()]


def _document(row: dict[str, Any]) -> Document:
    record = RecordRef(**{name: row.pop(f"record_{name}") for name in ("file", "offset", "length", "digest")})
    return Document(record=record, **row)
