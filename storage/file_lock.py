"""A file lock that names what it guards: held by one thread of one process at a time, freed when its holder dies.

1. The locked file is the one that lies at the path: if the file is renamed or removed, those who waited for it wait for
   the new one.
2. Nobody waits for ever, because a debugger or a frozen container may stop the holder.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from thresher.storage.directory_store import FILE_MODE

FIRST_PAUSE, MAX_PAUSE = 0.000_5, 0.005
"""Seconds between two tries while another process holds the lock; they double. `flock` cannot wait for a bounded time.
"""


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[int]:
    """Yield a descriptor of the file at `path`, which is created if missing and locked until the end of the context.

    Raise `TimeoutError` if another holder keeps it for more than `seconds`, and `OSError` if the file cannot be opened
    for writing (its directory is missing, the disk is full or read-only).
    """
    deadline = time.monotonic() + seconds
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            _wait(descriptor, path, deadline)
            try:
                if is_file_at(descriptor, path):
                    yield descriptor
                    return
            finally:
                # Closing alone would not free the lock if a child was forked meanwhile: it has the descriptor too.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock the file if nobody holds the lock, and return whether that succeeded."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(descriptor: int, path: Path, deadline: float) -> None:
    pause = FIRST_PAUSE
    while not try_lock(descriptor):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{path} is locked by another process")
        time.sleep(min(pause, left))
        pause = min(2 * pause, MAX_PAUSE)


def is_file_at(descriptor: int, path: Path) -> bool:
    """Return whether the open file is still the one at that path."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False
