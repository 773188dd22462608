"""Compressed inputs as streams: gzip, bzip2 and Zstandard, several members, streams or frames one behind the other.

1. What compression it is, the first bytes say; a name is not asked.
2. A stream that breaks off or is broken ends there, with all that came before; `problem` says so afterwards.
3. Memory is bounded: a few pieces, and a Zstandard window of at most `WINDOW`.
"""

import bz2
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import zstandard
from isal import isal_zlib

from core import InputError
from storage.members import BROKEN, CUT_OFF, GZIP, INFLATE_ERROR, PIECE, ZSTD
from storage.members import WINDOW as FED

BZIP2 = b"BZh"
WINDOW = 1 << 27
"""What the `zstd` command itself takes without being told (`--long=27`)."""
FED_ZSTD = 4 << 10
"""Compressed bytes given to Zstandard at a time: even the densest make no more than 128 MiB of it."""
SKIPPED = tuple(bytes([0x50 + number, 0x2A, 0x4D, 0x18]) for number in range(16))
"""How Zstandard's frames begin that hold no data (RFC 8878, section 3.1.2)."""
DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
"""The one of them that holds the dictionary of all others (IIPC, Zstandard compression of WARC, section 2.3)."""
DICTIONARY = b"\x37\xa4\x30\xec"
"""How a dictionary begins (RFC 8878, section 5)."""


class Inflated(io.RawIOBase):
    """The bytes that a compressed file holds, forward only."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._ready = memoryview(b"")
        self.problem: str | None = None
        """`cut_off` or `broken_compression`, once the stream has ended before its end."""

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of `buffer`; 0 where nothing more can be had."""
        while not self._ready:
            try:
                self._ready = memoryview(next(self._pieces))
            except StopIteration:
                return 0
            except _Ended as ended:
                self.problem = str(ended)
                return 0
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


class _Ended(Exception):
    """The stream ends before its end; the text is the problem."""


def inflated(file: BinaryIO, *, name: str) -> Inflated | None:
    """The bytes of a seekable file that is compressed; None where it is not. Raises `InputError` for a dictionary of
    Zstandard that is none.
    """
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    if head.startswith(GZIP):
        return Inflated(_gunzipped(file))
    if head.startswith(BZIP2):
        return Inflated(_bunzipped(file))
    if head == DICTIONARY_FRAME:
        return Inflated(_unpacked(file, _with_dictionary(file, name)))
    if head == ZSTD or head in SKIPPED:
        return Inflated(_unpacked(file, zstandard.ZstdDecompressor(max_window_size=WINDOW)))
    return None


def _gunzipped(file: BinaryIO) -> Iterator[bytes]:
    fed = _padded(file, file.read(FED))
    while fed:
        engine, piece = isal_zlib.decompressobj(31), b""
        while not engine.eof:
            fed = fed or engine.unconsumed_tail
            if not fed and len(piece) < PIECE:
                fed = file.read(FED)
                if not fed:
                    raise _Ended(CUT_OFF)
            try:
                piece, fed = engine.decompress(fed, PIECE), b""
            except INFLATE_ERROR:
                raise _Ended(BROKEN) from None
            yield piece
        fed = _padded(file, engine.unused_data or file.read(FED))


def _bunzipped(file: BinaryIO) -> Iterator[bytes]:
    fed = file.read(FED)
    while fed:
        engine = bz2.BZ2Decompressor()
        while not engine.eof:
            fed = fed or (file.read(FED) if engine.needs_input else b"")
            if engine.needs_input and not fed:
                raise _Ended(CUT_OFF)
            try:
                piece, fed = engine.decompress(fed, PIECE), b""
            except OSError:
                raise _Ended(BROKEN) from None
            yield piece
        fed = _padded(file, engine.unused_data or file.read(FED))


def _unpacked(file: BinaryIO, engines: zstandard.ZstdDecompressor) -> Iterator[bytes]:
    fed = file.read(FED_ZSTD)
    while fed:
        engine = engines.decompressobj()
        while not engine.eof:
            fed = fed or file.read(FED_ZSTD)
            if not fed:
                raise _Ended(CUT_OFF)
            try:
                piece, fed = engine.decompress(fed), b""
            except zstandard.ZstdError:
                raise _Ended(BROKEN) from None
            yield piece
        fed = engine.unused_data or file.read(FED_ZSTD)


def _padded(file: BinaryIO, fed: bytes) -> bytes:
    """What follows the zeros that fill a block or a tape."""
    while fed and not (fed := fed.lstrip(b"\0")):
        fed = file.read(FED)
    return fed


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
