"""The bytes of an input, unpacked a piece at a time: gzip, bzip2 or Zstandard by its first bytes, anything else as it is.

1. Members, streams and frames that follow one another are one (a multistream dump, `cat a.gz b.gz`).
2. Memory is a piece and what the codec needs, however much comes of how little.
3. All that can be unpacked in front of damage is given, and then `Damaged` is raised.
"""

import bz2
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol, cast

import zstandard
from isal import igzip_lib

from storage.members import BROKEN, CUT_OFF, GZIP, ZSTD

BZIP2 = b"BZh"
GZIP_ERROR = cast("type[Exception]", igzip_lib.error)  # its stub calls the class an instance
PACKED = 64 << 10
"""Bytes read at a time."""
PIECE = 1 << 20
"""Bytes given at a time, at most."""
WINDOW = 1 << 27
"""Of a Zstandard frame: what `zstd -d` takes without being asked to."""


class Damaged(Exception):
    """No more can be unpacked; the text is the reason code, `cut_off` or `broken_compression`."""


class _Codec(Protocol):
    def decompress(self, data: bytes, max_length: int) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def unpacked(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file that can be sought, from its beginning; none of the pieces is empty."""
    file.seek(0)
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP):
        return _streams(file, lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP))
    if magic.startswith(BZIP2):
        return _streams(file, bz2.BZ2Decompressor)
    if magic == ZSTD:
        return _frames(file)
    return iter(lambda: file.read(PIECE), b"")


def _streams(file: BinaryIO, codec: Callable[[], _Codec]) -> Iterator[bytes]:
    rest = file.read(PACKED)
    while rest:
        engine = codec()
        while not engine.eof:
            if engine.needs_input and not rest and not (rest := file.read(PACKED)):
                raise Damaged(CUT_OFF)
            given = rest if engine.needs_input else b""
            try:
                piece = engine.decompress(given, PIECE)
            except (OSError, ValueError, GZIP_ERROR) as error:
                raise Damaged(BROKEN) from error
            rest = b"" if given else rest
            if piece:
                yield piece
        # Tapes and some servers fill the last block with zeros.
        rest = engine.unused_data.lstrip(b"\0") or file.read(PACKED).lstrip(b"\0")


def _frames(file: BinaryIO) -> Iterator[bytes]:
    engine = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    with engine.stream_reader(file, read_size=PACKED, read_across_frames=True, closefd=False) as reader:
        while True:
            try:
                piece = reader.read1(PIECE)
            except zstandard.ZstdError as error:
                raise Damaged(BROKEN) from error
            if not piece:
                return
            yield piece
