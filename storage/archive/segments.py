"""The open files of a store that cannot append. Each `sync` puts the bytes written since the last `sync` as one object:
a segment.

A segment is named `open/<folder>/<file name>/<offset>`. Joined in this order, the segments are the file, so any machine
can recover it after the writer's machine is lost. The writer keeps a local copy, which is published in one piece at the
end.

1. A segment is put whole before the next one starts, and holds whole records or lines. So a reader can start at any
   segment.
2. This module does not know whether a writer lives. A writer that was declared dead while it lived finds its file
   published by another process, and stops (`Conflict`): `Workers.take_over` has taken its name away before.
3. Recovery removes the segments that it has read, and no others. What a writer puts behind them stays, and is recovered
   as a file of its own (`storage.archive.recovery`).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from thresher.core import Conflict, CorruptData
from thresher.storage.directory_store import disk_errors_as_unavailable
from thresher.storage.store import Store

OPEN = "open"
DIGITS = 15
"""Digits of an offset in a name, so that byte order is the order of the file."""


class SegmentedOpenFile:
    """A file that is being written."""

    __slots__ = ("_prefix", "_put_bytes", "_staging", "_store", "_unconfirmed", "_unsynced", "path")

    def __init__(self, store: Store, folder: str, name: str) -> None:
        self._store, self._prefix = store, f"{OPEN}/{folder}/{name}"
        self._staging = ExitStack()
        self.path: Path = self._staging.enter_context(store.stage(f"{folder}/{name}")).path
        self._put_bytes = 0
        self._unsynced = bytearray()
        self._unconfirmed = b""

    def write(self, data: bytes, at: int) -> None:
        """Add the bytes to the next segment, and write them to the local copy."""
        with disk_errors_as_unavailable(self.path.parent), self.path.open("r+b") as copy:
            copy.seek(at)
            copy.write(data)
        self._unsynced += data

    def sync(self) -> None:
        """Put everything written since the last `sync` as a segment."""
        # A segment whose put failed may have arrived: put it again unchanged, and later bytes as a segment after it.
        while self._unconfirmed or self._unsynced:
            if not self._unconfirmed:
                self._unconfirmed, self._unsynced = bytes(self._unsynced), bytearray()
            name = f"{self._prefix}/{self._put_bytes:0{DIGITS}d}"
            if not self._store.put(name, self._unconfirmed) and self._store.read(name) != self._unconfirmed:
                raise Conflict(f"{name} was put by another writer; two workers must never share a name")
            self._put_bytes += len(self._unconfirmed)
            self._unconfirmed = b""

    def close(self) -> None:
        """Remove the local copy; the segments stay."""
        self._staging.close()

    def remove(self) -> None:
        """Remove the segments and the local copy."""
        _remove(self._store, list(self._store.list(f"{self._prefix}/")))
        self._staging.close()

    def __repr__(self) -> str:
        return f"<segments {self._prefix}: {self._put_bytes} bytes put>"


class AbandonedSegments:
    """Segments of a writer that was declared dead, joined in a local file."""

    __slots__ = ("_names", "_starts", "_store", "path")

    def __init__(self, store: Store, names: Sequence[str], starts: Sequence[int], path: Path) -> None:
        """`starts` are the offsets in the local file at which the segments start."""
        self._store, self._names, self._starts, self.path = store, names, starts, path

    def original_offset(self, local_offset: int) -> int:
        """Return the offset in the open file of a byte of the local file."""
        segment = bisect_right(self._starts, local_offset) - 1
        return _offset(self._names[segment]) + local_offset - self._starts[segment]

    def remove(self) -> None:
        """Remove the segments that are in the local file."""
        _remove(self._store, self._names)


def folders(store: Store, above: str) -> list[str]:
    """Return the names of the folders below `above` that have open files."""
    return sorted({name.split("/")[2] for name in store.list(f"{OPEN}/{above}/")})


def open_files(store: Store, folder: str) -> list[str]:
    """Return the names of all open files of a folder."""
    return sorted({name.rsplit("/", 2)[1] for name in store.list(f"{OPEN}/{folder}/")})


@contextmanager
def snapshot(store: Store, folder: str, name: str) -> Iterator[Path | None]:
    """Yield a local file of the joined segments; None if no segment is left."""
    with claim(store, folder, name) as found:
        yield None if found is None else found.path


def read_from(store: Store, folder: str, name: str, at: int) -> bytes | None:
    """Return the bytes of the segments from the one that starts at offset `at`; None if there are none left."""
    names = list(store.list(f"{OPEN}/{folder}/{name}/"))
    if not names:
        return None
    found = bytearray()
    for segment in names:
        if _offset(segment) != at + len(found):
            continue
        try:
            found += store.read(segment)
        except CorruptData:
            if store.exists(segment):
                raise
            return None
    return bytes(found)


@contextmanager
def claim(store: Store, folder: str, name: str) -> Iterator[AbandonedSegments | None]:
    """Yield the joined segments; None if no segment is left. Their writer may be alive."""
    names = list(store.list(f"{OPEN}/{folder}/{name}/"))
    if not names:
        yield None
        return
    with store.stage(f"{folder}/{name}") as staged:
        starts = _join(store, names, staged.path)
        yield None if starts is None else AbandonedSegments(store, names, starts, staged.path)


def _join(store: Store, names: Sequence[str], path: Path) -> list[int] | None:
    """Join segments in a local file, and return the offset at which each starts; None if one of them is gone, because
    another process has published the file.
    """
    starts = []
    with path.open("wb") as whole:
        for segment in names:
            starts.append(whole.tell())
            try:
                whole.write(store.read(segment))
            except CorruptData:
                if store.exists(segment):
                    raise
                return None
    return starts


def _offset(segment: str) -> int:
    return int(segment.rpartition("/")[2])


def _remove(store: Store, names: Sequence[str]) -> None:
    # From the end: after a removal that was killed, what is left is still a beginning without a gap.
    for name in reversed(names):
        store.delete(name)
