"""`Cache`: blocks read from a bucket, kept on a disk of this machine for all of its processes.

1. `get` returns what `fetch` returned for that key, whatever happened to the directory; at worst it fetches again. It
   raises only what `fetch` raises.
2. The blocks take no more room than the bound (`storage.cache.cache_space` says what is counted), whatever the number
   of processes. The least recently read blocks go first.
3. If many miss a key at once, one fetches and the others wait for it, at most `WAIT_SECONDS`.
4. Any process may be killed at any instruction, and the directory may be deleted at any time.

A block is a file (`storage.cache.block`). It is made in `fetching`, under its final name and locked, and then renamed.
Nothing is synced to the disk: if a power cut tears a block, its checksum shows it, and the read is a miss.
"""

import logging
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from thresher.core import CorruptData, InputError
from thresher.storage.cache import block
from thresher.storage.cache.cache_counters import CacheCounters, CacheStats, sum_counters
from thresher.storage.cache.cache_space import CacheSpace, PendingBlock

WAIT_SECONDS = 10.0
"""As long as a slow server may take for a block of 8 MiB. A caller that has waited so long fetches without storing."""

_log = logging.getLogger(__name__)


class Cache:
    """The blocks under one directory. The constructor opens nothing. A cache can be pickled, used by many threads, and
    continues in a forked process. With `max_bytes` 0 it does nothing.

    A lowered `max_bytes` takes effect at the first `get` of each process. While processes have different bounds, each
    makes room for its own.
    """

    __slots__ = ("_process", "_space", "_tally", "_warned", "directory", "max_bytes")

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._space = CacheSpace(directory, max_bytes)
        self._process = 0
        self._tally: CacheCounters | None = None
        self._warned = False

    def get(self, key: str, fetch: Callable[[], bytes]) -> bytes:
        """Return the bytes of `key`, which never change: from the cache, or from `fetch`, whose bytes are then stored.

        If they cannot be stored (no room, no permission), return them all the same, and log one warning.
        """
        if not self.max_bytes:
            return fetch()
        if self._process != os.getpid():
            self._prepare()
        encoded_key = block.encoded(key)
        name = block.name(encoded_key)
        data = self._read_block(name, encoded_key)
        return self._fetch_block(name, encoded_key, fetch) if data is None else data

    def stats(self) -> CacheStats:
        """Return what all processes that ever used the directory did, and what lies in it now."""
        return sum_counters(self._counters, self._space.totals())

    @property
    def _counters(self) -> Path:
        return self.directory / "counters"

    def _prepare(self) -> None:
        """Put the directory in order and get counters, at the first `get` of a process."""
        tally = None
        try:
            self._space.make_directories()
            tally = CacheCounters(self._counters)
            self._space.clean_up()
        except OSError as error:
            self._count_error(error)
        self._tally = tally
        # Last: another thread that came meanwhile has also called `_prepare`, instead of going on without counters.
        self._process = os.getpid()

    def _read_block(self, name: str, encoded_key: bytes, *, again: bool = False) -> bytes | None:
        try:
            data = block.read_block(self._space.path(name), encoded_key)
        except FileNotFoundError:
            return None
        except (CorruptData, OSError):
            if not again:
                self._count(errors=1)
            return None
        self._count(hits=1, bytes_hit=len(data))
        return data

    def _fetch_block(self, name: str, encoded_key: bytes, fetch: Callable[[], bytes]) -> bytes:
        if (tally := self._tally) and tally.is_deleted():
            self._prepare()
        with ExitStack() as lock:
            pending = self._try_lock_pending(lock, name)
            # Another process may have fetched it while this one waited for the lock.
            data = self._read_block(name, encoded_key, again=True) if pending else None
            if data is not None:
                return data
            data = fetch()
            if pending:
                self._store_block(pending, name, encoded_key, data)
        self._count(misses=1, bytes_missed=len(data))
        return data

    def _try_lock_pending(self, lock: ExitStack, name: str) -> PendingBlock | None:
        """Return the file to make the block in; None if it cannot be made, or another process holds it for too long."""
        try:
            return lock.enter_context(self._space.lock_pending(name, WAIT_SECONDS))
        except TimeoutError:  # a slow fetch is no failure of the disk
            return None
        except OSError as error:
            self._count_error(error)
            return None

    def _store_block(self, pending: PendingBlock, name: str, encoded_key: bytes, data: bytes) -> None:
        try:
            if self._space.reserve(pending, block.size(encoded_key, data)):
                block.write(pending.descriptor, encoded_key, data)
                self._space.publish(pending, name)
        except OSError as error:
            self._count_error(error)

    def _count(self, **counts: int) -> None:
        if tally := self._tally:
            tally.add(**counts)

    def _count_error(self, error: OSError) -> None:
        self._count(errors=1)
        if not self._warned:
            self._warned = True
            _log.warning(
                "the cache at %s cannot store blocks (%s): reads go on without it; free some room there, or move it",
                self.directory,
                error.strerror or error,
            )

    def __reduce__(self) -> tuple[type["Cache"], tuple[Path, int]]:
        return Cache, (self.directory, self.max_bytes)

    def __repr__(self) -> str:
        return f"<cache at {self.directory} of {self.max_bytes} bytes>"


def default_directory() -> Path:
    """Return where a user's cache lies: `$XDG_CACHE_HOME/thresher/blocks`, by default `~/.cache/thresher/blocks` (XDG
    Base Directory Specification; a relative path in the variable is ignored).

    Raise `InputError` if the user has no home directory.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "thresher" / "blocks"
    try:
        return Path.home() / ".cache" / "thresher" / "blocks"
    except RuntimeError as error:
        raise InputError(
            'there is no home directory to cache in: set XDG_CACHE_HOME, or project.cache = "0"'
        ) from error
