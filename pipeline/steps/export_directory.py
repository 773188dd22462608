"""The export directory: whose it is, and who may write to it.

1. `recipe.json` claims a directory for one dataset. A directory of another dataset, or one with other files, is refused
   and not changed.
2. A claim that is missing or damaged is written again if the manifest or the working files say whose directory it is.
3. Working files lie under `.work`, in a folder for each dataset. They claim nothing: a directory without other files is
   free.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from thresher.core import Conflict, CorruptData, InputError
from thresher.shards.dataset import Dataset, ShardFile, SideFile
from thresher.storage import sealed_reading
from thresher.storage.directory_store import DirectoryStore, make_directory
from thresher.storage.location import SCHEMES, open_store
from thresher.storage.manifest import body_digest, recipe_difference
from thresher.storage.store import Store

CLAIM_FILE, MANIFEST_FILE, WORK_DIRECTORY = "recipe.json", "manifest.json", ".work"


def output_store(out: str) -> Store:
    """Return the store of the dataset: a path relative to the current directory, or a storage address."""
    if not out.strip():
        raise InputError("--out is empty; give a directory")
    if out.partition(":")[0] in SCHEMES:
        return open_store(out, Path.cwd(), key="--out")
    if "://" in out:
        raise InputError(f"--out {out}: give a directory, or an address of {' or '.join(SCHEMES)}")
    return DirectoryStore(Path(out).absolute(), setting="--out")


def check_free(out: str) -> Store:
    """Return the export directory. Raise `InputError` if it is a file, or holds files that are not our dataset."""
    target = output_store(out)
    if isinstance(target, DirectoryStore) and target.root.exists() and not target.root.is_dir():
        raise InputError(f"--out {out}: is a file; give a directory")
    is_ours = target.exists(CLAIM_FILE) or _has_work(target) or _finished(target) is not None
    if not is_ours and any(True for _ in target.list()):
        raise InputError(
            f"--out {out}: the directory holds other files and no dataset of ours; give an empty or new one"
        )
    return target


def is_intact(out: Store, file: ShardFile | SideFile) -> bool:
    """Return whether a file of a dataset is present and has the bytes that were sealed."""
    try:
        sealed_reading.check_sealed(out, file)
    except CorruptData:
        return False
    return True


def open_target(out: str, fingerprint: str, recipe: Mapping[str, Any]) -> Store:
    """Return the export directory if it is free or holds this dataset, and change nothing.

    Raise `Conflict` if it holds another dataset, and `InputError` if it holds files of which nobody can say whose they
    are.
    """
    target = check_free(out)
    claimed = _read(target, CLAIM_FILE)
    if claimed == claim_bytes(fingerprint, recipe):
        return target
    owner = _claim_of(claimed) if claimed is not None else None
    owner = owner or _finished(target)
    if owner is not None and owner[0] != fingerprint:
        raise Conflict(
            f"--out {out}: holds another dataset "
            f"({recipe_difference(owner[1], recipe) or 'its documents have changed'}); "
            "give another directory, or delete that one"
        )
    is_ours = owner is not None or _has_work(target, fingerprint)
    if not is_ours and any(name != CLAIM_FILE for name in target.list()):
        raise InputError(
            f"--out {out}: its {CLAIM_FILE} is missing or damaged, and nothing else says whose files "
            "these are; give an empty or new directory, or delete that one"
        )
    return target


def claim(target: Store, fingerprint: str, recipe: Mapping[str, Any]) -> None:
    """Claim a directory that `open_target` returned. Raise `Conflict` if another command was first."""
    data = claim_bytes(fingerprint, recipe)
    if target.put(CLAIM_FILE, data):
        return
    there = _read(target, CLAIM_FILE)
    if there == data:
        return
    if there is not None and _claim_of(there) is not None:
        raise Conflict(f"{target.uri}: another command claimed it for another dataset; give another --out")
    target.delete(CLAIM_FILE)
    target.put(CLAIM_FILE, data)


def claim_bytes(fingerprint: str, recipe: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file that claims a directory for a dataset. They hold a digest of themselves."""
    body = {"fingerprint": fingerprint, "recipe": recipe}
    sealed = {**body, "digest": body_digest(body)}
    return (json.dumps(sealed, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def work_store(target: Store, fingerprint: str, selection: str) -> Store:
    """Return where the working files of some of the shards of a dataset lie."""
    return target.substore(_work(fingerprint)).substore(selection)


@contextmanager
def write_lock(out: Store) -> Iterator[None]:
    """Hold the only permission to write to a directory. Raise `Conflict` if another command holds it. Sweep what killed
    commands left unfinished. A directory that is made for this, and has no claim at the end, is removed again.

    On an object store two exports may run at once and do the same work twice: equal plans put equal bytes.
    """
    if not isinstance(out, DirectoryStore):
        out.sweep()
        yield
        return
    make_directory(out.root)
    lock = os.open(out.root, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                f"--out {out.root}: another command is writing to it; wait for it to end"
            ) from None
        out.sweep()
        yield
    finally:
        if not out.exists(CLAIM_FILE):
            with suppress(OSError):  # they hold something
                for work in (out.root / WORK_DIRECTORY).glob("*"):
                    work.rmdir()
                (out.root / WORK_DIRECTORY).rmdir()
            with suppress(OSError):
                out.root.rmdir()
        os.close(lock)


def _work(fingerprint: str) -> str:
    return f"{WORK_DIRECTORY}/{fingerprint[:16]}"


def _has_work(target: Store, fingerprint: str | None = None) -> bool:
    directory = WORK_DIRECTORY if fingerprint is None else _work(fingerprint)
    return any(True for _ in target.substore(directory).list())


def _claim_of(data: bytes) -> tuple[str, Mapping[str, Any]] | None:
    """Return fingerprint and recipe of a claim, or None if it is not as it was written."""
    try:
        body = json.loads(data)
        digest = body.pop("digest")
        if digest != body_digest(body):
            return None
        return body["fingerprint"], body["recipe"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _finished(target: Store) -> tuple[str, Mapping[str, Any]] | None:
    """Return fingerprint and recipe of a finished dataset, or None if there is none that can be read."""
    data = _read(target, MANIFEST_FILE)
    try:
        dataset = None if data is None else Dataset.from_json(data, MANIFEST_FILE)
    except CorruptData:
        return None
    return None if dataset is None else (dataset.fingerprint, dataset.recipe)


def _read(target: Store, name: str) -> bytes | None:
    """Return the bytes of a file, or None if it is missing or the store itself finds it damaged."""
    try:
        return target.read(name) if target.exists(name) else None
    except CorruptData:
        return None
