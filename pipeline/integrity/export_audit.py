"""Export audit: check a finished export directory file by file, and prepare its repair.

1. Every file that the manifest names must be present as it was sealed, and shards must be readable. No other file may
   lie among the shards, because every tool would read it as data.
2. A repair removes damaged shards and other files, and a manifest that cannot be read. The same export then makes them
   again, and nothing else. `recipe.json`, which identifies the directory, is written again at once.
"""

from thresher.core import CorruptData, InputError
from thresher.pipeline.integrity.findings import VerifyResult
from thresher.pipeline.steps.export_directory import (
    CLAIM_FILE,
    MANIFEST_FILE,
    claim_bytes,
    is_intact,
    output_store,
    write_lock,
)
from thresher.pipeline.terminal.progress import Progress
from thresher.shards.dataset import Dataset, ShardFile, SideFile
from thresher.shards.formats.registry import FORMATS
from thresher.storage import tables
from thresher.storage.manifest import Output
from thresher.storage.store import Store


def verify_dataset(uri: str, progress: Progress) -> VerifyResult:
    """Check every file of an export directory. Raise `InputError` if it holds no finished export."""
    store = output_store(uri)
    if not store.exists(MANIFEST_FILE):
        raise InputError(f"{uri}: no {MANIFEST_FILE} in it; give the directory of a finished export")
    try:
        dataset = _dataset(store)
    except CorruptData as error:
        return VerifyResult(files=1, bytes=store.size(MANIFEST_FILE), damage=(str(error),))
    progress.start("verify", total=len(dataset.shards))
    damage: list[str] = []
    for file in _files(dataset):
        if isinstance(file, ShardFile):
            progress.advance(file.name)
        if (fault := _fault(store, file)) is not None:
            damage.append(f"{uri}: {fault}")
    if not _is_claimed(store, dataset):
        damage.append(f"{uri}: {CLAIM_FILE} is not as it was written")
    known = {file.name for file in _files(dataset)}
    damage.extend(
        f"{uri}: {name} is not a file of this dataset, but tools read it as one; move it away"
        for kind in FORMATS.values()
        for name in store.list(f"{kind.directory}/")
        if name not in known
    )
    progress.stop()
    files = _files(dataset)
    return VerifyResult(files=len(files), bytes=sum(file.bytes for file in files), damage=tuple(damage))


def repair_dataset(uri: str) -> list[str]:
    """Remove damaged files that can be made again, and return their names."""
    store = output_store(uri)
    try:
        dataset = _dataset(store)
    except CorruptData:
        store.delete(MANIFEST_FILE)
        return [MANIFEST_FILE]
    if not _is_claimed(store, dataset):
        store.delete(CLAIM_FILE)
        store.put(CLAIM_FILE, claim_bytes(dataset.fingerprint, dataset.recipe))
    with write_lock(store):
        removed = [file.name for file in _files(dataset) if not is_intact(store, file)]
        for name in removed:
            store.delete(name)
    return removed


def _files(dataset: Dataset) -> tuple[ShardFile | SideFile, ...]:
    shards = (file for shard in dataset.shards for file in shard.files)
    return (*dataset.files, *shards)


def _dataset(store: Store) -> Dataset:
    return Dataset.from_json(store.read(MANIFEST_FILE), f"{store.uri}/{MANIFEST_FILE}")


def _fault(store: Store, file: ShardFile | SideFile) -> str | None:
    if not store.exists(file.name):
        return f"{file.name} is missing"
    if (size := store.size(file.name)) != file.bytes:
        return f"{file.name} has {size} bytes; {file.bytes} were sealed"
    if not is_intact(store, file):
        return f"{file.name}: its bytes are not those that were sealed"
    if isinstance(file, ShardFile) and file.name.endswith(".parquet"):
        output = Output(name=file.name, bytes=file.bytes, sha256=file.sha256, rows=file.rows)
        return next(tables.faults(store, output), None)
    return None


def _is_claimed(store: Store, dataset: Dataset) -> bool:
    try:
        return store.read(CLAIM_FILE) == claim_bytes(dataset.fingerprint, dataset.recipe)
    except CorruptData:  # it is missing, or the storage itself finds it damaged
        return False
