"""Open files if the store is a directory: they lie in the store itself, under `<folder>/.open/`.

A living writer holds a lock on its file. Nobody claims a locked file, even if its writer is believed dead.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from thresher.core import Conflict
from thresher.storage.directory_store import DirectoryStore, disk_errors_as_unavailable, make_directory, sync

OPEN = ".open"


class LocalOpenFile:
    """A file that is being written. `path` is where it grows."""

    __slots__ = ("_file", "_root", "path")

    def __init__(self, store: DirectoryStore, folder: str, name: str) -> None:
        """Create the file, durably. Raise `FileExistsError` if there is one of that name, `Conflict` if recovery
        claimed it before it was locked.
        """
        self._root = store.root
        self.path = _directory(store, folder) / name
        with disk_errors_as_unavailable(self._root):
            make_directory(self.path.parent)
            self._file = self.path.open("xb", buffering=0)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX)
                sync(self.path.parent)
            except OSError:
                self._file.close()
                self.path.unlink(missing_ok=True)
                raise
            if not self.path.exists():
                self._file.close()
                raise Conflict(f"{name} was recovered as a dead writer's before it was locked")

    def write(self, data: bytes, at: int) -> None:
        """Write `data` at offset `at`, not at the end of the file, so that it overwrites what a failed attempt left
        there.
        """
        written = 0
        with disk_errors_as_unavailable(self._root):
            while written < len(data):
                written += os.pwrite(self._file.fileno(), data[written:], at + written)

    def sync(self) -> None:
        """Bring the file to the disk."""
        with disk_errors_as_unavailable(self._root):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, which frees its lock."""
        self._file.close()

    def remove(self) -> None:
        """Remove the file. The published file is another link to its bytes."""
        with disk_errors_as_unavailable(self._root):
            _remove(self.path)
        self._file.close()

    def __repr__(self) -> str:
        return f"<open file {self.path.name}>"


class AbandonedLocalFile:
    """A file whose writer is dead."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def original_offset(self, local_offset: int) -> int:
        """Return the offset unchanged: the local file is the open file."""
        return local_offset

    def remove(self) -> None:
        """Remove the file."""
        _remove(self.path)


def folders(store: DirectoryStore, above: str) -> list[str]:
    """Return the names of the folders below `above` that have open files."""
    return sorted({path.parts[-3] for path in (store.root / above).glob(f"*/{OPEN}/*")})


def open_files(store: DirectoryStore, folder: str) -> list[str]:
    """Return the names of all open files of a folder."""
    return sorted(path.name for path in _directory(store, folder).glob("*"))


@contextmanager
def snapshot(store: DirectoryStore, folder: str, name: str) -> Iterator[Path | None]:
    """Yield the path of the file in its current state, even while it is written; None if it is gone."""
    path = _directory(store, folder) / name
    yield path if path.exists() else None


def read_from(store: DirectoryStore, folder: str, name: str, at: int) -> bytes | None:
    """Return the bytes of the file from offset `at`, even while it is written; None if it is gone."""
    try:
        with (_directory(store, folder) / name).open("rb") as file:
            file.seek(at)
            return file.read()
    except FileNotFoundError:
        return None


@contextmanager
def claim(store: DirectoryStore, folder: str, name: str) -> Iterator[AbandonedLocalFile | None]:
    """Lock the file and yield it; None if its writer lives or another process has recovered it."""
    path = _directory(store, folder) / name
    file = _locked(path)
    if file is None:
        yield None
        return
    with file, disk_errors_as_unavailable(store.root):
        yield AbandonedLocalFile(path)


def _directory(store: DirectoryStore, folder: str) -> Path:
    return store.path(folder) / OPEN


def _locked(path: Path) -> BinaryIO | None:
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    if not path.exists():
        file.close()
        return None
    return file


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    sync(path.parent)
