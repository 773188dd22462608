"""`Part`: some bytes of a file as a file of their own, without a copy of them."""

import io
from typing import Any, BinaryIO

from storage.seekable import SeekableFile


class FileSlice(SeekableFile):
    """The `length` bytes of a seekable file from `offset` on, or as many as there are. Who else reads the file may seek in it meanwhile."""

    def __init__(self, file: BinaryIO, offset: int, length: int) -> None:
        super().__init__(min(length, max(0, file.seek(0, io.SEEK_END) - offset)))
        self._file, self._offset = file, offset

    def readinto(self, buffer: Any) -> int:
        """Fill some of `buffer`; 0 at the end of the part."""
        self._file.seek(self._offset + self._position)
        data = self._file.read(max(0, min(len(buffer), self._length - self._position)))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
