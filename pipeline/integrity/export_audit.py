"""Export audit: a finished export directory, checked file by file, and made ready to be made whole again.

1. Every file that the manifest names must be there as it was sealed, and shards must be readable; nothing else may lie among them,
   for every tool would take it for data.
2. A repair removes the shards and the other files that are damaged, and a manifest that cannot be read. The same export then makes
   them again, and nothing else. `recipe.json`, by which the directory is known, is written again at once.
"""

from core import CorruptData, InputError
from pipeline.integrity.verify import Verified
from pipeline.steps.export import CLAIM, MANIFEST, claim_of, directory, is_whole, writing
from pipeline.terminal.progress import Progress
from shards.dataset import Dataset, ShardFile, SideFile
from shards.format import SHARD_DIRECTORY
from storage import tables
from storage.manifest import Output
from storage.store import Store


def verify_dataset(uri: str, progress: Progress) -> Verified:
    """Check every file of an export directory. `InputError` where no export has finished there."""
    store = directory(uri)
    if not store.exists(MANIFEST):
        raise InputError(f"{uri}: no {MANIFEST} in it; give the directory of a finished export")
    try:
        dataset = _dataset(store)
    except CorruptData as error:
        return Verified(files=1, bytes=store.size(MANIFEST), damage=(str(error),))
    progress.start("verify", total=len(dataset.shards))
    damage: list[str] = []
    for file in _files(dataset):
        if isinstance(file, ShardFile):
            progress.advance(file.name)
        if (fault := _fault(store, file)) is not None:
            damage.append(f"{uri}: {fault}")
    if not _is_claimed(store, dataset):
        damage.append(f"{uri}: {CLAIM} is not as it was written")
    known = {shard.name for shard in dataset.shards}
    damage.extend(
        f"{uri}: {name} is no shard of this dataset, and is read as one; move it away"
        for name in store.list(f"{SHARD_DIRECTORY}/")
        if name not in known
    )
    progress.done()
    files = _files(dataset)
    return Verified(files=len(files), bytes=sum(file.bytes for file in files), damage=tuple(damage))


def repair_dataset(uri: str) -> list[str]:
    """Remove what is damaged and can be made again; returns the names."""
    store = directory(uri)
    try:
        dataset = _dataset(store)
    except CorruptData:
        store.delete(MANIFEST)
        return [MANIFEST]
    if not _is_claimed(store, dataset):
        store.delete(CLAIM)
        store.put(CLAIM, claim_of(dataset.fingerprint, dataset.recipe))
    with writing(store):
        removed = [file.name for file in _files(dataset) if not is_whole(store, file)]
        for name in removed:
            store.delete(name)
    return removed


def _files(dataset: Dataset) -> tuple[ShardFile | SideFile, ...]:
    return (*dataset.files, *dataset.shards)


def _dataset(store: Store) -> Dataset:
    return Dataset.from_json(store.read(MANIFEST), f"{store.uri}/{MANIFEST}")


def _fault(store: Store, file: ShardFile | SideFile) -> str | None:
    if not store.exists(file.name):
        return f"{file.name} is missing"
    if (size := store.size(file.name)) != file.bytes:
        return f"{file.name} has {size} bytes, sealed were {file.bytes}"
    if not is_whole(store, file):
        return f"{file.name}: its bytes are not those that were sealed"
    if isinstance(file, ShardFile):
        output = Output(name=file.name, bytes=file.bytes, sha256=file.sha256, rows=file.documents)
        return next(tables.faults(store, output), None)
    return None


def _is_claimed(store: Store, dataset: Dataset) -> bool:
    try:
        return store.read(CLAIM) == claim_of(dataset.fingerprint, dataset.recipe)
    except CorruptData:  # it is missing, or the storage itself finds it damaged
        return False
