"""`Lines`: the lines of an index while its archive file grows: packed as they come, in order when they are gone through.

An archive file has 100,000 pages and more, and half a kilobyte of index for each. So lines are sorted and deflated a
chunk at a time, to an eighth or so, and merged as they are read: memory is what they take packed, and a buffer a chunk.
"""

import gzip
from collections.abc import Iterable, Iterator
from heapq import merge
from io import BytesIO

CHUNK = 2_048
"""Lines that are packed together."""
_LEVEL = 1


class IndexLines:
    """ASCII lines, none of which has a line break. Gone through, as often as one likes, in the order of their bytes."""

    __slots__ = ("_chunks", "_loose", "_packed")

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._chunks: list[bytes] = []
        self._loose: list[str] = []
        self._packed = 0
        for line in lines:
            self.append(line)

    def append(self, line: str) -> None:
        """Put one more among them."""
        self._loose.append(line)
        if len(self._loose) == CHUNK:
            text = "".join(f"{one}\n" for one in sorted(self._loose))
            self._chunks.append(gzip.compress(text.encode("ascii"), _LEVEL))
            self._packed += CHUNK
            self._loose.clear()

    def __len__(self) -> int:
        return self._packed + len(self._loose)

    def __iter__(self) -> Iterator[str]:
        return merge(*map(_unpacked, self._chunks), sorted(self._loose))

    def __repr__(self) -> str:
        return f"<{len(self)} lines>"


def _unpacked(chunk: bytes) -> Iterator[str]:
    with gzip.open(BytesIO(chunk), "rt", encoding="ascii", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n")
