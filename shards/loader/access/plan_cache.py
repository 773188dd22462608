"""Packing plans that the exports do not have, in a directory that all processes of a machine share.

1. A plan is written as `KEY.new` and renamed. Whoever writes it holds the lock of that file, so a plan is computed
   once. If that process dies, its lock is free and the next process starts over.
2. A plan that is damaged, or that belongs to another shard, is deleted and computed again.
3. If all plans together take more than `max_bytes`, those of other runs are deleted, those used longest ago first. A
   process that has such a plan mapped keeps its bytes.
"""

import logging
import os
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from thresher.core import CorruptData, Unavailable
from thresher.shards.formats.packing_plan import PLAN_SUFFIX, PackingPlan
from thresher.storage.file_lock import locked, try_lock

_log = logging.getLogger(__name__)
PLANNING_SECONDS = 3600
"""How long to wait for another process that computes or downloads a plan."""
NEW_SUFFIX = ".new"


class PlanCache:
    """The plans in one directory."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._directory = directory
        self._max_bytes = max_bytes

    def open(
        self, key: str, make: Callable[[BinaryIO], None], read: Callable[[Path], PackingPlan]
    ) -> PackingPlan:
        """Return what `read` returns for the plan. `make` writes it if it is missing, or if `read` raises `CorruptData`
        for what is there.

        Raise `Unavailable` if the directory cannot be written, and `CorruptData` if a plan that was just made is wrong.
        """
        path = self._path(key)
        if path.exists():
            with suppress(OSError):  # it belongs to another user, or is being deleted
                os.utime(path)
            try:
                return read(path)
            except CorruptData as error:
                self.discard(key, error)
        self._write(path, make)
        return read(path)

    def has(self, key: str) -> bool:
        """Return whether a plan is there."""
        return self._path(key).exists()

    def discard(self, key: str, error: CorruptData) -> None:
        """Delete a damaged plan. Raise `Unavailable` if that is not possible."""
        path = self._path(key)
        _log.warning("%s is deleted and made again: it is damaged, or of another shard (%s)", path, error)
        with self._disk_errors(path):
            path.unlink(missing_ok=True)

    def evict(self, used: Container[str]) -> None:
        """Delete plans until the rest fits, those used longest ago first; never those with a key in `used`."""
        files = []
        for path in self._directory.glob(f"*{PLAN_SUFFIX}"):
            with suppress(FileNotFoundError):
                status = path.stat()
                files.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self._max_bytes:
                break
            if path.stem not in used:
                path.unlink(missing_ok=True)
                total -= size
        for path in self._directory.glob(f"*{NEW_SUFFIX}"):
            _delete_abandoned(path)

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}{PLAN_SUFFIX}"

    def _write(self, path: Path, make: Callable[[BinaryIO], None]) -> None:
        new = path.with_suffix(NEW_SUFFIX)
        with self._disk_errors(path):
            self._directory.mkdir(parents=True, exist_ok=True)
            with locked(new, PLANNING_SECONDS) as descriptor:
                if path.exists():
                    new.unlink()
                    return
                os.ftruncate(descriptor, 0)
                with os.fdopen(os.dup(descriptor), "r+b") as file:
                    make(file)
                new.rename(path)

    @contextmanager
    def _disk_errors(self, path: Path) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise Unavailable(
                f"{path}: another process has not written it within {PLANNING_SECONDS} s; end that process"
            ) from None
        except OSError as error:
            raise Unavailable(
                f"{self._directory}: {error.strerror or error}; give a directory for packing plans (cache=)"
            ) from None


def _delete_abandoned(path: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if try_lock(descriptor):
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)
