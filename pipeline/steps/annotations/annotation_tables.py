"""The tables of annotations: where they lie, what identifies the values in them, and which parts have one.

A table has a row for each row of the table `documents` of its part, in the same order: `id`, `text_digest` (null if the
document is not annotated), and the values. `text_digest` and the metadata of the schema say what the values were made
of, so values of unchanged texts can be kept when the part is made again.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thresher.core import Conflict, CorruptData, InputError
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.steps.annotations.annotator import ID, TEXT_DIGEST
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.columns.united_types import united_schema
from thresher.storage.manifest import Input, load_manifest, manifest_name
from thresher.storage.store import Readable, Store

NAME = "annotate"
FOLDER = "annotations"
ANNOTATION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
DIGEST_BYTES = 16
ORIGIN = b"thresher.annotator"
"""Key, in the metadata of a table's schema, of the fingerprint of what made the values."""
KEYS: Mapping[str, "pa.Field[Any]"] = {
    ID: pa.field(ID, pa.string(), nullable=False),
    TEXT_DIGEST: pa.field(TEXT_DIGEST, pa.binary(DIGEST_BYTES)),
}
"""The columns of each table before the values."""


def check_annotation_name(name: str) -> str:
    """Return the name of an annotation. Raise `InputError` if it is none."""
    if not ANNOTATION_NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name of an annotation; use letters, digits and '_', at most 64, a letter first"
        )
    return name


def table_name(annotation: str, part: str) -> str:
    """Return where the table of a part of `process` lies."""
    return f"{FOLDER}/{annotation}/{part}.parquet"


def text_digest(text: str) -> bytes:
    """Return the digest that says whether a text has changed: the first 16 bytes of its SHA-256."""
    return hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES]


def made_by(recipe: Mapping[str, Any]) -> bytes:
    """Return the fingerprint of what decides a value: everything in a recipe but the choice of documents."""
    values = {key: value for key, value in recipe.items() if key not in {"documents", "verdicts"}}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32].encode()


def annotation_table(
    ids: "pa.ChunkedArray[Any]", digests: "pa.Array[Any]", values: Mapping[str, Any], origin: bytes
) -> pa.Table:
    """Return a table of annotations."""
    table = pa.table([ids, digests, *values.values()], names=[*KEYS, *values])
    return table.cast(
        pa.schema([*KEYS.values(), *(table.schema.field(name) for name in values)], metadata={ORIGIN: origin})
    )


def earlier_values(store: Readable, name: str, origin: bytes) -> pa.Table | None:
    """Return the annotated rows of a table that lies under `name`, sealed or not, if its values were made by the same
    annotator. Return None if not, or if the table cannot be read: then all values are made again.
    """
    try:
        with store.open(name) as file:
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            if (parquet.schema_arrow.metadata or {}).get(ORIGIN) != origin:
                return None
            table = parquet.read(use_threads=False)
    except (CorruptData, pa.ArrowException, OSError, ValueError):
        return None
    return table.filter(table[TEXT_DIGEST].is_valid())


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateSummary:
    """The result of a run of `annotate`."""

    step: StepSummary
    documents: int
    """Documents of the parts that are sealed now."""
    annotated: int
    """Those of them that have values."""
    new_documents: int = 0
    """Records that their texts are in the source of new documents."""


def summed(store: Store, parts: Sequence[Part], ran: StepSummary) -> AnnotateSummary:
    """Return the result of a run, with the counts of its sealed parts."""
    counts = Counter[str]()
    for part in parts:
        name = manifest_name(NAME, part.name)
        if store.exists(name):
            counts.update(load_manifest(store, name).counts)
    return AnnotateSummary(step=ran, documents=counts["documents"], annotated=counts["annotated"])


def unseal_changed(store: Store, step: Step, parts: Sequence[Part], progress: Progress) -> None:
    """Remove the seals of parts that were made from other documents or by another version; their tables stay, so that
    values of unchanged texts are kept. Say how many there were.

    Raise `Conflict` if something else has the name of the annotation.
    """
    found = set(store.list(f"manifests/{step.name}/"))
    stale = []
    for part in parts:
        name = manifest_name(step.name, part.name)
        if name not in found:
            continue
        made = load_manifest(store, name)
        if made.recipe["with"] != step.recipe["with"]:
            annotation = part.name.partition("/")[0]
            raise Conflict(
                f"the annotation {annotation} was made with {made.recipe['with']}, not with {step.recipe['with']}; "
                "give this one another name, or replace it with --redo"
            )
        if made.fingerprint != part.fingerprint(step):
            stale.append(name)
    if stale:
        progress.print_line(
            f"another version or other documents: {len(stale)} annotated parts are made again; values of the same "
            "version and text are kept"
        )
    for name in stale:
        store.delete(name)


def annotation_names(store: Store) -> tuple[str, ...]:
    """Return the names of the annotations that cover a part, sorted."""
    prefix = f"manifests/{NAME}/"
    return tuple(sorted({name.removeprefix(prefix).partition("/")[0] for name in store.list(prefix)}))


def annotation_schemas(store: Store, sources: Iterable[str]) -> dict[str, pa.Schema]:
    """Return the columns of each annotation that covers a part of the sources, with united types."""
    found = {}
    for annotation in annotation_names(store):
        schemas = [
            read_schema(
                store, table_name(annotation, f"{source}/{seal.rpartition('/')[2].removesuffix('.json')}")
            )
            for source in sources
            for seal in store.list(f"manifests/{NAME}/{annotation}/{source}/")
        ]
        if schemas:
            united = united_schema(schemas)
            found[annotation] = pa.schema([field for field in united if field.name not in KEYS])
    return found


def read_schema(store: Readable, name: str) -> pa.Schema:
    """Return the schema of a table. Raise `CorruptData` if it cannot be read."""
    try:
        with store.open(name) as file:
            return pq.read_schema(file)
    except (pa.ArrowException, OSError) as error:
        raise CorruptData(
            f"{name} cannot be read; run `thresher verify --repair`, and annotate again"
        ) from error


def annotation_input(store: Store, judged: JudgedPart, annotation: str) -> Input | None:
    """Return the table of an annotation for a part; None if its source has no part that is annotated.

    Raise `InputError` if other parts of the source are annotated and this one is not, or not as it is processed now,
    because its documents would silently count as documents without a value.
    """
    source = judged.name.partition("/")[0]
    name = manifest_name(NAME, f"{annotation}/{judged.name}")
    if not store.exists(name):
        if next(iter(store.list(f"manifests/{NAME}/{annotation}/{source}/")), None) is None:
            return None
        problem = f"{judged.name} has no annotation {annotation} yet"
    else:
        made = load_manifest(store, name)
        if made.inputs[0].sha256 == judged.documents.sha256:
            (output,) = made.outputs
            return Input(name=output.name, sha256=output.sha256)
        problem = f"the annotation {annotation} of {judged.name} was made of earlier documents"
    raise InputError(f"{problem}; run `thresher annotate {annotation} {source}` as before")


def delete_annotation(store: Store, source: str, annotation: str) -> None:
    """Delete an annotation of a source, seals first, because no half-deleted result may seem complete."""
    for folder in (f"manifests/{NAME}", FOLDER, f"quarantine/{NAME}"):
        for name in list(store.list(f"{folder}/{annotation}/{source}/")):
            store.delete(name)
