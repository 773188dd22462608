"""`CacheSpace`: the directories of a cache, how many bytes lie in them, and which blocks are evicted.

1. Every file under `blocks` and `fetching` counts, with its length rounded up to whole pages of the disk. Room is
   reserved in the ledger of all processes before a byte is written, so the counted bytes never exceed the bound. These
   are not counted: directories, locks and counters (some KiB a directory; about 50 bytes a block), and a block that was
   evicted while a process reads it, whose room the system frees after the read.
2. The maker of a file in `fetching` holds a lock on it. A file without a lock belongs to a dead maker, and is removed
   first.
3. Eviction takes the least recently read blocks, approximately: a hand moves over the directories, samples some, and
   removes the oldest sixteenth of the sample. Blocks are spread evenly by their hash, so the oldest of a sample are
   about the oldest of all. Memory holds nothing between two evictions.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from thresher.storage.cache.ledger import Ledger, LedgerUpdate, Totals
from thresher.storage.file_lock import is_file_at, locked, try_lock

PAGE = 4096
"""Bytes: the unit in which ext4, XFS and tmpfs allocate room to files."""
SHARDS = 256
SAMPLE = 64
"""Fewest blocks in a sample, if there are as many. With 10, Redis comes near an exact LRU, for single keys."""
EVICT_ONE_IN = 16
"""One in this many blocks of a sample is evicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedFile:
    """A file that the hand found."""

    read_at_ns: int
    path: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingBlock:
    """A file in which a block is made, locked by its maker."""

    path: Path
    descriptor: int


def disk_bytes(length: int) -> int:
    """Return the bytes on disk of a file of `length` bytes."""
    return -(-length // PAGE) * PAGE


def eviction_candidates(sample: Sequence[CachedFile], now_ns: int) -> list[CachedFile]:
    """Return which files of a sample are evicted: a sixteenth, at least one, the least recently read first. Files that
    claim to have been read in the future come before them, because their times are of a clock that was set back.
    """
    by_age = sorted(
        sample, key=lambda found: (found.read_at_ns if found.read_at_ns <= now_ns else 0, found.path)
    )
    return by_age[: max(1, len(sample) // EVICT_ONE_IN)]


class CacheSpace:
    """The room under one directory for at most `bound` bytes. All methods may raise `OSError`."""

    __slots__ = ("_ledger", "blocks", "bound", "fetching")

    def __init__(self, directory: Path, bound: int) -> None:
        self.bound = bound
        self.blocks = directory / "blocks"
        self.fetching = directory / "fetching"
        self._ledger = Ledger(directory / "ledger", self._counted)

    def make_directories(self) -> None:
        """Make the directories that are missing."""
        for directory in (self.blocks, self.fetching):
            directory.mkdir(parents=True, exist_ok=True)

    def totals(self) -> Totals:
        """Return what lies there, without waiting for any process."""
        return self._ledger.read_unlocked()

    def clean_up(self) -> None:
        """Remove what dead makers left, and evict blocks above the bound (the bound was lowered, or the machine lost
        power).
        """
        with self._ledger.update() as change:
            self._sweep(change)
            above = change.totals.bytes > self.bound
        while above:
            with self._ledger.update() as change:
                above = self._evict(change) and change.totals.bytes > self.bound

    def path(self, name: str) -> str:
        """Return where the block of that name lies."""
        return f"{self.blocks}/{name[:2]}/{name}"

    @contextmanager
    def lock_pending(self, name: str, seconds: float) -> Iterator[PendingBlock]:
        """Yield the file to make a block in, to one thread of one process at a time. It is removed at the end of the
        context if it was not published. Raise `TimeoutError` if another thread holds it for more than `seconds`.
        """
        path = self.fetching / name
        with ExitStack() as stack:
            try:
                descriptor = stack.enter_context(locked(path, seconds))
            except FileNotFoundError:
                self.make_directories()
                descriptor = stack.enter_context(locked(path, seconds))
            pending = PendingBlock(path=path, descriptor=descriptor)
            try:
                yield pending
            finally:
                with suppress(OSError):  # the next sweep discards it
                    self._discard(pending)

    def reserve(self, pending: PendingBlock, length: int) -> bool:
        """Give the file its length and the room for it. Evict blocks until it fits. Return False if the bound is
        smaller than the file, or files that others are making fill it.
        """
        while disk_bytes(length) <= self.bound:
            with self._ledger.update() as change:
                # The file may have a length that a dead maker gave it.
                more = disk_bytes(length) - disk_bytes(os.fstat(pending.descriptor).st_size)
                if change.totals.bytes + more <= self.bound:
                    os.ftruncate(pending.descriptor, length)
                    change.totals = replace(change.totals, bytes=change.totals.bytes + more)
                    return True
                if not self._evict(change):
                    before = change.totals.bytes
                    change.totals = self._ledger.recount(change.totals)
                    if change.totals.bytes >= before:
                        return False
        return False

    def publish(self, pending: PendingBlock, name: str) -> None:
        """Move the finished file under the name of its block, in place of what was there."""
        path = Path(self.path(name))
        with self._ledger.update() as change:
            there = os.path.lexists(path)
            try:
                pending.path.rename(path)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                pending.path.rename(path)
            if there:
                # It was damaged or not ours, so nobody knows what was counted for it.
                change.totals = self._ledger.recount(change.totals)
            else:
                change.totals = replace(change.totals, blocks=change.totals.blocks + 1)

    def _discard(self, pending: PendingBlock) -> None:
        if is_file_at(pending.descriptor, pending.path):
            length = os.fstat(pending.descriptor).st_size
            if length == 0:
                pending.path.unlink()
            else:
                with self._ledger.update() as change:
                    _remove(change, CachedFile(read_at_ns=0, path=str(pending.path), size=length))

    def _sweep(self, change: LedgerUpdate) -> bool:
        """Remove what dead makers left, and return whether there was anything."""
        swept = False
        for seen in list(_files(str(self.fetching))):
            with suppress(FileNotFoundError):
                descriptor = os.open(seen.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    # Nobody renames it meanwhile: that needs the ledger, whose lock we hold.
                    if try_lock(descriptor) and is_file_at(descriptor, Path(seen.path)):
                        _remove(change, replace(seen, size=os.fstat(descriptor).st_size))
                        swept = True
                finally:
                    os.close(descriptor)
        return swept

    def _evict(self, change: LedgerUpdate) -> bool:
        """Remove some files, and return whether there was one to remove."""
        if self._sweep(change):
            return True
        sample, hand = self._sample(change.totals.hand)
        if not sample:
            return False
        going = eviction_candidates(sample, time.time_ns())
        for seen in going:
            _remove(change, seen)
        change.totals = replace(
            change.totals,
            hand=hand,
            blocks=change.totals.blocks - len(going),
            evicted=change.totals.evicted + len(going),
        )
        return True

    def _sample(self, hand: int) -> tuple[list[CachedFile], int]:
        """Return blocks of the next directories, and the directory at which the next sample starts."""
        sample: list[CachedFile] = []
        for step in range(SHARDS):
            sample.extend(_files(f"{self.blocks}/{(hand + step) % SHARDS:02x}"))
            if len(sample) >= SAMPLE:
                return sample, (hand + step + 1) % SHARDS
        return sample, hand

    def _counted(self) -> tuple[int, int]:
        size = blocks = 0
        for shard in range(SHARDS):
            for seen in _files(f"{self.blocks}/{shard:02x}"):
                size += disk_bytes(seen.size)
                blocks += 1
        return size + sum(disk_bytes(seen.size) for seen in _files(str(self.fetching))), blocks


def _files(directory: str) -> Iterator[CachedFile]:
    try:
        scan = os.scandir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    with scan:
        for entry in scan:
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield CachedFile(read_at_ns=status.st_mtime_ns, path=entry.path, size=status.st_size)


def _remove(change: LedgerUpdate, seen: CachedFile) -> None:
    Path(seen.path).unlink(missing_ok=True)  # another process may have deleted it, but it was counted
    change.totals = replace(change.totals, bytes=change.totals.bytes - disk_bytes(seen.size))
