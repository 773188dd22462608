"""The two steps of an export. `tokenize` reads one part of documents, encodes the kept ones, and writes the rows
grouped by the shard they belong to. `shard` reads its group from every part, and writes one file in order.

1. Each document is read once and written twice, for any number of shards.
2. Only the rows of the wanted shards are encoded. Making one shard of a thousand again costs little more than reading
   the texts.
3. A shard holds exactly the rows of its places. Pages of the files between the two steps have a CRC-32, which is
   checked.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from core import CorruptData
from pipeline.engine import run_step
from pipeline.engine.local.worker_pool import WorkerPool
from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from pipeline.engine.task import ItemTracker, PartOutputs
from pipeline.terminal.progress import Progress
from shards.dataset import ShardFile
from shards.format import SHARD_SCHEMA, shard_name
from shards.permutation import Permutation
from shards.tokenizer import TokenizerFile, open_tokenizer
from storage import sealed_reading, tables
from storage.manifest import Input, Output, manifest_name
from storage.store import Store

TOKENIZER = "tokenizer.json"
ENCODE_BATCH = 256
COLUMNS = ["id", "url", "source", "record_file", "record_offset", "text"]


class ExportPart(NamedTuple):
    """The documents of one part that go into the dataset."""

    documents: Input
    signatures: Input
    base: int
    """Number of its first kept document in the whole dataset."""
    removed: tuple[str, ...]
    """Ids of its documents that deduplication removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardingPlan:
    """Which shards to make, from what, and where."""

    storage: Store
    """The store of the documents."""
    scratch: Store
    """The store of the files between the two steps."""
    out: Store
    """The store that gets the shards."""
    recipe: Mapping[str, Any]
    tokenizer: TokenizerFile
    parts: tuple[ExportPart, ...]
    documents: int
    shards: int
    """Number of shards of the whole dataset."""
    shard_numbers: frozenset[int]
    """Numbers of the shards to make."""
    seed: int


class TokenizeParameters(NamedTuple):
    """Parameters of a tokenize worker besides its inputs."""

    removed: tuple[str, ...]
    """Ids of the part's signed documents that deduplication removed."""
    base: int
    documents: int
    shards: int
    shard_numbers: frozenset[int]
    seed: int


class ShardParameters(NamedTuple):
    """Parameters of a shard worker besides its inputs."""

    number: int
    places: range
    """Places of the rows that belong into the shard."""


def make_shards(sharding: ShardingPlan, *, pool: WorkerPool, progress: Progress) -> run_step.StepSummary:
    """Make the wanted shards that are missing or damaged. Raise `ThresherError` if one cannot be made."""
    scratch = sharding.scratch
    scratch.put(TOKENIZER, sharding.tokenizer.json.encode())
    tokenize = Step(name="tokenize", version=1, recipe=sharding.recipe)
    pieces = list(_tokenize_parts(sharding))
    tokenized = run_step.run_step(
        scratch, tokenize, pieces, tokenize_work, pool=pool, progress=progress, retry=True
    )
    tokenized.require_all()
    made = [output for piece in pieces for output in _outputs(scratch, tokenize, piece)]
    shard = Step(name="shard", version=1, recipe=sharding.recipe)
    numbered = list(_shard_parts(sharding, made))
    for part in numbered:
        _unseal_lost(sharding, shard, part)
    sharded = run_step.run_step(
        scratch, shard, numbered, shard_work, pool=pool, progress=progress, retry=True
    )
    if sharded.quarantined:
        _unseal_damaged(scratch, tokenize, pieces)
    sharded.require_all()
    return tokenized.plus(sharded)


def shard_line(scratch: Store, number: int) -> ShardFile:
    """Return the manifest line of a shard that was made."""
    return ShardFile(**json.loads(scratch.read(_line_name(number))))


def tokenize_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Encode the kept documents of one part that belong into wanted shards, with one row group per shard."""
    task: TokenizeParameters = part.parameters
    documents, signatures = part.inputs
    signed = tables.read(store, signatures, tables.columns(tables.SIGNATURES, "id"))
    stays = frozenset(signed["id"].to_pylist()) - frozenset(task.removed)
    table = tables.read(store, documents, tables.columns(tables.DOCUMENTS, *COLUMNS))
    table = table.filter(pa.array([one in stays for one in table["id"].to_pylist()], pa.bool_()))
    places = Permutation(n=max(task.documents, 1), seed=task.seed).positions(
        np.arange(task.base, task.base + table.num_rows, dtype=np.int64)
    )
    shards = places * task.shards // max(task.documents, 1)
    wanted = np.isin(shards, sorted(task.shard_numbers))
    table, places, shards = table.filter(pa.array(wanted)), places[wanted], shards[wanted]
    tokenizer = _tokenizer(store.read(TOKENIZER).decode())
    table = table.append_column("input_ids", _encode(tokenizer, table["text"]))
    table = (
        table.select(SHARD_SCHEMA.names)
        .cast(SHARD_SCHEMA)
        .append_column("place", pa.array(places, pa.int64()))
    )
    (name,) = part.writes
    output = store.write(name, table.num_rows, lambda file: _write_groups(file, table, shards, task.shards))
    return PartOutputs(counts={"documents": table.num_rows}, outputs=(output,))


def shard_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Read one shard's rows from every part, and write them in order."""
    task: ShardParameters = part.parameters
    shard_file, line_file = part.writes
    groups = [_group(store, span.name, task.number) for span in part.inputs]
    rows = (
        pa.concat_tables(groups)
        if groups
        else SHARD_SCHEMA.append(pa.field("place", pa.int64())).empty_table()
    )
    rows = rows.take(pc.sort_indices(rows["place"]))
    if not np.array_equal(rows["place"].to_numpy(), np.arange(task.places.start, task.places.stop)):
        raise CorruptData(
            f"{shard_name(task.number)} does not have the rows that belong into it; run the same export again"
        )
    rows = rows.drop_columns(["place"])
    tokens = int(pc.sum(pc.list_value_length(rows["input_ids"])).as_py() or 0)
    shard = store.write(shard_file, rows.num_rows, partial(tables.write, table=rows))
    # The shard itself lies in the export directory. What is sealed here is its line of the manifest.
    text = json.dumps({**_file(shard), "tokens": tokens}, sort_keys=True)
    line = store.write(line_file, 1, lambda file: file.write(text.encode()))
    return PartOutputs(counts={"documents": rows.num_rows, "tokens": tokens}, outputs=(line,))


def _tokenize_parts(sharding: ShardingPlan) -> Iterator[Part]:
    for kept in sharding.parts:
        name = kept.documents.name.removeprefix("documents/").removesuffix(".parquet")
        task = TokenizeParameters(
            removed=kept.removed,
            base=kept.base,
            documents=sharding.documents,
            shards=sharding.shards,
            shard_numbers=sharding.shard_numbers,
            seed=sharding.seed,
        )
        inputs = (kept.documents, kept.signatures)
        yield Part(
            name=name,
            inputs=inputs,
            parameters=task,
            reads=(TOKENIZER,),
            writes=(f"tokens/{name}.parquet",),
            stores={span.name: sharding.storage for span in inputs},
        )


def _shard_parts(sharding: ShardingPlan, made: Sequence[Output]) -> Iterator[Part]:
    spans = tuple(Input(name=output.name, sha256=output.sha256) for output in made)
    documents, shards = sharding.documents, sharding.shards
    for number in sorted(sharding.shard_numbers):
        # The places p with p * shards // documents == number.
        places = range(-(-number * documents // shards), -(-(number + 1) * documents // shards))
        shard = shard_name(number)
        yield Part(
            name=f"shards/{number:05d}",
            inputs=spans,
            parameters=ShardParameters(number=number, places=places),
            writes=(shard, _line_name(number)),
            stores={shard: sharding.out},
        )


def _outputs(scratch: Store, step: Step, part: Part) -> tuple[Output, ...]:
    manifest = run_step.sealed_manifest(scratch, step, part)
    assert manifest is not None
    return manifest.outputs


def _unseal_lost(sharding: ShardingPlan, step: Step, part: Part) -> None:
    """Unseal a shard of an earlier attempt that is missing or damaged now, so that it is made again."""
    scratch, number = sharding.scratch, part.parameters.number
    if run_step.sealed_manifest(scratch, step, part) is None:
        return
    try:
        there = shard_line(scratch, number)
        sealed_reading.check_sealed(sharding.out, there)
    except CorruptData:
        scratch.delete(manifest_name(step.name, part.name))


def _unseal_damaged(scratch: Store, step: Step, parts: Sequence[Part]) -> None:
    """Unseal damaged files between the two steps, so that they are made again."""
    for part in parts:
        try:
            for output in _outputs(scratch, step, part):
                sealed_reading.check_sealed(scratch, output)
        except CorruptData:
            scratch.delete(manifest_name(step.name, part.name))


def _line_name(number: int) -> str:
    return f"lines/{number:05d}.json"


def _group(store: PartStore, name: str, number: int) -> pa.Table:
    try:
        with store.open(name) as file:
            # A confined worker process may start no thread, neither to decode nor to read ahead.
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            return parquet.read_row_group(number, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise CorruptData(
            f"the intermediate file {name} is damaged ({str(error).splitlines()[0]}); run the same export again"
        ) from error


def _file(shard: Output) -> dict[str, Any]:
    return {"name": shard.name, "bytes": shard.bytes, "sha256": shard.sha256, "documents": shard.rows}


def _write_groups(
    file: BinaryIO, table: pa.Table, shards: npt.NDArray[np.int64], number_of_shards: int
) -> None:
    with pq.ParquetWriter(file, table.schema, compression="zstd", write_page_checksum=True) as writer:
        for number in range(number_of_shards):
            rows = np.flatnonzero(shards == number)
            # Empty groups keep the numbering: group k is shard k.
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
    return open_tokenizer(text)
