"""Open files where the store cannot append: each `sync` puts what was written since the last as one object.

Segments lie under `open/<folder>/<file name>/<offset>`; put one after another they are the file, so any machine can
recover it when the writer's has burnt. The writer keeps a local copy, which is published in one piece at the end.

1. A segment is put whole before the next is begun: what is there has no gap.
2. Whether a writer lives is not known here. One that was given up while it lived finds its file published by
   another, and stops: its leases were taken from it before.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from core import Conflict, CorruptData
from storage.files import writing
from storage.store import Store

OPEN = "open"
DIGITS = 15
"""Of an offset in a name: byte order is the order of the file."""


class Segments:
    """A file being written."""

    __slots__ = ("_fresh", "_life", "_put", "_store", "_stuck", "_under", "path")

    def __init__(self, store: Store, folder: str, name: str) -> None:
        self._store, self._under = store, f"{OPEN}/{folder}/{name}"
        self._life = ExitStack()
        self.path: Path = self._life.enter_context(store.stage(f"{folder}/{name}")).path
        self._put = 0
        self._fresh = bytearray()
        self._stuck = b""

    def write(self, data: bytes, at: int) -> None:
        """Keep it for the next segment, and in the local copy."""
        with writing(self.path.parent), self.path.open("r+b") as copy:
            copy.seek(at)
            copy.write(data)
        self._fresh += data

    def sync(self) -> None:
        """Put a segment of everything written since the last."""
        # One that failed may have arrived: it is put again as it was, and what was written since goes behind it.
        while self._stuck or self._fresh:
            if not self._stuck:
                self._stuck, self._fresh = bytes(self._fresh), bytearray()
            name = f"{self._under}/{self._put:0{DIGITS}d}"
            if not self._store.put(name, self._stuck) and self._store.read(name) != self._stuck:
                raise Conflict(f"{name} was put by another writer; two workers must never have one name")
            self._put += len(self._stuck)
            self._stuck = b""

    def close(self) -> None:
        """Remove the local copy; the segments stay."""
        self._life.close()

    def end(self) -> None:
        """Remove the segments and the local copy."""
        _remove(self._store, self._under)
        self._life.close()

    def __repr__(self) -> str:
        return f"<segments {self._under}: {self._put} bytes put>"


class LeftSegments:
    """Segments that nobody adds to any more, put together in a local file."""

    __slots__ = ("_store", "_under", "path")

    def __init__(self, store: Store, under: str, path: Path) -> None:
        self._store, self._under, self.path = store, under, path

    def end(self) -> None:
        """Remove the segments."""
        _remove(self._store, self._under)


def folders(store: Store, above: str) -> list[str]:
    """Names of the folders of `above` that have open files."""
    return sorted({name.split("/")[2] for name in store.list(f"{OPEN}/{above}/")})


def left(store: Store, folder: str) -> list[str]:
    """Names of all open files of a folder."""
    return sorted({name.rsplit("/", 2)[1] for name in store.list(f"{OPEN}/{folder}/")})


@contextmanager
def look(store: Store, folder: str, name: str) -> Iterator[Path | None]:
    """The segments put together, as far as they follow one another; None where there are none any more."""
    names = list(store.list(f"{OPEN}/{folder}/{name}/"))
    if not names:
        yield None
        return
    with store.stage(f"{folder}/{name}") as staged:
        yield staged.path if _together(store, names, staged.path) else None


def read_on(store: Store, folder: str, name: str, at: int) -> bytes | None:
    """The bytes of the segments from one that begins at a place on; None where there are none any more."""
    names = list(store.list(f"{OPEN}/{folder}/{name}/"))
    if not names:
        return None
    found = bytearray()
    for segment in names:
        if int(segment.rpartition("/")[2]) != at + len(found):
            continue
        try:
            found += store.read(segment)
        except CorruptData:
            if store.exists(segment):
                raise
            return None
    return bytes(found)


@contextmanager
def take(store: Store, folder: str, name: str) -> Iterator[LeftSegments | None]:
    """The segments put together; None where there are none any more. Whether their writer lives is not known here."""
    with look(store, folder, name) as path:
        yield None if path is None else LeftSegments(store, f"{OPEN}/{folder}/{name}", path)


def _together(store: Store, names: list[str], path: Path) -> bool:
    """Put segments together; False where one of them is gone: another has published the file."""
    with path.open("wb") as whole:
        for segment in names:
            if int(segment.rpartition("/")[2]) != whole.tell():
                break
            try:
                whole.write(store.read(segment))
            except CorruptData:
                if store.exists(segment):
                    raise
                return False
    return True


def _remove(store: Store, under: str) -> None:
    # From the end: what is left of a removal that was killed is still a beginning without a gap.
    for name in reversed(list(store.list(f"{under}/"))):
        store.delete(name)
