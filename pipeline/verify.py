"""Verify: everything sealed is hashed and read again, and every damage is named."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from core import CorruptData, InputError
from pipeline.export import directory
from pipeline.progress import Progress
from shards.dataset import Dataset
from storage.files import Files
from storage.manifest import Output, digest, load
from storage.records import read


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was looked at, and what is wrong with it, one line each."""

    files: int
    bytes: int
    damage: tuple[str, ...]


def verify_storage(files: Files, progress: Progress) -> Verified:
    """Check every output of every Manifest."""
    names = list(files.list("manifests/"))
    progress.start("verify", total=len(names))
    checked: list[Output] = []
    damage: list[str] = []
    for name in names:
        progress.advance(name)
        try:
            manifest = load(files, name)
        except CorruptData as error:
            damage.append(str(error))
            continue
        for output in manifest.outputs:
            checked.append(output)
            damage.extend(f"{name}: {fault}" for fault in _faults(files, output))
    progress.done()
    return Verified(files=len(checked), bytes=sum(output.bytes for output in checked), damage=tuple(damage))


def verify_dataset(uri: str, progress: Progress) -> Verified:
    """Check every shard of an export directory."""
    files = directory(uri)
    if not files.exists("manifest.json"):
        raise InputError(f"{uri}: no manifest.json in it; give the directory of a finished export")
    dataset = Dataset.from_json(files.read("manifest.json"), f"{uri}/manifest.json")
    progress.start("verify", total=len(dataset.shards))
    damage: list[str] = []
    for shard in dataset.shards:
        progress.advance(shard.name)
        output = Output(name=shard.name, bytes=shard.bytes, sha256=shard.sha256, rows=shard.documents)
        damage.extend(f"{uri}: {fault}" for fault in _faults(files, output))
    progress.done()
    size = sum(shard.bytes for shard in dataset.shards)
    return Verified(files=len(dataset.shards), bytes=size, damage=tuple(damage))


def _faults(files: Files, output: Output) -> Iterator[str]:
    if not files.exists(output.name):
        yield f"{output.name} is missing"
        return
    if files.size(output.name) != output.bytes:
        yield f"{output.name} has {files.size(output.name)} bytes, sealed were {output.bytes}"
    elif digest(files.path(output.name)) != output.sha256:
        yield f"{output.name}: its bytes are not those that were sealed"
    else:
        return
    yield from _where(files, output)


def _where(files: Files, output: Output) -> Iterator[str]:
    """What of a damaged file can no longer be read."""
    if output.name.endswith(".parquet"):
        try:
            pq.read_table(files.path(output.name))
        except (pa.ArrowException, OSError) as error:
            yield f"{output.name} cannot be read: {str(error).splitlines()[0]}"
    elif ".warc" in output.name:
        for record in read(files.path(output.name)):
            if record.problem:
                yield f"{output.name} at {record.offset}: {record.problem}"
