"""Annotations from a table that was made elsewhere: a column of the table is joined with the id, the URL or the
external id of each document.

The table is indexed once for a command, in temporary files: its rows as Arrow has them, and a sorted hash of each key.
Memory holds a batch of rows. The join runs in the process of the command, because it reads no text.
"""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset
import xxhash

from thresher.core import InputError
from thresher.pipeline.engine.run_step import StepSummary, sealed_manifest
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.steps.annotations.annotation_tables import (
    DIGEST_BYTES,
    NAME,
    annotation_table,
    made_by,
    table_name,
)
from thresher.pipeline.steps.annotations.annotator import ID, TEXT_DIGEST, described
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.pipeline.terminal.progress import Progress
from thresher.storage import tables
from thresher.storage.manifest import Input, Manifest, put_output, seal
from thresher.storage.manifest import digest as file_digest
from thresher.storage.store import Store

VERSION = 1
KEYS = ("id", "url", "external_id")
"""Columns of documents that a table can be joined with."""
FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""Format of a table by the suffix of its file, which may be compressed if it is text (`.csv.gz`)."""
COMPRESSIONS = frozenset({".gz", ".zst", ".bz2"})
HASHED = 16
"""Bytes of an entry of the index while it is sorted: the hash of a key, and the number of its row."""
COMPARED = 1 << 20
"""Hashes that are compared with their neighbours at a time."""
MAX_SHOWN = 80

Hashes: TypeAlias = npt.NDArray[np.uint64]
Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePlan:
    """What a user asks for: a table, and what it is joined by."""

    annotation: str
    table: Path
    """A file, or a directory of Parquet files."""
    key: str
    """One of `KEYS`."""
    column: str
    """The table's column with the keys."""

    def step(self) -> Step:
        """Return the step. Its recipe has the digest of the table."""
        recipe = {"with": "--table", "table": _digest(self.table), "key": self.key, "column": self.column}
        return Step(name=NAME, version=VERSION, recipe=recipe)


def parse_key(key: str) -> tuple[str, str]:
    """Return the column of documents and the column of the table that `--key` names. Raise `InputError` if it names
    none.
    """
    name, _, column = key.partition("=")
    if name not in KEYS:
        raise InputError(
            f"--key {key}: give {', '.join(KEYS[:-1])} or {KEYS[-1]}, or such a name with the table's column behind "
            "it, as in external_id=doc_id"
        )
    return name, column or name


def parts(store: Store, sources: Sequence[str], plan: ScorePlan) -> Iterator[Part]:
    """Yield a part for each part of `process` of the sources."""
    for source in sources:
        for judged in judged_parts(store, source):
            documents = Input(name=judged.documents.name, sha256=judged.documents.sha256)
            yield Part(
                name=f"{plan.annotation}/{judged.name}",
                inputs=(documents,),
                writes=(table_name(plan.annotation, judged.name),),
            )


def join(
    store: Store, step: Step, missing: Sequence[Part], plan: ScorePlan, progress: Progress
) -> StepSummary:
    """Seal every part. Raise `InputError` if the table cannot be read, lacks the key, or has a key twice."""
    unsealed = [part for part in missing if sealed_manifest(store, step, part) is None]
    already = len(missing) - len(unsealed)
    if not unsealed:
        return StepSummary(made=0, already=already)
    progress.start(str(step), total=len(unsealed))
    written = 0
    with score_index(plan) as index:
        for part in unsealed:
            written += _join_part(store, step, part, plan, index)
            progress.advance(part.name)
    progress.stop()
    return StepSummary(made=len(unsealed), already=already, bytes_written=written)


def _join_part(store: Store, step: Step, part: Part, plan: ScorePlan, index: "ScoreIndex") -> int:
    names = dict.fromkeys((ID, plan.key))
    documents = tables.read(store, part.inputs[0], tables.columns(tables.DOCUMENTS, *names))
    found, rows = index.find(_texts(documents[plan.key]))
    at = np.full(documents.num_rows, -1, np.int64)
    at[found] = np.arange(len(rows))
    taken, order = index.take(rows), pa.array(at, mask=at < 0)
    values: dict[str, Any] = {
        name: cast("Any", taken[name].combine_chunks()).take(order) for name in taken.column_names
    }
    digests = pa.nulls(documents.num_rows, pa.binary(DIGEST_BYTES))
    table = annotation_table(documents[ID], digests, values, made_by(step.recipe))
    output = put_output(store, part.writes[0], table.num_rows, partial(tables.write, table=table))
    seal(
        store,
        Manifest(
            step=str(step),
            part=part.name,
            fingerprint=part.fingerprint(step),
            recipe=step.recipe,
            inputs=part.inputs,
            outputs=(output,),
            counts={"documents": table.num_rows, "annotated": len(rows)},
        ),
    )
    return output.bytes


class ScoreIndex:
    """The rows of a table, found by their keys."""

    def __init__(self, values: pa.Table, keys: Any, hashes: Hashes, rows: Rows) -> None:
        """`hashes` are sorted, and `rows` are the numbers of their rows."""
        self._values, self._keys, self._hashes, self._rows = values, keys, hashes, rows
        self._starts = np.cumsum([0, *(len(chunk) for chunk in keys.chunks)])

    def find(self, keys: Sequence[str]) -> tuple[Rows, Rows]:
        """Return which of the keys the table has, and in which rows."""
        wanted = _hashes(keys)
        first, end = (np.searchsorted(self._hashes, wanted, side) for side in ("left", "right"))
        found, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for further in range(int(np.max(end - first, initial=0))):
            candidates = np.flatnonzero(first + further < end)
            at = self._rows[first[candidates] + further]
            wanted_keys = [keys[int(number)] for number in candidates]
            same = np.fromiter(map(str.__eq__, wanted_keys, self._keys_at(at)), np.bool_, len(at))
            found.append(candidates[same])
            rows.append(at[same])
        return np.concatenate(found), np.concatenate(rows)

    def take(self, rows: Rows) -> pa.Table:
        """Return the values of rows."""
        order = np.argsort(rows, kind="stable")
        pieces = [self._values.schema.empty_table(), *self._pieces(self._values, rows[order])]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(pieces).take(back)

    def require_unique(self) -> None:
        """Raise `InputError` if two rows have one key."""
        for at in self._equal_neighbours():
            one, other = self._keys_at(self._rows[at : at + 2])
            if one == other:
                first, second = sorted(int(row) + 1 for row in self._rows[at : at + 2])
                raise InputError(
                    f"--table: rows {first:,} and {second:,} have the same key {one[:MAX_SHOWN]!r}; keep one row for "
                    "each key"
                )

    def _equal_neighbours(self) -> Iterator[int]:
        """Yield the places of hashes that the next one repeats, some at a time: a comparison takes a byte for each."""
        for first in range(0, len(self._hashes) - 1, COMPARED):
            some = self._hashes[first : first + COMPARED + 1]
            yield from (first + np.flatnonzero(some[1:] == some[:-1])).tolist()

    def _keys_at(self, rows: Rows) -> list[str]:
        order = np.argsort(rows, kind="stable")
        table = pa.table({"key": self._keys})
        ordered = [key for piece in self._pieces(table, rows[order]) for key in _texts(piece["key"])]
        found = [""] * len(rows)
        for place, key in zip(order, ordered, strict=True):
            found[place] = key
        return found

    def _pieces(self, table: pa.Table, ordered: Rows) -> Iterator[pa.Table]:
        """Yield the rows of one chunk after the other: Arrow would join all chunks to take from several."""
        chunks = np.searchsorted(self._starts, ordered, "right") - 1
        for chunk in np.unique(chunks):
            first = int(self._starts[chunk])
            part = table.slice(first, int(self._starts[chunk + 1]) - first)
            yield part.take(ordered[chunks == chunk] - first)


@contextmanager
def score_index(plan: ScorePlan) -> Iterator[ScoreIndex]:
    """Yield an index of the table. Raise `InputError` if it cannot be read, lacks the key, or has a key twice."""
    with tempfile.TemporaryDirectory(prefix="thresher-scores-") as name:
        folder = Path(name)
        count = _store_rows(plan, folder)
        entries = np.memmap(folder / "entries", f"S{HASHED}", "r+", shape=(count,)) if count else _none()
        entries.sort()
        pairs = entries.view(">u8").reshape(-1, 2)
        hashes, rows = (
            np.memmap(folder / str(at), np.uint64, "w+", shape=(count,)) if count else np.zeros(0, np.uint64)
            for at in (0, 1)
        )
        hashes[:], rows[:] = pairs[:, 0], pairs[:, 1]
        with pa.memory_map(str(folder / "rows")) as file:
            stored = pa.ipc.open_file(file).read_all()
            index = ScoreIndex(
                stored.drop_columns([plan.column]), stored[plan.column], hashes, rows.view(np.int64)
            )
            index.require_unique()
            yield index


def _none() -> Any:
    return np.zeros(0, f"S{HASHED}")


def _store_rows(plan: ScorePlan, folder: Path) -> int:
    """Write the rows that have a key, and their entries of the index. Return how many there are."""
    count = 0
    try:
        source = cast("Any", pyarrow.dataset).dataset(str(plan.table), format=_format(plan.table))
        schema = _schema(plan, source.schema)
        with (
            (folder / "entries").open("wb") as entries,
            pa.OSFile(str(folder / "rows"), "wb") as file,
            pa.ipc.new_file(file, schema) as writer,
        ):
            for batch in source.scanner(use_threads=False).to_batches():
                rows = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
                rows = rows.filter(rows[plan.column].is_valid())
                pairs = np.empty((rows.num_rows, 2), ">u8")
                pairs[:, 0] = _hashes(_texts(rows[plan.column]))
                pairs[:, 1] = np.arange(count, count + rows.num_rows)
                entries.write(pairs.tobytes())
                writer.write_table(rows)
                count += rows.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"--table {plan.table}: it cannot be read ({described(error)})") from None
    return count


def _schema(plan: ScorePlan, found: pa.Schema) -> pa.Schema:
    if plan.column not in found.names:
        raise InputError(
            f"--table {plan.table}: it has no column {plan.column}; it has {', '.join(found.names)}; name the one "
            f"with the keys as in --key {plan.key}=COLUMN"
        )
    fields = []
    for field in found:
        if field.name == plan.column:
            fields.append(pa.field(field.name, pa.string()))
        elif field.name in {ID, TEXT_DIGEST}:
            raise InputError(
                f"--table {plan.table}: its column {field.name} has a name that annotations use; rename it"
            )
        else:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            fields.append(pa.field(field.name, kind))
    if len(fields) < 2:
        raise InputError(f"--table {plan.table}: it has no column besides {plan.column}")
    return pa.schema(fields)


def _hashes(keys: Sequence[str]) -> Hashes:
    return np.fromiter((xxhash.xxh3_64_intdigest(key.encode()) for key in keys), np.uint64, len(keys))


def _texts(column: Any) -> list[str]:
    """Return the values of a column of text without nulls."""
    texts: list[str] = column.to_pylist()
    return texts


def _format(table: Path) -> str:
    if table.is_dir():
        return "parquet"
    suffixes = [each.lower() for each in table.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    found = FORMATS.get(suffixes[-1] if suffixes else "")
    if found is None:
        raise InputError(f"--table {table}: its name must end with one of {', '.join(FORMATS)}")
    return found


def _digest(table: Path) -> str:
    """Return the digest of a table. Raise `InputError` if there is none."""
    if table.is_file():
        return file_digest(table)
    files = sorted(path for path in table.rglob("*.parquet") if path.is_file()) if table.is_dir() else []
    if not files:
        raise InputError(f"--table {table}: no such file, and no directory with Parquet files")
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{path.relative_to(table)} {file_digest(path)}\n".encode())
    return whole.hexdigest()
