"""`Frames`: an eye on the frames of h2 as they come. Pure.

The library reads them; it would wait for one of 16 MiB, and answer as many empty ones as somebody sends.
"""

MAX_EMPTY_FRAMES = 1_000
"""Frames of one exchange that carry nothing of a response."""
MAX_FRAMES = 100_000
"""Frames of one exchange in all: a body of 10 MiB in pieces of a hundred bytes."""
MAX_FRAME_BYTES = 16 << 10
"""Bytes of a frame: we allow no more than the standard lets everybody send (RFC 9113, section 6.5.2)."""
_HEADER = 9
_DATA = 0


class FrameLimiter:
    """Counts the frames of one exchange, and measures each before it is waited for, which the library does not."""

    __slots__ = ("_empty", "_header", "_left", "_pieces")

    def __init__(self) -> None:
        self._header = bytearray()
        self._left = 0
        self.reset()

    def reset(self) -> None:
        """Another exchange."""
        self._empty = self._pieces = 0

    def feed(self, data: bytes) -> None:
        """Look at what came; `ValueError` where it is too much of something."""
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
        self._pieces += 1
        self._empty += not carries
        if self._left > MAX_FRAME_BYTES:
            raise ValueError("a frame that is too large")
        if self._empty > MAX_EMPTY_FRAMES or self._pieces > MAX_FRAMES:
            raise ValueError("a flood of frames")
