"""What a cache did, counted by every process that uses it, and kept after they die.

1. Each user of a directory has a file of counters that it alone writes and locks for life. A later user takes over the
   file of a dead one, so there are as many files as there ever were users at one time.
2. A count is in its file before the read that it counts returns: a killed process loses at most that one. A power cut
   loses what the system had not yet written, some seconds.
3. Counting never fails a read: if the disk refuses, only the counts are lost.
"""

import os
import struct
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from thresher.storage.cache.ledger import Totals
from thresher.storage.directory_store import FILE_MODE
from thresher.storage.file_lock import try_lock

COUNTS = struct.Struct("<5Q")
NEW_FILES = 8
"""Number of new files that a process tries to lock before it gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """The figures of one cache directory. All except `bytes` and `blocks` only grow, until the directory is deleted."""

    hits: int = 0
    """Reads answered from the cache."""
    misses: int = 0
    """Reads that were fetched."""
    bytes_hit: int = 0
    bytes_missed: int = 0
    evicted_blocks: int = 0
    bytes: int = 0
    """Room that the blocks take on the disk now, in whole pages."""
    blocks: int = 0
    errors: int = 0
    """Damaged blocks found, and fetched blocks that could not be stored."""


class CacheCounters:
    """The counters of one process. Raise `OSError` if their file cannot be made."""

    __slots__ = ("__weakref__", "_counts", "_descriptor", "_lock", "path", "process")

    def __init__(self, directory: Path) -> None:
        self.process = os.getpid()
        self.path, self._descriptor = _claim_file(directory)
        weakref.finalize(self, os.close, self._descriptor)
        self._counts = _counts(self._descriptor)
        self._lock = threading.Lock()

    def add(
        self, *, hits: int = 0, misses: int = 0, bytes_hit: int = 0, bytes_missed: int = 0, errors: int = 0
    ) -> None:
        """Add to the counters."""
        with self._lock:
            a, b, c, d, e = self._counts
            self._counts = a + hits, b + misses, c + bytes_hit, d + bytes_missed, e + errors
            with suppress(OSError):
                os.pwrite(self._descriptor, COUNTS.pack(*self._counts), 0)

    def is_deleted(self) -> bool:
        """Return whether the file was deleted with its directory, so that nobody reads its counts."""
        try:
            self.path.lstat()
        except OSError:
            return True
        return False

    def __repr__(self) -> str:
        return f"<counters of process {self.process} at {self.path}>"


def sum_counters(directory: Path, totals: Totals) -> CacheStats:
    """Return the figures of all processes that ever counted in the directory."""
    sums = [0] * 5
    for path in _paths(directory):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                sums = [total + count for total, count in zip(sums, _counts(descriptor), strict=True)]
            finally:
                os.close(descriptor)
    hits, misses, bytes_hit, bytes_missed, errors = sums
    return CacheStats(
        hits=hits,
        misses=misses,
        bytes_hit=bytes_hit,
        bytes_missed=bytes_missed,
        evicted_blocks=totals.evicted,
        bytes=totals.bytes,
        blocks=totals.blocks,
        errors=errors,
    )


METRICS = (
    ("hits_total", "counter", "Reads answered from the cache.", "hits"),
    ("misses_total", "counter", "Reads that were fetched.", "misses"),
    ("hit_bytes_total", "counter", "Bytes answered from the cache.", "bytes_hit"),
    ("miss_bytes_total", "counter", "Bytes that were fetched.", "bytes_missed"),
    ("evicted_blocks_total", "counter", "Blocks removed to make room.", "evicted_blocks"),
    ("errors_total", "counter", "Damaged blocks found, and blocks that could not be stored.", "errors"),
    ("size_bytes", "gauge", "Room taken on the disk.", "bytes"),
    ("blocks", "gauge", "Blocks in the cache.", "blocks"),
)
"""Name after `thresher_cache_`, type, help, field (Prometheus: base units, `_total` for counters)."""


def _claim_file(directory: Path) -> tuple[Path, int]:
    """Return a file of counters that no living process has, and its locked descriptor: a dead process's, or a
    new one.
    """
    directory.mkdir(parents=True, exist_ok=True)
    # Another process can take a new file before its maker has locked it; then the maker tries the next one.
    new = (directory / os.urandom(8).hex() for _ in range(NEW_FILES))
    for path in (*_paths(directory), *new):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        if try_lock(descriptor):
            return path, descriptor
        os.close(descriptor)
    raise BlockingIOError(f"the counters in {directory} are all taken")


def _paths(directory: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(directory.iterdir())
    return []


def _counts(descriptor: int) -> tuple[int, int, int, int, int]:
    stored = os.pread(descriptor, COUNTS.size, 0)
    a, b, c, d, e = COUNTS.unpack(stored) if len(stored) == COUNTS.size else (0, 0, 0, 0, 0)
    return a, b, c, d, e
