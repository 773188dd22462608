"""`Seekable`: a file of known size that keeps its position; where its bytes come from is for others to say."""

import io


class SeekableFile(io.RawIOBase):
    """To be given a `readinto` that reads from `_position` and moves it. Nothing is read by seeking."""

    def __init__(self, size: int) -> None:
        """`size` is what the file has, in bytes."""
        super().__init__()
        self._length = size
        self._position = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Offset of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Set the offset of the next byte. Raises `ValueError` for one before the first."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._length}[whence]
        if base + offset < 0:
            raise ValueError(f"negative offset {base + offset}")
        self._position = base + offset
        return self._position
