"""A cache of whole shards in a directory, shared by the processes of one machine.

1. `KEY.tokens` is a whole shard. It is downloaded as `KEY.part`, checked against its SHA-256, and renamed.
2. Whoever downloads a shard holds the lock of `KEY.part`, so a shard is downloaded once. If that process dies, its lock
   is free and the next process starts over.
3. Whoever reads a shard holds a lock on its key (`use_locks`). A shard in use by any process is not evicted, and a
   process that dies uses nothing.
4. The files together stay below `max_bytes`. The shard that was opened longest ago is evicted first.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from thresher.core import CorruptData, Unavailable
from thresher.core.settings import format_size
from thresher.shards.loader.access.use_locks import UseLocks
from thresher.shards.loader.loader_metrics import LoaderMetrics
from thresher.storage.file_lock import locked, try_lock

SUFFIX = ".tokens"
COPY_BYTES = 8 << 20
DOWNLOAD_SECONDS = 3600
"""How long to wait for another process that downloads a shard: 1 GB at 300 kB/s."""
EVICTION_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedFile:
    """A shard in the cache, in use until it is released."""

    path: Path
    key: str
    locks: UseLocks

    def release(self) -> None:
        """Allow its eviction."""
        self.locks.release(self.key)

    def delete(self) -> None:
        """Remove it from the cache, because it is damaged. Raise `Unavailable` if that is not possible.

        Processes that have it mapped keep their bytes.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise Unavailable(f"{self.path} is damaged and cannot be deleted: {error.strerror}") from None
        finally:
            self.release()


class ShardCache:
    """The shards in one directory."""

    def __init__(self, directory: Path, max_bytes: int, metrics: LoaderMetrics) -> None:
        """Use a directory, which is created if missing. Raise `Unavailable` if it cannot be written to."""
        self._directory = directory
        self._max_bytes = max_bytes
        self._metrics = metrics
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._locks = UseLocks(directory / "use.lock")
        except OSError as error:
            raise Unavailable(
                f"cache {directory}: {error.strerror}; give another directory (cache=)"
            ) from None

    def take(self, key: str) -> CachedFile | None:
        """Return a shard that is in the cache, in use by this process; None if it is not there."""
        path = self._directory / f"{key}{SUFFIX}"
        self._locks.hold(key)
        if path.exists():
            with suppress(OSError):  # it belongs to another user
                os.utime(path)
            return CachedFile(path=path, key=key, locks=self._locks)
        self._locks.release(key)
        return None

    def fetch(
        self, key: str, *, size: int, sha256: str, where: str, download: Callable[[], BufferedReader]
    ) -> CachedFile:
        """Return a shard, in use by this process. It is downloaded unless it is there.

        Raise `CorruptData` if the downloaded bytes are not those that were sealed, and `Unavailable` if the cache has
        no room or no download comes to an end.
        """
        part = self._directory / f"{key}.part"
        while True:
            held = self.take(key)
            if held:
                return held
            try:
                with locked(part, DOWNLOAD_SECONDS) as descriptor:
                    held = self.take(key)
                    if held:
                        part.unlink()
                        return held
                    self._reserve(descriptor, size)
                    with download() as source:
                        self._copy(source, descriptor, size, sha256, where)
                    part.rename(part.with_suffix(SUFFIX))
                    self._metrics.add(cache_misses=1, downloaded_bytes=size)
            except TimeoutError:
                raise Unavailable(
                    f"{where}: another process has not downloaded it within {DOWNLOAD_SECONDS} s; end that process"
                ) from None
            except OSError as error:
                raise Unavailable(f"cache {self._directory}: {error.strerror or error}") from None

    def _copy(self, source: BufferedReader, descriptor: int, size: int, sha256: str, where: str) -> None:
        digest = hashlib.sha256()
        written = 0
        while chunk := source.read(COPY_BYTES):
            digest.update(chunk)
            while chunk:
                count = os.pwrite(descriptor, chunk, written)
                written += count
                chunk = chunk[count:]
        if (written, digest.hexdigest()) != (size, sha256):
            raise CorruptData(
                f"{where}: {written} bytes were read, and they are not those that were sealed; "
                "run `thresher verify` on the export"
            )

    def _reserve(self, descriptor: int, size: int) -> None:
        """Make room for a file, and take it."""
        with locked(self._directory / "eviction.lock", EVICTION_SECONDS):
            os.ftruncate(descriptor, 0)
            files = sorted(self._files())
            used = sum(each for _, each, _ in files)
            for _, each, path in files:
                if used + size <= self._max_bytes:
                    break
                if self._evict(path):
                    used -= each
            if used + size > self._max_bytes:
                raise Unavailable(
                    f"cache {self._directory}: {format_size(used)} of shards are in use, and {format_size(size)} more "
                    f"do not fit into {format_size(self._max_bytes)}; raise cache_size"
                )
            os.posix_fallocate(descriptor, 0, size)

    def _evict(self, path: Path) -> bool:
        if path.suffix == SUFFIX:
            with self._locks.unused(path.stem) as is_unused:
                if is_unused:
                    path.unlink(missing_ok=True)
                    self._metrics.add(cache_evictions=1)
                return is_unused
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if try_lock(descriptor):
                    path.unlink(missing_ok=True)
                    return True
            finally:
                os.close(descriptor)
        return False

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        """Age, size and path of everything in the cache, what was used longest ago first when sorted."""
        for path in [*self._directory.glob(f"*{SUFFIX}"), *self._directory.glob("*.part")]:
            with suppress(FileNotFoundError):
                status = path.stat()
                yield status.st_mtime_ns, status.st_size, path
