"""`OpenArchiveFile`: the archive file that is being written, and what its seal will say."""

import hashlib
from collections import Counter

from thresher.storage.archive.open_files import OpenFile
from thresher.storage.warc.index_lines import IndexLines

BUFFER = 1 << 20
"""Bytes that are buffered before the system gets them; `commit` hands over all."""


class OpenArchiveFile:
    """The file that is being written, and what its seal will say. Bytes leave the buffer only after they are
    written.
    """

    __slots__ = (
        "_buffer",
        "_written",
        "counts",
        "file_name",
        "lines",
        "name",
        "sha256",
        "since_ms",
        "size",
        "unfinished",
    )

    def __init__(self, *, file_name: str, name: str, unfinished: OpenFile, since_ms: int) -> None:
        self.file_name, self.name, self.unfinished, self.since_ms = file_name, name, unfinished, since_ms
        self.size = self._written = 0
        self.sha256 = hashlib.sha256()
        self.counts: Counter[str] = Counter()
        self.lines = IndexLines()
        self._buffer = bytearray()

    def add(self, record_type: str, data: bytes) -> None:
        """Append a record."""
        self._buffer += data
        self.size += len(data)
        self.counts[record_type] += 1

    @property
    def is_full(self) -> bool:
        """Whether the buffer must be written before more is added."""
        return len(self._buffer) >= BUFFER

    def flush(self) -> None:
        """Write the whole buffer. If it raises, it may be called again."""
        data = bytes(self._buffer)
        self.unfinished.write(data, self._written)
        self.sha256.update(data)
        self._written += len(data)
        self._buffer.clear()
