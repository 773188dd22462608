"""`FrameLimiter`: bounds the size and the number of h2 frames as they arrive. Pure.

The library `h2` parses the frames; alone it would wait for a frame of 16 MiB, and answer any number of empty frames.
"""

MAX_EMPTY_FRAMES = 1_000
"""Frames of one exchange that carry no part of a response, at most."""
MAX_FRAMES = 100_000
"""Frames of one exchange in all, at most: a body of 10 MiB in pieces of a hundred bytes."""
MAX_FRAME_BYTES = 16 << 10
"""Bytes of a frame at most: the size that the standard lets everybody send (RFC 9113, section 6.5.2)."""
_HEADER = 9
_DATA = 0


class FrameLimiter:
    """Counts the frames of one exchange, and checks the size of each before its bytes arrive, which the library does
    not.
    """

    __slots__ = ("_empty", "_frames", "_header", "_left")

    def __init__(self) -> None:
        self._header = bytearray()
        self._left = 0
        self.reset()

    def reset(self) -> None:
        """Start to count another exchange."""
        self._empty = self._frames = 0

    def feed(self, data: bytes) -> None:
        """Count the frames in `data`. Raise `ValueError` if a frame is too large, or if there are too many."""
        at = 0
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
                continue
            step = _HEADER - len(self._header)
            self._header += data[at : at + step]
            at += step
            if len(self._header) == _HEADER:
                self._left = int.from_bytes(self._header[:3], "big")
                self._count(carries=self._header[3] == _DATA and self._left > 0)
                self._header.clear()

    def _count(self, *, carries: bool) -> None:
        self._frames += 1
        self._empty += not carries
        if self._left > MAX_FRAME_BYTES:
            raise ValueError("a frame that is too large")
        if self._empty > MAX_EMPTY_FRAMES or self._frames > MAX_FRAMES:
            raise ValueError("a flood of frames")
