"""Verify: everything sealed is hashed and read again, and every damage is named.

1. An output must have the bytes that were sealed; a WARC must read to its end as it was counted, an index must name
   records that are there, a table must hold its rows.
2. Nothing is changed, unless a repair is asked for. That takes the seal from parts that can be made again from what
   they were made from, so that the next run of their step redoes them and nothing else. An archive file is never
   touched; one whose Manifest is gone is sealed anew.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from core import CorruptData, InputError
from pipeline.export import directory
from pipeline.garbage import collect, unsealed
from pipeline.progress import Progress
from shards.dataset import Dataset
from storage import cdxj, reseal
from storage.manifest import Manifest, Output, load, stored_digest
from storage.records import read
from storage.store import Store

MADE = ("process", "dedup")
"""Steps whose parts can be made again from storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was looked at, and what is wrong with it, one line each."""

    files: int
    bytes: int
    damage: tuple[str, ...]
    redo: tuple[str, ...] = ()
    """Names of the Manifests of damaged parts that can be made again."""
    unreadable: tuple[str, ...] = ()
    """Names of the other Manifests that cannot be read."""
    garbage: int = 0
    """Outputs of attempts that were never sealed."""


def verify_storage(store: Store, progress: Progress) -> Verified:
    """Check every output of every Manifest."""
    names = list(store.list("manifests/"))
    progress.start("verify", total=len(names))
    checked = size = 0
    damage: list[str] = []
    redo: list[str] = []
    unreadable: list[str] = []
    for name in names:
        progress.advance(name)
        faults: list[str] = []
        readable = False
        try:
            manifest = load(store, name)
        except CorruptData as error:
            faults.append(str(error))
        else:
            readable = True
            checked += len(manifest.outputs)
            size += sum(output.bytes for output in manifest.outputs)
            faults.extend(f"{name}: {fault}" for fault in _faults(store, manifest))
        damage.extend(faults)
        if faults and name.split("/")[1] in MADE:
            redo.append(name)
        elif not readable:
            unreadable.append(name)
    progress.done()
    damage.extend(f"{name} is archived, and no Manifest names it" for name in reseal.unsealed(store))
    garbage = sum(1 for _ in unsealed(store))
    return Verified(
        files=checked,
        bytes=size,
        damage=tuple(damage),
        redo=tuple(redo),
        unreadable=tuple(unreadable),
        garbage=garbage,
    )


def repair(store: Store, found: Verified) -> None:
    """Unseal what can be made again; its step makes it at its next run. Seal archive files anew that have lost their
    Manifest. Remove what failed attempts left.
    """
    for name in (*found.redo, *found.unreadable):
        store.delete(name)
    for name in list(reseal.unsealed(store)):
        reseal.reseal(store, name)
    collect(store)


def verify_dataset(uri: str, progress: Progress) -> Verified:
    """Check every shard of an export directory."""
    store = directory(uri)
    if not store.exists("manifest.json"):
        raise InputError(f"{uri}: no manifest.json in it; give the directory of a finished export")
    dataset = Dataset.from_json(store.read("manifest.json"), f"{uri}/manifest.json")
    progress.start("verify", total=len(dataset.shards))
    damage: list[str] = []
    for shard in dataset.shards:
        progress.advance(shard.name)
        output = Output(name=shard.name, bytes=shard.bytes, sha256=shard.sha256, rows=shard.documents)
        faults = [*_caught(_bytes(store, output)), *_caught(_table(store, output))]
        damage.extend(f"{uri}: {fault}" for fault in faults)
    progress.done()
    size = sum(shard.bytes for shard in dataset.shards)
    return Verified(files=len(dataset.shards), bytes=size, damage=tuple(damage))


def _faults(store: Store, manifest: Manifest) -> Iterator[str]:
    for output in manifest.outputs:
        if not store.exists(output.name):
            yield f"{output.name} is missing"
            continue
        checks = [_bytes(store, output)]
        if output.name.endswith(".parquet"):
            checks.append(_table(store, output))
        elif output.name.endswith(".cdxj.gz"):
            checks.append(_index(store, output))
        elif output.name.startswith("warc/"):
            checks.append(_archive(store, output, manifest))
        for check in checks:
            yield from _caught(check)


def _caught(check: Iterator[str]) -> Iterator[str]:
    """What a check says; where the storage itself finds the bytes damaged, that."""
    try:
        yield from check
    except CorruptData as error:
        yield str(error)


def _bytes(store: Store, output: Output) -> Iterator[str]:
    if not store.exists(output.name):
        yield f"{output.name} is missing"
    elif (size := store.size(output.name)) != output.bytes:
        yield f"{output.name} has {size} bytes, sealed were {output.bytes}"
    elif stored_digest(store, output.name) != output.sha256:
        yield f"{output.name}: its bytes are not those that were sealed"


def _table(store: Store, output: Output) -> Iterator[str]:
    """A group at a time: a table may be larger than memory."""
    if not store.exists(output.name):
        return
    rows = 0
    try:
        with store.open(output.name) as file:
            table = pq.ParquetFile(file)
            for group in range(table.num_row_groups):
                rows += table.read_row_group(group).num_rows
    except (pa.ArrowException, OSError) as error:
        yield f"{output.name} cannot be read: {str(error).splitlines()[0]}"
        return
    if rows != output.rows:
        yield f"{output.name} has {rows} rows, sealed were {output.rows}"


def _index(store: Store, output: Output) -> Iterator[str]:
    try:
        with store.open(output.name) as file:
            rows = sum(1 for _ in cdxj.read(file, name=output.name))
    except CorruptData as error:
        yield str(error)
        return
    if rows != output.rows:
        yield f"{output.name} has {rows} lines, sealed were {output.rows}"


def _archive(store: Store, output: Output, manifest: Manifest) -> Iterator[str]:
    """Damage that the archive came with, when it was ingested, is in its counts and no news."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    try:
        with store.open(output.name) as file:
            for record in read(file, name=output.name):
                counts[record.type] += 1
                if record.type == "damaged":
                    problems.append(f"{output.name} at {record.offset}: {record.problem}")
    except InputError as error:
        yield str(error)
        return
    if counts["damaged"] > manifest.counts.get("damaged", 0):
        yield from problems
    if counts != Counter(manifest.counts):
        yield f"{output.name} holds {_said(counts)}; sealed were {_said(manifest.counts)}"


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
