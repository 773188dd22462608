"""Verify: everything sealed is hashed and read again, and every damage is named.

1. An output must have the bytes that were sealed; a table must hold its rows. What a WARC and its index must be is said
   in `pipeline.audit`; what revisits refer to must be archived.
2. Nothing is changed, unless a repair is asked for. That takes the seal from parts that can be made again from what
   they were made from, so that the next run of their step redoes them and nothing else. An archive file is never
   touched; one whose Manifest is gone is sealed anew.
3. What dead workers left unsealed is named, and is no damage: the next run of the crawl takes it up.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from core import CorruptData, InputError
from pipeline import audit
from pipeline.export import directory
from pipeline.garbage import collect, unsealed
from pipeline.progress import Progress
from pipeline.referred import Referred
from shards.dataset import Dataset
from storage import reseal
from storage.manifest import Manifest, Output, load, stored_digest
from storage.recovery import remains
from storage.store import Store
from storage.unfinished import INDEX_SUFFIX, crawls

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
    unfinished: tuple[str, ...] = ()
    """Open archive files that nobody writes to, one line each."""
    garbage: int = 0
    """Outputs of attempts that were never sealed."""


def verify_storage(store: Store, progress: Progress) -> Verified:
    """Check every output of every Manifest. Raises `InputError` where there is nothing to be checked."""
    names = list(store.list("manifests/"))
    progress.start("verify", total=len(names))
    checked = size = 0
    damage: list[str] = []
    redo: list[str] = []
    unreadable: list[str] = []
    with Referred() as referred:
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
                faults.extend(f"{name}: {fault}" for fault in _faults(store, manifest, referred))
            damage.extend(faults)
            if faults and name.split("/")[1] in MADE:
                redo.append(name)
            elif not readable:
                unreadable.append(name)
        damage.extend(
            f"{file} at {offset}: a revisit of a record that is not archived"
            for file, offset in referred.missing()
        )
    progress.done()
    damage.extend(f"{name} is archived, and no Manifest names it" for name in reseal.unsealed(store))
    garbage = sum(1 for _ in unsealed(store))
    left = tuple(_unfinished(store))
    if not names and not damage and not crawls(store):
        raise InputError(
            f"verify: nothing is sealed in the storage {store.uri}; see that project.storage is right"
        )
    return Verified(
        files=checked,
        bytes=size,
        damage=tuple(damage),
        redo=tuple(redo),
        unreadable=tuple(unreadable),
        unfinished=left,
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


def _unfinished(store: Store) -> Iterator[str]:
    for crawl in crawls(store):
        for left in remains(store, crawl):
            yield (
                f"{left.name} was left open with {left.records} whole records in {left.whole} bytes, and {left.torn} "
                f"bytes that are none; `thresher crawl {crawl}` seals what is whole"
            )


def _faults(store: Store, manifest: Manifest, referred: Referred) -> Iterator[str]:
    for output in manifest.outputs:
        if not store.exists(output.name):
            yield f"{output.name} is missing"
            continue
        checks = [_bytes(store, output)]
        if output.name.endswith(".parquet"):
            checks.append(_table(store, output))
        elif output.name.startswith("warc/") and not output.name.endswith(INDEX_SUFFIX):
            checks.append(audit.archive(store, manifest, referred))
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
