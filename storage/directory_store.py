"""`DirectoryStore`: a `Store` in a directory.

Bytes are written elsewhere on the same disk, synced to the disk (fsync), and linked under their name in one step. Parts
of names that begin with a dot belong to the store: they are work in progress.
"""

import errno
import fcntl
import heapq
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from thresher.core import CorruptData, Unavailable
from thresher.core.call_times import CallTimes
from thresher.storage.call_timer import CallTimer
from thresher.storage.store import ByteRange, Staged, check_name, read_one_by_one

STAGING = ".staging"
READ_AHEAD = 256 << 10
"""Bytes that an open file reads at a time."""
NO_SPACE_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_ACCESS_ERRNOS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
FILE_MODE = 0o666  # less the umask, as any created file


class DirectoryStore:
    """The objects under one root directory. Many processes may use one root at the same time."""

    __slots__ = ("_timer", "root", "setting")

    def __init__(
        self, root: Path, timer: CallTimer | None = None, *, setting: str = "project.storage"
    ) -> None:
        """`timer` counts the calls; the default is a new one. `setting` is what the user set to this directory; errors
        of the disk name it.
        """
        self.root = root
        self._timer = timer or CallTimer()
        self.setting = setting

    @property
    def uri(self) -> str:
        """`file:` and the directory."""
        return f"file:{self.root}"

    def put(self, name: str, data: bytes) -> bool:
        """Store `data` under `name`, durable on return. Return True if the object was created, False if the name was
        taken.
        """
        with self.stage(name) as staged:
            staged.path.write_bytes(data)
            return staged.publish()

    @contextmanager
    def stage(self, name: str) -> Iterator[Staged]:
        """Yield a private file on the storage's own disk for the bytes of the future object `name`. The file is removed
        at the end of the context, published or not. Raise `Unavailable` if the disk has no room for the bytes.
        """
        self.path(name)
        with disk_errors_as_unavailable(self.root, self.setting):
            path, lock = self._new_staging_file()
            try:
                yield Staged(self, name, path)
            finally:
                os.close(lock)
                path.unlink(missing_ok=True)

    def put_file(self, path: Path, name: str) -> bool:
        """Publish the file at `path` (on the same disk) under `name`, once; `path` stays as a second link. Return True
        if the object was created, False if the name was taken.
        """
        target = self.path(name)
        with disk_errors_as_unavailable(self.root, self.setting), self._timer.time():
            sync(path)
            make_directory(target.parent)
            try:
                os.link(path, target)
            except FileExistsError:
                created = False
            else:
                created = True
            # Also if another process was first: its link may not have reached the disk yet.
            sync(target.parent)
        return created

    def unavailable_since_ms(self) -> None:
        """Return None: a directory answers or fails at once, and nobody waits for it."""
        return

    def call_times(self) -> CallTimes:
        """Return the puts of this process and how long they took."""
        return self._timer.times

    def sweep(self) -> int:
        """Remove the staged files of killed programs, and return how many. What a living program stages stays."""
        directory = self.root / STAGING
        if not directory.is_dir():
            return 0
        removed = 0
        with disk_errors_as_unavailable(self.root, self.setting), _staging_lock(directory, fcntl.LOCK_EX):
            for path in sorted(directory.iterdir()):
                if path.name != _STAGING_LOCK and _is_abandoned(path):
                    path.unlink(missing_ok=True)
                    removed += 1
        return removed

    def path(self, name: str) -> Path:
        """Return where the object lies or would lie. Raise `InputError` if `name` cannot name an object."""
        check_name(name)
        return self.root / name

    def read(self, name: str) -> bytes:
        """Return all bytes of an object. Raise `CorruptData` if it is missing."""
        with self.open(name) as file:
            return file.read()

    def open(self, name: str) -> BufferedReader:
        """Open the object for reading. Raise `CorruptData` if it is missing."""
        try:
            return BufferedReader(self.path(name).open("rb", buffering=0), READ_AHEAD)
        except FileNotFoundError as error:
            raise self._missing(name) from error

    def read_ranges(self, ranges: Iterable[ByteRange]) -> Iterator[bytes]:
        """Yield the bytes of each range, in order; see `Store`."""
        return read_one_by_one(self, ranges)

    def substore(self, directory: str) -> "DirectoryStore":
        """Return the directory of that name as a store of its own."""
        return DirectoryStore(self.root / directory, self._timer, setting=self.setting)

    def clear(self) -> None:
        """Remove the whole directory."""
        with suppress(FileNotFoundError), disk_errors_as_unavailable(self.root, self.setting):
            shutil.rmtree(self.root)

    def exists(self, name: str) -> bool:
        """Return whether the object is there, with all of its bytes."""
        return self.path(name).is_file()

    def size(self, name: str) -> int:
        """Return the size of the object in bytes. Raise `CorruptData` if it is missing."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError as error:
            raise self._missing(name) from error

    def stamp(self, name: str) -> str:
        """Return a text that changes if the object is deleted and put again. Raise `CorruptData` if it is missing."""
        try:
            status = self.path(name).stat()
        except FileNotFoundError as error:
            raise self._missing(name) from error
        return f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"

    def age_ms(self, name: str) -> int:
        """Return the milliseconds since the file was last written to. Raise `CorruptData` if it is missing."""
        try:
            written = self.path(name).stat().st_mtime
        except FileNotFoundError as error:
            raise self._missing(name) from error
        return max(0, int((time.time() - written) * 1000))

    def list(self, prefix: str = "") -> Iterator[str]:
        """Yield the names that begin with `prefix` (any text, not only a directory), in byte order."""
        directory, _, _ = prefix.rpartition("/")
        if directory:
            self.path(directory)
        for name in self._walk(directory):
            if name.startswith(prefix):
                yield name

    def list_stamps(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yield what `list` yields, each name with its stamp. Skip a file that was deleted since it was listed."""
        for name in self.list(prefix):
            with suppress(CorruptData):
                yield name, self.stamp(name)

    def newest(self, directory: str, ending: str, most: int) -> Sequence[str]:
        """Return the names of files in `directory` that end with `ending`: at most `most`, the last written first."""
        try:
            with os.scandir(self.path(directory)) as scan:
                ages = (
                    (entry.stat().st_mtime_ns, entry.name)
                    for entry in scan
                    if entry.name.endswith(ending) and not entry.name.startswith(".") and entry.is_file()
                )
                found = heapq.nlargest(most, ages)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [f"{directory}/{name}" for _, name in found]

    def delete(self, name: str) -> None:
        """Remove the object, durably. Do nothing if it is not there."""
        path = self.path(name)
        with suppress(FileNotFoundError), disk_errors_as_unavailable(self.root, self.setting):
            path.unlink()
            sync(path.parent)

    def _missing(self, name: str) -> CorruptData:
        return CorruptData(
            f"{name} is missing from the storage at {self.root}; run the step that makes it again"
        )

    def _walk(self, directory: str) -> Iterator[str]:
        try:
            with os.scandir(self.root / directory) as scan:
                # A directory sorts with its slash, as its names do: this is the order of an object store.
                entries = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in scan)
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            name = f"{directory}/{entry}" if directory else entry
            if entry.startswith("."):
                continue
            if entry.endswith("/"):
                yield from self._walk(name.removesuffix("/"))
            else:
                yield name

    def _new_staging_file(self) -> tuple[Path, int]:
        """Make a new empty file. Its maker holds a lock on it for life, by which `sweep` tells it from an abandoned
        one.
        """
        directory = self.root / STAGING
        make_directory(directory)
        with _staging_lock(directory, fcntl.LOCK_SH):
            path = directory / os.urandom(16).hex()
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
            fcntl.flock(lock, fcntl.LOCK_EX)
        return path, lock

    def __repr__(self) -> str:
        return f"<files at {self.root}>"


@contextmanager
def disk_errors_as_unavailable(root: Path, setting: str = "project.storage") -> Iterator[None]:
    """Raise `Unavailable`, in one line for the user, if the disk has no room or denies access. `setting` names what the
    user can set to another directory.
    """
    elsewhere = f"give another {setting}" if setting.startswith("--") else f"move {setting}"
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE_ERRNOS:
            raise Unavailable(
                f"no room left for the storage at {root} ({os.strerror(error.errno or 0)}): free some, or "
                f"{elsewhere}, and run the command again"
            ) from error
        if error.errno in NO_ACCESS_ERRNOS and str(error.filename).startswith(str(root)):
            raise Unavailable(
                f"the storage at {root} cannot be written ({os.strerror(error.errno or 0)}): change its owner or "
                f"{elsewhere}"
            ) from error
        raise


def make_directory(directory: Path) -> None:
    """Make a directory and its parents, durably."""
    if directory.is_dir():
        return
    make_directory(directory.parent)
    with suppress(FileExistsError):
        directory.mkdir()
    sync(directory.parent)


def sync(path: Path) -> None:
    """Bring a file's bytes, or a directory's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_STAGING_LOCK = "gate"


@contextmanager
def _staging_lock(directory: Path, how: int) -> Iterator[None]:
    """Let makers of staging files in together, and the sweeper alone: it never meets a file that is not locked yet."""
    descriptor = os.open(directory / _STAGING_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def _is_abandoned(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:  # its maker has just finished
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # its maker lives
        return False
    finally:
        os.close(descriptor)
    return True
