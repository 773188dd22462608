"""`IndexLines`: the lines of an index while its archive file grows, packed in memory and read back in order.

An archive file has 100,000 pages and more, each with half a kilobyte of index. So each chunk of lines is sorted and
deflated, to about an eighth, and reading merges the chunks. Memory holds the packed lines, and while reading a buffer
for each chunk.
"""

import gzip
from collections.abc import Iterable, Iterator
from heapq import merge
from io import BytesIO

CHUNK = 2_048
"""Lines that are packed together."""
_LEVEL = 1


class IndexLines:
    """ASCII lines without line breaks. Iterating yields them in the order of their bytes, as often as needed."""

    __slots__ = ("_chunks", "_loose", "_packed")

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._chunks: list[bytes] = []
        self._loose: list[str] = []
        self._packed = 0
        for line in lines:
            self.append(line)

    def append(self, line: str) -> None:
        """Add a line."""
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
