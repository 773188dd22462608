"""`SeekableFile`: a file of known size that keeps its position. Subclasses say where the bytes come from."""

import io


class SeekableFile(io.RawIOBase):
    """Base of a file whose `readinto` a subclass writes: it reads from `_position` and moves it. Seeking reads
    nothing.
    """

    def __init__(self, size: int) -> None:
        """`size` is the size of the file in bytes."""
        super().__init__()
        self._length = size
        self._position = 0

    def readable(self) -> bool:
        """Return True: the file can be read."""
        return True

    def seekable(self) -> bool:
        """Return True: the file can be sought."""
        return True

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Set the offset of the next byte and return it. Raise `ValueError` for an offset before the first byte."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._length}[whence]
        if base + offset < 0:
            raise ValueError(f"negative offset {base + offset}")
        self._position = base + offset
        return self._position
