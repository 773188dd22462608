"""Files that stay mapped, within what the system allows: those that were used longest ago are let go first."""

import resource
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

USUAL_MAPPINGS = 65_530
"""vm.max_map_count of Linux, if it cannot be read."""
MAX_FILES = 8192
"""Files of one kind that a loader keeps mapped, whatever the system allows."""
SHARE = 8
"""Shards, the shards that a step holds, and plans each take at most one such part of what a process may map."""


class Mapped(Protocol):
    """A mapped file."""

    @property
    def bytes(self) -> int:
        """Bytes of the file."""
        ...


File = TypeVar("File", bound=Mapped)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLimits:
    """How much may be mapped of one kind."""

    files: int
    bytes: int | None
    """None if the address space has no limit."""

    @staticmethod
    def of_process() -> "MapLimits":
        """Return an eighth of the mappings and of the address space that the process may have."""
        mappings = USUAL_MAPPINGS
        with suppress(OSError, ValueError):
            mappings = int(Path("/proc/sys/vm/max_map_count").read_text())
        space, _ = resource.getrlimit(resource.RLIMIT_AS)
        return MapLimits(
            files=max(1, min(MAX_FILES, mappings // SHARE)),
            bytes=None if space == resource.RLIM_INFINITY else space // SHARE,
        )


class MappedFiles(Generic[File]):
    """Mapped files by the number of their shard. The one that was put last stays, whatever its size."""

    def __init__(self, limits: MapLimits) -> None:
        self._limits = limits
        self._files: OrderedDict[int, File] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, number: int) -> File | None:
        """Return a file, which counts as used now."""
        with self._lock:
            file = self._files.get(number)
            if file is not None:
                self._files.move_to_end(number)
            return file

    def put(self, number: int, file: File) -> None:
        """Keep a file, and let go of others if there are too many."""
        with self._lock:
            self._drop(number)
            self._files[number] = file
            self._bytes += file.bytes
            while len(self._files) > 1 and not self._fits():
                self._drop(next(iter(self._files)))

    def drop(self, number: int) -> None:
        """Let go of a file, if it is there."""
        with self._lock:
            self._drop(number)

    def clear(self) -> None:
        """Let go of all files."""
        with self._lock:
            self._files.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._files)

    def _drop(self, number: int) -> None:
        file = self._files.pop(number, None)
        if file is not None:
            self._bytes -= file.bytes

    def _fits(self) -> bool:
        limits = self._limits
        return len(self._files) <= limits.files and (limits.bytes is None or self._bytes <= limits.bytes)
