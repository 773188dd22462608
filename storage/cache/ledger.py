"""`Ledger`: the totals of a cache in one small file, correct whenever no process is changing them.

1. Totals and files change together, under the ledger's lock. The ledger is marked as open before the first file is
   touched, and closed with the new totals after the last.
2. A ledger is made again by counting the files if it is found open (its holder was killed, or failed), was written
   under another boot of the machine (a power cut may have lost files or ledger), is damaged, or is missing.
"""

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import xxhash

from thresher.storage.file_lock import locked

BOOT = Path("/proc/sys/kernel/random/boot_id")  # Linux; where it is missing, all boots are one
TOTALS_FORMAT = struct.Struct("<8s16sQQQQQ")
MAGIC = b"thrldg\x00\x01"
CHECKSUM_FORMAT = struct.Struct("<Q")
WAIT_SECONDS = 10.0
"""Holders need microseconds, and about two seconds to count a million files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What lies in the cache, and how many blocks were evicted from it since it was made."""

    bytes: int = 0
    blocks: int = 0
    evicted: int = 0
    hand: int = 0
    """Number of the directory at which eviction continues (`storage.cache.cache_space`)."""


class LedgerUpdate:
    """The ledger while its lock is held: assign the new `totals` before the end of the context."""

    __slots__ = ("totals",)

    def __init__(self, totals: Totals) -> None:
        self.totals = totals


class Ledger:
    """The file at `path`. `count` counts the files of the cache and returns their bytes and the number of blocks."""

    __slots__ = ("_boot", "_count", "path")

    def __init__(self, path: Path, count: Callable[[], tuple[int, int]]) -> None:
        self.path = path
        self._count = count
        self._boot = b""

    @contextmanager
    def update(self) -> Iterator[LedgerUpdate]:
        """Yield exclusive access to the files and their totals. If the context raises, the files are counted next time.

        Raise `OSError` if the ledger cannot be written, or another process holds it for `WAIT_SECONDS`.
        """
        with locked(self.path, WAIT_SECONDS) as descriptor:
            totals = self._read(descriptor, closed=True)
            if totals is None:
                totals = self.recount(self._read(descriptor, closed=False) or Totals())
            self._write(descriptor, totals, is_open=True)
            change = LedgerUpdate(totals)
            yield change
            self._write(descriptor, change.totals, is_open=False)

    def recount(self, totals: Totals) -> Totals:
        """Return the totals with the counts of the files as they are now. The caller holds the lock."""
        size, blocks = self._count()
        return replace(totals, bytes=size, blocks=blocks)

    def read_unlocked(self) -> Totals:
        """Return the totals without waiting for any process. While they are being changed they may be some moments old
        or some bytes off. Return zeros if there is no readable ledger.
        """
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return self._read(descriptor, closed=False) or Totals()
            finally:
                os.close(descriptor)
        return Totals()

    def _read(self, descriptor: int, *, closed: bool) -> Totals | None:
        stored = os.pread(descriptor, TOTALS_FORMAT.size + CHECKSUM_FORMAT.size, 0)
        body, checksum = stored[: TOTALS_FORMAT.size], stored[TOTALS_FORMAT.size :]
        if (
            len(checksum) != CHECKSUM_FORMAT.size
            or xxhash.xxh3_64_intdigest(body) != CHECKSUM_FORMAT.unpack(checksum)[0]
        ):
            return None
        magic, boot, is_open, size, blocks, evicted, hand = TOTALS_FORMAT.unpack(body)
        if magic != MAGIC or (closed and (is_open or boot != self._this_boot())):
            return None
        return Totals(bytes=size, blocks=blocks, evicted=evicted, hand=hand)

    def _write(self, descriptor: int, totals: Totals, *, is_open: bool) -> None:
        body = TOTALS_FORMAT.pack(
            MAGIC,
            self._this_boot(),
            is_open,
            max(0, totals.bytes),
            max(0, totals.blocks),
            totals.evicted,
            totals.hand,
        )
        os.pwrite(descriptor, body + CHECKSUM_FORMAT.pack(xxhash.xxh3_64_intdigest(body)), 0)

    def _this_boot(self) -> bytes:
        if not self._boot:
            try:
                self._boot = xxhash.xxh3_128_digest(BOOT.read_bytes())
            except OSError:
                self._boot = bytes(16)
        return self._boot
