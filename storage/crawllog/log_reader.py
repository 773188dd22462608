"""Reads the log of a crawl in the order of time, and follows it while it grows.

Each file is in the order of its writer. `read_in_order` merges the files. It opens only as many files at a time as
writers worked at a time.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

from thresher.storage.archive.open_files import open_files, read_from, snapshot
from thresher.storage.crawllog.log_line import (
    FOLDER,
    SEALED_SUFFIX,
    SUFFIX,
    LogLine,
    decode,
    files,
    read,
    whole_lines,
)
from thresher.storage.store import Store


def has_log(store: Store, crawl: str) -> bool:
    """Return whether a crawl has a log."""
    return any(True for _ in files(store, crawl)) or bool(_open_names(store, crawl))


def read_in_order(store: Store, crawl: str) -> Iterator[LogLine]:
    """Yield every line of a crawl's log in the order of time, those of open files included.

    Raise `CorruptData` if a file is damaged.
    """
    # Listed in this order: a file that is sealed meanwhile is in both lists, and is read once.
    names = {_stem(name): name for name in (*_open_names(store, crawl), *files(store, crawl))}.values()
    firsts = sorted(
        (line.time_ms, name) for name in names if (line := next(_lines_of(store, crawl, name), None))
    )
    serial = count()  # no two lines are compared
    heap: list[tuple[int, int, LogLine, Iterator[LogLine]]] = []

    def push(lines: Iterator[LogLine]) -> None:
        if (line := next(lines, None)) is not None:
            heapq.heappush(heap, (line.time_ms, next(serial), line, lines))

    unopened = iter(firsts)
    following = next(unopened, None)
    while heap or following:
        while following and (not heap or following[0] <= heap[0][0]):
            push(_lines_of(store, crawl, following[1]))
            following = next(unopened, None)
        if heap:
            _, _, line, lines = heapq.heappop(heap)
            yield line
            push(lines)


@dataclass(slots=True)
class _FilePosition:
    """How far an open file was read."""

    offset: int = 0
    lines: int = 0
    rest: bytes = b""
    """The start of a line whose end was not written yet."""


class LogFollower:
    """The lines that are added to a log from now on. Earlier lines are skipped."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl
        self._open: dict[str, _FilePosition] = {}
        self._sealed = set(files(store, crawl))
        self._before = [line for name in _open_names(store, crawl) for line in self._new_lines(name)]

    def last_lines(self, n: int) -> list[LogLine]:
        """Return the newest `n` lines of the files that were open at the start."""
        newest = sorted(self._before, key=lambda line: line.time_ms)
        self._before = []
        return newest[max(len(newest) - n, 0) :]

    def poll(self) -> list[LogLine]:
        """Return the lines that are new since the last call, in the order of time."""
        found = [line for name in _open_names(self._store, self._crawl) for line in self._new_lines(name)]
        for name in files(self._store, self._crawl):
            if name not in self._sealed:
                self._sealed.add(name)
                seen = self._open.pop(_stem(name), _FilePosition()).lines
                found += islice(read(self._store, name), seen, None)
        return sorted(found, key=lambda line: line.time_ms)

    def _new_lines(self, name: str) -> Iterator[LogLine]:
        stem = _stem(name)
        if f"{FOLDER}/{self._crawl}/{stem}{SEALED_SUFFIX}" in self._sealed:
            return
        position = self._open.setdefault(stem, _FilePosition())
        data = read_from(self._store, f"{FOLDER}/{self._crawl}", name, position.offset)
        if data is None:  # it was sealed just now
            return
        position.offset += len(data)
        *whole, position.rest = (position.rest + data).split(b"\n")
        for text in whole:
            try:
                line = decode(text)
            except (ValueError, KeyError, TypeError):  # the rest of a line that a crash cut off
                continue
            position.lines += 1
            yield line

    def __repr__(self) -> str:
        return f"<follows the log of {self._crawl}: {len(self._open)} open files>"


def _open_names(store: Store, crawl: str) -> list[str]:
    return [name for name in open_files(store, f"{FOLDER}/{crawl}") if name.endswith(SUFFIX)]


def _lines_of(store: Store, crawl: str, name: str) -> Iterator[LogLine]:
    """Yield the lines of a file that was open or sealed when it was listed."""
    if name.endswith(SEALED_SUFFIX):
        yield from read(store, name)
        return
    with snapshot(store, f"{FOLDER}/{crawl}", name) as path:
        if path is not None:
            yield from whole_lines(path)
            return
    sealed = f"{FOLDER}/{crawl}/{_stem(name)}{SEALED_SUFFIX}"
    if store.exists(sealed):
        yield from read(store, sealed)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(SEALED_SUFFIX).removesuffix(SUFFIX)
