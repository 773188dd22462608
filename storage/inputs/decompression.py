"""Compressed inputs as streams: gzip, bzip2 and Zstandard, several members, streams or frames one behind the other.

1. What compression it is, the first bytes say; a name is not asked.
2. A stream that breaks off or is broken ends there, with all that came before; `problem` says so afterwards.
3. Memory is bounded: a few pieces, and a Zstandard window of at most `WINDOW`.
4. An input that unpacks to more than `swelling` of its size is refused when it comes to that.
"""

import bz2
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import zstandard
from isal import isal_zlib

from core import InputError
from storage.warc.members import BROKEN, CUT_OFF, GZIP, INFLATE_ERROR, PIECE, SMALLEST_WINDOW, ZSTD
from storage.warc.members import WINDOW as FED

BZIP2 = b"BZh"
WINDOW = 1 << 27
"""What the `zstd` command itself takes without being told (`--long=27`)."""
FED_ZSTD = 4 << 10
"""Compressed bytes given to Zstandard at a time: even the densest make no more than 128 MiB of it."""
SWELL, SWELL_AT_LEAST = 100, 256 << 20
"""Times its size, and bytes at least, that an input may unpack to. Archives of pages unpack to 3 to 10 times their size, dumps to 20."""
SKIPPED = tuple(bytes([0x50 + number, 0x2A, 0x4D, 0x18]) for number in range(16))
"""How Zstandard's frames begin that hold no data (RFC 8878, section 3.1.2)."""
DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
"""The one of them that holds the dictionary of all others (IIPC, Zstandard compression of WARC, section 2.3)."""
DICTIONARY = b"\x37\xa4\x30\xec"
"""How a dictionary begins (RFC 8878, section 5)."""


def max_unpacked_bytes(size: int) -> int:
    """Return how many bytes an input of that size may unpack to."""
    return max(SWELL * size, SWELL_AT_LEAST)


def unpacked_too_large(name: str) -> InputError:
    """Return the error of an input that unpacks to more."""
    return InputError(
        f"{name} unpacks to more than {SWELL} times its size, as files do that are made to fill a disk; if it is honest,"
        " unpack it, and ingest what it holds"
    )


class DecompressedStream(io.RawIOBase):
    """The bytes that a compressed file holds, forward only."""

    def __init__(self, pieces: Iterator[bytes], *, name: str, most: int) -> None:
        """`most` is how many bytes it may come to."""
        super().__init__()
        self._pieces = pieces
        self._name, self._left = name, most
        self._ready = memoryview(b"")
        self.problem: str | None = None
        """`cut_off` or `broken_compression`, once the stream has ended before its end."""

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of `buffer`; 0 where nothing more can be had. Raises `InputError` where it comes to too much."""
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
    """The stream ends before its end; the text is the problem."""


def decompress(file: BinaryIO, *, name: str) -> DecompressedStream | None:
    """The bytes of a seekable file that is compressed; None where it is not. Raises `InputError` for a dictionary of
    Zstandard that is none.
    """
    most = max_unpacked_bytes(file.seek(0, io.SEEK_END))
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    pieces: Iterator[bytes] | None = None
    if head.startswith(GZIP):
        pieces = _gunzipped(file)
    elif head.startswith(BZIP2):
        pieces = _bunzipped(file)
    elif head == DICTIONARY_FRAME:
        pieces = _unpacked(file, _with_dictionary(file, name))
    elif head == ZSTD or head in SKIPPED:
        pieces = _unpacked(file, zstandard.ZstdDecompressor(max_window_size=WINDOW))
    return None if pieces is None else DecompressedStream(pieces, name=name, most=most)


def _gunzipped(file: BinaryIO) -> Iterator[bytes]:
    source = _Source(file, FED)
    while source.skip_zeros():
        engine, piece = isal_zlib.decompressobj(31), b""
        while not engine.eof:
            fed = engine.unconsumed_tail
            if not fed and len(piece) < PIECE and not (fed := source.take()):
                raise _BrokenStreamError(CUT_OFF)
            try:
                piece = engine.decompress(fed, PIECE)
            except INFLATE_ERROR:
                raise _BrokenStreamError(BROKEN) from None
            yield piece
        source.put_back(len(engine.unused_data))


def _bunzipped(file: BinaryIO) -> Iterator[bytes]:
    source = _Source(file, FED)
    while source.skip_zeros():
        engine = bz2.BZ2Decompressor()
        while not engine.eof:
            fed = source.take() if engine.needs_input else b""
            if engine.needs_input and not fed:
                raise _BrokenStreamError(CUT_OFF)
            try:
                piece = engine.decompress(fed, PIECE)
            except OSError:
                raise _BrokenStreamError(BROKEN) from None
            yield piece
        source.put_back(len(engine.unused_data))


def _unpacked(file: BinaryIO, engines: zstandard.ZstdDecompressor) -> Iterator[bytes]:
    source = _Source(file, FED_ZSTD)
    while source.is_more():
        engine = engines.decompressobj()
        while not engine.eof:
            if not (fed := source.take()):
                raise _BrokenStreamError(CUT_OFF)
            try:
                piece = engine.decompress(fed)
            except zstandard.ZstdError:
                raise _BrokenStreamError(BROKEN) from None
            yield piece
        source.put_back(len(engine.unused_data))


class _Source:
    """Compressed bytes, given out in windows that grow from the beginning of each stream: what lies behind its end is copied by
    every decoder, and a file may be a million streams.
    """

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most = file, most
        self._buffer, self._at, self._window = b"", 0, SMALLEST_WINDOW

    def is_more(self) -> bool:
        if self._at == len(self._buffer):
            self._buffer, self._at = self._file.read(self._most), 0
        return bool(self._buffer)

    def take(self) -> bytes:
        """The next bytes; none at the end."""
        if not self.is_more():
            return b""
        fed = self._buffer[self._at : self._at + self._window]
        self._at += len(fed)
        self._window = min(2 * self._window, self._most)
        return fed

    def put_back(self, count: int) -> None:
        """The last bytes of what was taken at last are of another stream."""
        self._at -= count
        self._window = SMALLEST_WINDOW

    def skip_zeros(self) -> bool:
        """Go to what follows the zeros that fill a block or a tape; whether anything does."""
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


def _with_dictionary(file: BinaryIO, name: str) -> zstandard.ZstdDecompressor:
    """What unpacks the frames behind the dictionary at the beginning; the file stands there then."""
    head = file.read(8)
    written = file.read(min(int.from_bytes(head[4:], "little"), WINDOW))
    try:
        if written.startswith(ZSTD):
            written = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(written).read(WINDOW)
        if written.startswith(DICTIONARY):
            dictionary = zstandard.ZstdCompressionDict(written)
            return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=WINDOW)
    except zstandard.ZstdError:
        pass
    raise InputError(f"{name}: the Zstandard dictionary at its beginning is broken; get the file again")
