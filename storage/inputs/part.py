"""`Part`: some bytes of a file as a file of their own, without a copy of them."""

import io
from typing import Any, BinaryIO


class Part(io.RawIOBase):
    """The `length` bytes of a seekable file from `offset` on, or as many as there are. Who else reads the file may seek in it meanwhile."""

    def __init__(self, file: BinaryIO, offset: int, length: int) -> None:
        super().__init__()
        there = max(0, file.seek(0, io.SEEK_END) - offset)
        self._file, self._offset, self._length, self._at = file, offset, min(length, there), 0

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def seekable(self) -> bool:
        """Like the file itself."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to an offset within the part, and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill some of `buffer`; 0 at the end of the part."""
        self._file.seek(self._offset + self._at)
        data = self._file.read(max(0, min(len(buffer), self._length - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
