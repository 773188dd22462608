"""`FileSlice`: a range of a file's bytes as a file of its own, without a copy."""

import io
from typing import Any, BinaryIO

from thresher.storage.seekable import SeekableFile


class FileSlice(SeekableFile):
    """The `length` bytes of a seekable file from `offset` on; fewer if the file ends before.

    Other readers of the same file may seek in it between two reads of the slice.
    """

    def __init__(self, file: BinaryIO, offset: int, length: int) -> None:
        super().__init__(min(length, max(0, file.seek(0, io.SEEK_END) - offset)))
        self._file, self._offset = file, offset

    def readinto(self, buffer: Any) -> int:
        """Fill a part of `buffer` and return its length; return 0 at the end of the slice."""
        self._file.seek(self._offset + self._position)
        data = self._file.read(max(0, min(len(buffer), self._length - self._position)))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
