"""Open files where the store is a directory: in the store itself, under `<folder>/.open/`.

A living writer holds a lock on its file; nobody takes it, whatever is believed of the writer.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from core import Conflict
from storage.directory_store import DirectoryStore, disk_errors_as_unavailable, make_directory, sync

OPEN = ".open"


class LocalOpenFile:
    """A file being written. `path` is where it grows."""

    __slots__ = ("_file", "_root", "path")

    def __init__(self, store: DirectoryStore, folder: str, name: str) -> None:
        """Begin it, durably. Raises `FileExistsError` where there is one of that name, `Conflict` where recovery was quicker."""
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
                raise Conflict(f"{name} was taken for a dead writer's before it was locked")

    def write(self, data: bytes, at: int) -> None:
        """Write at its place and not at the end: what a failed attempt left there is written over."""
        done = 0
        with disk_errors_as_unavailable(self._root):
            while done < len(data):
                done += os.pwrite(self._file.fileno(), data[done:], at + done)

    def sync(self) -> None:
        """Bring it to disk."""
        with disk_errors_as_unavailable(self._root):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close it; the lock is gone with it."""
        self._file.close()

    def remove(self) -> None:
        """Remove it. The published file is another link to its bytes."""
        with disk_errors_as_unavailable(self._root):
            _remove(self.path)
        self._file.close()

    def __repr__(self) -> str:
        return f"<open file {self.path.name}>"


class AbandonedLocalFile:
    """A file that nobody writes to any more."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def original_offset(self, place: int) -> int:
        """Return the place itself: it is the open file."""
        return place

    def remove(self) -> None:
        """Remove it."""
        _remove(self.path)


def folders(store: DirectoryStore, above: str) -> list[str]:
    """Names of the folders of `above` that have open files."""
    return sorted({path.parts[-3] for path in (store.root / above).glob(f"*/{OPEN}/*")})


def open_files(store: DirectoryStore, folder: str) -> list[str]:
    """Names of all open files of a folder."""
    return sorted(path.name for path in _directory(store, folder).glob("*"))


@contextmanager
def snapshot(store: DirectoryStore, folder: str, name: str) -> Iterator[Path | None]:
    """The file as it is, whoever writes to it; None where it is no longer there."""
    path = _directory(store, folder) / name
    yield path if path.exists() else None


def read_from(store: DirectoryStore, folder: str, name: str, at: int) -> bytes | None:
    """The bytes of the file from a place on, whoever writes to it; None where it is no longer there."""
    try:
        with (_directory(store, folder) / name).open("rb") as file:
            file.seek(at)
            return file.read()
    except FileNotFoundError:
        return None


@contextmanager
def claim(store: DirectoryStore, folder: str, name: str) -> Iterator[AbandonedLocalFile | None]:
    """The file, locked; None where its writer lives, or another has recovered it."""
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
