"""Decompress inputs as streams: gzip, bzip2 and Zstandard, also several members, streams or frames in sequence.

1. The first bytes of the file decide which compression it has; the file's name plays no role.
2. A stream that is cut off or damaged ends at that point and gives all bytes before it; `problem` then names the
   reason.
3. Memory is bounded by a few pieces and a Zstandard window of at most `WINDOW` bytes.
4. An input that unpacks to more than `max_unpacked_bytes` is refused as soon as it exceeds that number.
"""

import bz2
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import zstandard
from isal import isal_zlib

from thresher.core import InputError
from thresher.storage.warc.dictionary import FRAME, read_dictionary
from thresher.storage.warc.dictionary import MAX_BYTES as WINDOW
from thresher.storage.warc.members import BROKEN, CUT_OFF, GZIP, INFLATE_ERROR, MIN_WINDOW, PIECE, ZSTD
from thresher.storage.warc.members import WINDOW as INPUT_BYTES

BZIP2 = b"BZh"
ZSTD_INPUT_BYTES = 4 << 10
"""Compressed bytes passed to Zstandard in one call: even the densest data unpack to at most 128 MiB."""
MAX_RATIO, ALWAYS_ALLOWED_BYTES = 100, 256 << 20
"""An input may unpack to `MAX_RATIO` times its size, and in any case to `ALWAYS_ALLOWED_BYTES` bytes.

Archives of pages unpack to 3 to 10 times their size, dumps to 20 times.
"""
SKIPPED = tuple(bytes([0x50 + number, 0x2A, 0x4D, 0x18]) for number in range(16))
"""First bytes of Zstandard's skippable frames, which hold no data (RFC 8878, section 3.1.2)."""


def max_unpacked_bytes(size: int) -> int:
    """Return how many bytes an input of `size` bytes may unpack to."""
    return max(MAX_RATIO * size, ALWAYS_ALLOWED_BYTES)


def unpacked_too_large(name: str) -> InputError:
    """Return the error for an input that unpacks to more than `max_unpacked_bytes`."""
    return InputError(
        f"{name} unpacks to more than {MAX_RATIO} times its size, as files do that are made to fill a disk;"
        " if it is honest, unpack it, and ingest the unpacked file"
    )


class DecompressedStream(io.RawIOBase):
    """The unpacked bytes of a compressed file, readable forward only."""

    def __init__(self, pieces: Iterator[bytes], *, name: str, most: int) -> None:
        """Take the unpacked `pieces` of the input `name`, which may be at most `most` bytes together."""
        super().__init__()
        self._pieces = pieces
        self._name, self._left = name, most
        self._ready = memoryview(b"")
        self.problem: str | None = None
        """`cut_off` or `broken_compression` if the stream ended early; None while or if it is intact."""

    def readable(self) -> bool:
        """Return True. `io.RawIOBase` requires it."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of `buffer` and return its length; return 0 at the end.

        Raise `InputError` if the stream exceeds the permitted number of unpacked bytes.
        """
        while not self._ready:
            try:
                self._ready = memoryview(next(self._pieces))
                self._left -= len(self._ready)
                if self._left < 0:
                    raise unpacked_too_large(self._name)
            except StopIteration:
                return 0
            except _BrokenStreamError as ended:
                self.problem = str(ended)
                return 0
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


class _BrokenStreamError(Exception):
    """The compressed data end early or are damaged; the text is the reason code."""


def decompress(file: BinaryIO, *, name: str) -> DecompressedStream | None:
    """Return the unpacked bytes of a seekable file; return None if the file is not compressed.

    Raise `InputError` if the file begins with a Zstandard dictionary that is broken.
    """
    most = max_unpacked_bytes(file.seek(0, io.SEEK_END))
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    pieces: Iterator[bytes] | None = None
    if head.startswith(GZIP):
        pieces = _gunzip(file)
    elif head.startswith(BZIP2):
        pieces = _bunzip2(file)
    elif head == FRAME:
        engines, first = read_dictionary(file, name)
        file.seek(first)
        pieces = _unzstd(file, engines)
    elif head == ZSTD or head in SKIPPED:
        pieces = _unzstd(file, zstandard.ZstdDecompressor(max_window_size=WINDOW))
    return None if pieces is None else DecompressedStream(pieces, name=name, most=most)


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    source = _Source(file, INPUT_BYTES)
    while source.skip_zeros():
        engine, piece = isal_zlib.decompressobj(31), b""
        while not engine.eof:
            data = engine.unconsumed_tail
            if not data and len(piece) < PIECE and not (data := source.take()):
                raise _BrokenStreamError(CUT_OFF)
            try:
                piece = engine.decompress(data, PIECE)
            except INFLATE_ERROR:
                raise _BrokenStreamError(BROKEN) from None
            yield piece
        source.put_back(len(engine.unused_data))


def _bunzip2(file: BinaryIO) -> Iterator[bytes]:
    source = _Source(file, INPUT_BYTES)
    while source.skip_zeros():
        engine = bz2.BZ2Decompressor()
        while not engine.eof:
            data = source.take() if engine.needs_input else b""
            if engine.needs_input and not data:
                raise _BrokenStreamError(CUT_OFF)
            try:
                piece = engine.decompress(data, PIECE)
            except OSError:
                raise _BrokenStreamError(BROKEN) from None
            yield piece
        source.put_back(len(engine.unused_data))


def _unzstd(file: BinaryIO, engines: zstandard.ZstdDecompressor) -> Iterator[bytes]:
    source = _Source(file, ZSTD_INPUT_BYTES)
    while source.is_more():
        engine = engines.decompressobj()
        while not engine.eof:
            if not (data := source.take()):
                raise _BrokenStreamError(CUT_OFF)
            try:
                piece = engine.decompress(data)
            except zstandard.ZstdError:
                raise _BrokenStreamError(BROKEN) from None
            yield piece
        source.put_back(len(engine.unused_data))


class _Source:
    """Compressed bytes in windows that start small at each stream and grow within it.

    Every decoder copies the bytes after the end of its stream, and a file may hold a million streams: large windows
    would make that quadratic.
    """

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most = file, most
        self._buffer, self._at, self._window = b"", 0, MIN_WINDOW

    def is_more(self) -> bool:
        if self._at == len(self._buffer):
            self._buffer, self._at = self._file.read(self._most), 0
        return bool(self._buffer)

    def take(self) -> bytes:
        """Return the next bytes; return `b""` at the end."""
        if not self.is_more():
            return b""
        data = self._buffer[self._at : self._at + self._window]
        self._at += len(data)
        self._window = min(2 * self._window, self._most)
        return data

    def put_back(self, count: int) -> None:
        """Return the last `count` bytes of the latest `take`: they belong to the next stream."""
        self._at -= count
        self._window = MIN_WINDOW

    def skip_zeros(self) -> bool:
        """Skip zeros, which fill blocks and tapes. Return whether any bytes follow."""
        while self.is_more():
            rest = len(self._buffer) - self._at
            if (
                zeros := rest - len(self._buffer[self._at :].lstrip(b"\0"))
                if not self._buffer[self._at]
                else 0
            ):
                self._at += zeros
            else:
                return True
        return False
