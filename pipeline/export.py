"""The export: kept documents out, tokenized shards in.

Two steps, both of sealed parts. `tokenize` reads one part of documents, encodes what was kept, and writes the
rows grouped by the shard they belong to. `shard` reads its group from every part and writes one file in order.
So each document is read once and written twice, whatever the number of shards.

Rules
1. An export directory holds one dataset. `recipe.json` claims it before anything else is written; another
   dataset's directory, or one with other people's files, is refused and left as it is.
2. `manifest.json` is written last: its presence is completion.
3. What lies between the two steps is kept under `.work` and deleted once the manifest is there.
"""

import fcntl
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from core import Conflict, CorruptData, InputError
from pipeline import engine
from pipeline.crew import Crew
from pipeline.funnel import Funnel
from pipeline.partstore import PartStore
from pipeline.progress import Progress
from pipeline.step import Part, Step
from pipeline.work import Made, Watch
from shards.dataset import Dataset, ShardFile
from shards.format import SHARD, shard_name
from shards.order import Permutation
from shards.tokenizer import TokenizerFile, opened
from storage import tables
from storage.files import Files
from storage.manifest import Input, Manifest, Output, drift, fingerprint, manifests, seal
from storage.root import SCHEMES
from storage.root import store as open_store
from storage.store import Store

EXPORT = "export@1"
SEED = 0
SHARD_TEXT_BYTES = 128 * 2**20
"""Text of one shard before compression, about 30 million tokens of English."""
ENCODE_BATCH = 256
CLAIM, MANIFEST, REPORT, WORK = "recipe.json", "manifest.json", "report.json", ".work"
TOKENIZER = "tokenizer.json"
COLUMNS = ["id", "url", "source", "record_file", "record_offset", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an export is made of: follows from the sealed parts, the removals and the tokenizer alone."""

    storage: Store
    tokenizer: TokenizerFile
    sources: tuple[str, ...]
    recipe: Mapping[str, Any]
    inputs: tuple[Input, ...]
    parts: tuple["Kept", ...]
    documents: int
    text_bytes: int
    shards: int

    @property
    def fingerprint(self) -> str:
        """Identity of the dataset."""
        return fingerprint(EXPORT, self.recipe, self.inputs)


class Kept(NamedTuple):
    """The documents of one part that go into the dataset."""

    documents: Input
    signatures: Input
    base: int
    """Number of its first kept document."""
    removed: tuple[str, ...]
    """Ids of its documents that deduplication took out."""


class TokenizeTask(NamedTuple):
    """What a tokenize worker is told besides its inputs."""

    removed: tuple[str, ...]
    """Ids of the part's signed documents that deduplication took out."""
    base: int
    documents: int
    shards: int


def plan(store: Store, sources: Sequence[str], tokenizer: TokenizerFile, removed: Manifest) -> Plan:
    """Number the kept documents and say how many shards they make."""
    (table,) = removed.outputs
    gone = frozenset(tables.read(store, table.name, tables.columns(tables.REMOVED, "id"))["id"].to_pylist())
    kept: list[Kept] = []
    base = text_bytes = 0
    for source in sources:
        for manifest in manifests(store, "process", source):
            documents, signatures = (_output(manifest, kind) for kind in ("documents", "signatures"))
            signed = tables.read(
                store, signatures.name, tables.columns(tables.SIGNATURES, "id", "text_bytes")
            )
            ids = [str(one) for one in signed["id"].to_pylist()]
            stays = np.array([one not in gone for one in ids], dtype=bool)
            text_bytes += int(signed["text_bytes"].to_numpy()[stays].sum())
            kept.append(Kept(documents, signatures, base, tuple(one for one in ids if one in gone)))
            base += int(stays.sum())
    if base != sum(manifest_rows(store, sources)) - table.rows:
        raise CorruptData(
            f"{table.name}: its removals are not among the documents that are kept; run dedup again"
        )
    recipe = {
        "tokenizer": tokenizer.recipe,
        "order": {"permutation": "feistel-4", "seed": SEED},
        "shard_text_bytes": SHARD_TEXT_BYTES,
        "sources": list(sources),
        "dedup": dict(removed.recipe),
    }
    inputs = (
        *(span for part in kept for span in (part.documents, part.signatures)),
        Input(name=table.name, sha256=table.sha256),
    )
    return Plan(
        storage=store,
        tokenizer=tokenizer,
        sources=tuple(sources),
        recipe=recipe,
        inputs=inputs,
        parts=tuple(kept),
        documents=base,
        text_bytes=text_bytes,
        shards=max(1, -(-text_bytes // SHARD_TEXT_BYTES)),
    )


def directory(out: str) -> Store:
    """Where the user wants the dataset: a path, relative to where the command was typed, or a storage address."""
    if out.partition(":")[0] in SCHEMES:
        return open_store(out, Path.cwd(), key="--out")
    if "://" in out:
        raise InputError(f"--out {out}: give a directory, or an address of {' or '.join(SCHEMES)}")
    return Files(Path(out).absolute())


def check_free(out: str) -> Store:
    """The export directory. InputError where it is a file, or holds files and no dataset of ours."""
    target = directory(out)
    if isinstance(target, Files) and target.root.exists() and not target.root.is_dir():
        raise InputError(f"--out {out}: is a file; give a directory")
    if not target.exists(CLAIM) and any(True for _ in target.list()):
        raise InputError(
            f"--out {out}: the directory holds other files and no dataset of ours; give an empty or new one"
        )
    return target


def claim(plan: Plan, out: str) -> Store:
    """The export directory, claimed for this dataset. Conflict where it holds another."""
    target = check_free(out)
    body = {"fingerprint": plan.fingerprint, "recipe": plan.recipe, "inputs": len(plan.inputs)}
    data = (json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    target.put(CLAIM, data)
    if target.read(CLAIM) != data:
        try:
            there = json.loads(target.read(CLAIM))["recipe"]
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"--out {out}: its {CLAIM} is not one of ours; give an empty or new directory"
            ) from None
        raise Conflict(
            f"--out {out}: holds another dataset ({drift(there, plan.recipe) or 'its documents have changed'}); "
            "give another directory, or delete that one"
        )
    return target


@contextmanager
def writing(out: Store) -> Iterator[None]:
    """One export at a time writes to a directory; Conflict for the second. On an object store two do the same work
    twice: equal plans put equal bytes.
    """
    if not isinstance(out, Files):
        yield
        return
    with out.open(CLAIM) as claim:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                f"--out {out.root}: another command is writing to it; wait for it to end"
            ) from None
        yield


def step(plan: Plan) -> Step:
    """The export as a step: what its two steps are parts of."""
    return Step(name="export", version=1, recipe=plan.recipe)


def make(plan: Plan, out: Store, *, crew: Crew, progress: Progress) -> tuple[Dataset, engine.Ran]:
    """Make every shard that is not there yet, and seal the dataset. The same plan gives the same bytes."""
    if out.exists(MANIFEST):
        dataset = Dataset.from_json(out.read(MANIFEST), f"{out.uri}/{MANIFEST}")
        ran = engine.Ran(made=0, already=plan.shards)
    else:
        scratch = out.within(WORK)
        scratch.put(TOKENIZER, plan.tokenizer.json.encode())
        tokenize = Step(name="tokenize", version=1, recipe=plan.recipe)
        pieces = list(_tokenize_parts(plan))
        tokenized = engine.run(scratch, tokenize, pieces, tokenize_work, crew=crew, progress=progress)
        tokenized.require_all()
        shard = Step(name="shard", version=1, recipe=plan.recipe)
        numbered = list(_shard_parts(plan, scratch, tokenize, pieces, out))
        sharded = engine.run(scratch, shard, numbered, shard_work, crew=crew, progress=progress)
        sharded.require_all()
        ran = tokenized.plus(sharded)
        dataset = _dataset(plan, scratch, shard, numbered, out)
        out.put(MANIFEST, dataset.to_json())
    out.within(WORK).clear()
    return dataset, ran


def record(store: Store, plan: Plan, dataset: Dataset) -> None:
    """Note the dataset in the project's storage, where the report finds its token count."""
    counts = {"documents": dataset.documents, "tokens": dataset.tokens, "text_bytes": plan.text_bytes}
    seal(
        store,
        Manifest(
            step=EXPORT,
            part=f"{plan.fingerprint[:16]}/dataset",
            fingerprint=plan.fingerprint,
            recipe=plan.recipe,
            inputs=plan.inputs,
            outputs=(),
            counts=counts,
        ),
    )


def tokenizer_of(recipe: Mapping[str, Any]) -> str:
    """Name of the tokenizer in a recipe of an export."""
    return str(recipe["tokenizer"]["name"])


def put_report(out: Store, funnel: Funnel) -> None:
    """Put the funnel beside the shards."""
    out.put(REPORT, (json.dumps(funnel.to_dict(), indent=1) + "\n").encode())


def tokenize_work(store: PartStore, _: Step, part: Part, __: Watch) -> Made:
    """Encode the kept documents of one part; one row group for each shard."""
    task: TokenizeTask = part.task
    documents, signatures = part.inputs
    signed = tables.read(store, signatures.name, tables.columns(tables.SIGNATURES, "id"))
    stays = frozenset(signed["id"].to_pylist()) - frozenset(task.removed)
    table = tables.read(store, documents.name, tables.columns(tables.DOCUMENTS, *COLUMNS))
    table = table.filter(pa.array([one in stays for one in table["id"].to_pylist()], pa.bool_()))
    places = Permutation(n=max(task.documents, 1), seed=SEED).places(
        np.arange(task.base, task.base + table.num_rows, dtype=np.int64)
    )
    tokenizer = _tokenizer(store.read(TOKENIZER).decode())
    table = table.append_column("input_ids", _encode(tokenizer, table["text"]))
    table = table.select(SHARD.names).cast(SHARD).append_column("place", pa.array(places, pa.int64()))
    (name,) = part.writes
    output = store.write(name, table.num_rows, lambda file: _write_groups(file, table, places, task))
    return Made(counts={"documents": table.num_rows}, outputs=(output,))


def shard_work(store: PartStore, _: Step, part: Part, __: Watch) -> Made:
    """Read one shard's rows out of every part, and write them in order."""
    number: int = part.task
    shard_file, line_file = part.writes
    groups = [_group(store, span.name, number) for span in part.inputs]
    rows = pa.concat_tables(groups) if groups else SHARD.append(pa.field("place", pa.int64())).empty_table()
    rows = rows.take(pc.sort_indices(rows["place"])).drop_columns(["place"])
    tokens = int(pc.sum(pc.list_value_length(rows["input_ids"])).as_py() or 0)
    shard = store.write(shard_file, rows.num_rows, partial(tables.write, table=rows))
    # The shard itself lies in the export directory; what is sealed here is its line of the manifest.
    text = json.dumps({**_file(shard), "tokens": tokens}, sort_keys=True)
    line = store.write(line_file, 1, lambda file: file.write(text.encode()))
    return Made(counts={"documents": rows.num_rows, "tokens": tokens}, outputs=(line,))


def _group(store: PartStore, name: str, number: int) -> pa.Table:
    with store.open(name) as file:
        return pq.ParquetFile(file, pre_buffer=False).read_row_group(number, use_threads=False)


def _file(shard: Output) -> dict[str, Any]:
    return {"name": shard.name, "bytes": shard.bytes, "sha256": shard.sha256, "documents": shard.rows}


def manifest_rows(store: Store, sources: Sequence[str]) -> Iterator[int]:
    """Signed documents of every part."""
    for source in sources:
        for manifest in manifests(store, "process", source):
            yield next(output.rows for output in manifest.outputs if output.name.startswith("signatures/"))


def _output(manifest: Manifest, kind: str) -> Input:
    output = next(output for output in manifest.outputs if output.name.startswith(f"{kind}/"))
    return Input(name=output.name, sha256=output.sha256)


def _tokenize_parts(plan: Plan) -> Iterator[Part]:
    for kept in plan.parts:
        name = kept.documents.name.removeprefix("documents/").removesuffix(".parquet")
        inputs = (kept.documents, kept.signatures)
        yield Part(
            name=name,
            inputs=inputs,
            task=TokenizeTask(kept.removed, kept.base, plan.documents, plan.shards),
            reads=(TOKENIZER,),
            writes=(f"tokens/{name}.parquet",),
            stores={span.name: plan.storage for span in inputs},
        )


def _shard_parts(
    plan: Plan, scratch: Store, tokenize: Step, pieces: Sequence[Part], out: Store
) -> Iterator[Part]:
    spans: list[Input] = []
    for piece in pieces:
        manifest = engine.sealed(scratch, tokenize, piece)
        assert manifest is not None
        spans.extend(Input(name=output.name, sha256=output.sha256) for output in manifest.outputs)
    for number in range(plan.shards):
        shard = shard_name(number)
        yield Part(
            name=f"shards/{shard}",
            inputs=tuple(spans),
            task=number,
            writes=(shard, f"lines/{shard}.json"),
            stores={shard: out},
        )


def _dataset(plan: Plan, scratch: Store, shard: Step, numbered: Sequence[Part], out: Store) -> Dataset:
    lines = []
    for part in numbered:
        assert engine.sealed(scratch, shard, part) is not None
        lines.append(ShardFile(**json.loads(scratch.read(f"lines/{part.name.removeprefix('shards/')}.json"))))
    for line in lines:
        assert out.size(line.name) == line.bytes
    return Dataset(fingerprint=plan.fingerprint, recipe=plan.recipe, shards=tuple(lines))


def _write_groups(file: BinaryIO, table: pa.Table, places: np.ndarray[Any, Any], task: TokenizeTask) -> None:
    shards = places * task.shards // max(task.documents, 1)
    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for number in range(task.shards):
            rows = np.flatnonzero(shards == number)
            # An empty group keeps the numbering: group k is shard k.
            writer.write_table(table.take(pa.array(rows, pa.int64())), row_group_size=max(len(rows), 1))


def _encode(tokenizer: Tokenizer, texts: Any) -> Any:
    ids: list[np.ndarray[Any, Any]] = []
    for start in range(0, len(texts), ENCODE_BATCH):
        batch = texts.slice(start, ENCODE_BATCH).to_pylist()
        encoded = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
        ids.extend(np.array(item.ids, dtype=np.int32) for item in encoded)
    offsets = np.concatenate([[0], np.cumsum([len(item) for item in ids])]).astype(np.int32)
    values = np.concatenate(ids) if ids else np.array([], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, pa.int32()))


@lru_cache(maxsize=1)
def _tokenizer(text: str) -> Tokenizer:
    return opened(text)
