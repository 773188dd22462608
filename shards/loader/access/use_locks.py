"""Which files of a cache are in use, by any process of the machine: one lock for each name, with one open file for all.

A lock is a byte of the lock file, locked with an open file description lock of Linux (`F_OFD_SETLK`). The kernel frees
it when the process ends, however it ends.
"""

import fcntl
import hashlib
import os
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thresher.storage.directory_store import FILE_MODE

_FLOCK = struct.Struct("@hhqqi4x")  # struct flock of Linux on 64 bits: type, whence, start, length, process


class UseLocks:
    """Shared locks on names."""

    def __init__(self, path: Path) -> None:
        """Use the lock file at `path`, which is created if missing. Raise `OSError` if it cannot be written."""
        self._held: Counter[str] = Counter()
        self._mutex = threading.Lock()
        self._descriptor = -1
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)

    def hold(self, name: str) -> None:
        """Say that a file is in use. Waits while another process deletes it."""
        with self._mutex:
            if not self._held[name]:
                self._set(fcntl.F_OFD_SETLKW, fcntl.F_RDLCK, name)
            self._held[name] += 1

    def release(self, name: str) -> None:
        """Take back one `hold`."""
        with self._mutex:
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]
                self._set(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, name)

    @contextmanager
    def unused(self, name: str) -> Iterator[bool]:
        """Yield whether nobody uses a file. If so, nobody begins to until the end of the context."""
        with self._mutex:
            if self._held[name] or not self._try_alone(name):
                yield False
                return
            try:
                yield True
            finally:
                self._set(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, name)

    def close(self) -> None:
        """Take back everything."""
        with self._mutex:
            if self._descriptor >= 0:
                # A child that was forked meanwhile has the description, too: closing alone would not free the locks.
                fcntl.fcntl(
                    self._descriptor, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
                )
                os.close(self._descriptor)
                self._descriptor = -1
                self._held.clear()

    def __del__(self) -> None:
        self.close()

    def _try_alone(self, name: str) -> bool:
        try:
            self._set(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, name)
        except BlockingIOError:
            return False
        return True

    def _set(self, command: int, kind: int, name: str) -> None:
        place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])
        fcntl.fcntl(self._descriptor, command, _FLOCK.pack(kind, os.SEEK_SET, place, 1, 0))
