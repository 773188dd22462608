"""Members: where the records of an archive file begin and end, whatever its compression.

A member is one gzip member, one Zstandard or LZ4 frame, or one record of an uncompressed WARC. Its offset and length
are bytes of the stored file, so a reader can seek to the offset and read the member alone.

1. Bytes that are no whole member form a member with a `problem`, which reaches to where the next record begins: damage
   costs the records that it touches and no others.
2. Memory is bounded: of a member that is longer than `limit` once decompressed, only the beginning is kept.
"""

import io
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, NamedTuple, cast

from fastwarc.stream_io import Lz4Reader, ZstdReader
from isal import isal_zlib
from zstandard import ZstdError

from thresher.core import InputError
from thresher.storage.warc.dictionary import FRAME, read_dictionary

INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub calls the class an instance
WINDOW = 32 << 10
"""Compressed bytes read at a time."""
PIECE = 1 << 20
"""Decompressed bytes made at a time."""
MIN_WINDOW = 512
"""Compressed bytes read at the start of a member: a file may hold a million members."""
BEGINNING = 1 << 10
"""Bytes of a possible record in which its beginning is searched."""
HEAD_LIMIT = 64 << 10
"""Maximum bytes of a WARC head."""
SPENT, SPENT_AT_LEAST = 8, 64 << 20
"""How often its length, and how many bytes at least, a range is read for records that break off. A file can be made of
beginnings that all break off at its end. Beyond this bound the rest of the file is one damaged stretch.
"""

CUT_OFF = "cut_off"
BROKEN = "broken_compression"
NO_RECORD = "not_a_record"

GZIP, ZSTD, LZ4, PLAIN = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"WARC/"
LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
RECORD_BEGIN = re.compile(rb"WARC/\d\.\d+\r?\n")
ZSTD_REPEATED = 1
OTHERS = {
    b"filedesc:": "it is an ARC file; `thresher ingest` reads it",
    b"PK\x03\x04": "it is a ZIP file; if it is a WACZ, `thresher ingest` reads it",
    b"BZh": "it is compressed with bzip2; recompress it with gzip, one member a record",
    b"\xfd7zXZ": "it is compressed with xz; recompress it with gzip, one member a record",
}
HEAD_END = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member, or the damaged bytes between two members."""

    offset: int
    length: int
    data: bytes
    """Decompressed bytes; empty if there is a problem."""
    is_whole: bool
    """Whether `data` is all of it and not only its beginning."""
    problem: str | None


class _Damaged(Exception):
    """No whole member begins here; the text is the problem."""


MemberBytes = tuple[bytes, bool, int]
"""The first decompressed bytes, whether they are all, and the offset behind the member."""
MemberReader = Callable[[BinaryIO, int, int], MemberBytes]


def members(
    file: BinaryIO,
    first: int,
    end: int | None,
    limit: int,
    *,
    name: str,
    begin: re.Pattern[bytes] = RECORD_BEGIN,
) -> Iterator[Member]:
    """Yield the members that begin at byte `first` or later, and before byte `end`.

    `first` is 0 or the offset of a member; `name` is what errors call the file; `begin` matches the beginning of a
    record, by which the next one is found behind a damaged one. Raise `InputError` if the file is no WARC.
    """
    size = file.seek(0, io.SEEK_END)
    codec = _codec(file, name)
    stop = size if end is None else min(end, size)
    most_spent = SPENT_AT_LEAST + SPENT * (stop - first)
    offset, spent = max(first, codec.first), 0
    while offset < stop:
        try:
            data, whole, after = codec.take(file, offset, limit)
            problem = None
        except _Damaged as damage:
            problem = str(damage)
            spent += max(0, file.tell() - offset)
            after = _next_record(file, offset + 1, codec, begin) if spent <= most_spent else size
            data, whole = b"", False
        yield Member(offset=offset, length=after - offset, data=data, is_whole=whole, problem=problem)
        offset = after


class _Codec(NamedTuple):
    """How the members of a file are compressed."""

    magic: bytes
    """First bytes of a member."""
    take: MemberReader
    unpack_start: Callable[[bytes], bytes]
    """Returns the first bytes of a record, given the first bytes of its member."""
    first: int = 0
    """Offset of the first member."""


def _codec(file: BinaryIO, name: str) -> _Codec:
    file.seek(0)
    head = file.read(16)
    if head.startswith(FRAME):
        engine, first = read_dictionary(file, name)
        with_dictionary = partial(engine.stream_reader, read_across_frames=False)
        return _Codec(ZSTD, partial(_zstd, reader=with_dictionary), partial(_start, with_dictionary), first)
    for codec in CODECS:
        if head.startswith(codec.magic):
            return codec
    what = next(
        (what for magic, what in OTHERS.items() if head.startswith(magic)), f"it begins with {head[:8]!r}"
    )
    raise InputError(
        f"{name} is no WARC file: {what if head else 'it is empty'}; give WARC, plain or compressed"
    )


def _gzip(file: BinaryIO, offset: int, limit: int) -> MemberBytes:
    file.seek(offset)
    engine = isal_zlib.decompressobj(31)
    kept: list[bytes] = []
    size, window = 0, MIN_WINDOW
    piece = b""
    while not engine.eof:
        chunk = engine.unconsumed_tail
        if not chunk and len(piece) < PIECE:
            chunk, window = file.read(window), min(2 * window, WINDOW)
            if not chunk:
                raise _Damaged(CUT_OFF)
        try:
            piece = engine.decompress(chunk, PIECE)
        except INFLATE_ERROR as error:
            raise _Damaged(BROKEN) from error
        if size < limit:
            kept.append(piece[: limit - size])
        size += len(piece)
    return b"".join(kept), size <= limit, file.tell() - len(engine.unused_data)


def _plain(file: BinaryIO, offset: int, limit: int) -> MemberBytes:
    file.seek(offset)
    start = file.read(HEAD_LIMIT)
    if not RECORD_BEGIN.match(start):
        raise _Damaged(NO_RECORD)
    end = HEAD_END.search(start)
    length = LENGTH.search(start, 0, end.end()) if end else None
    if end is None or length is None:
        raise _Damaged(NO_RECORD if end or len(start) == HEAD_LIMIT else CUT_OFF)
    size = end.end() + int(length[1])
    is_cut_off = offset + size > file.seek(0, io.SEEK_END)
    file.seek(offset)
    if is_cut_off:
        raise _Damaged(CUT_OFF)
    data = file.read(min(size, limit))
    after = file.seek(offset + size)
    while blank := len(following := file.read(64)) - len(following.lstrip(b"\r\n")):
        after += blank
        if blank < len(following):
            break
    return data, size <= limit, after


def _zstd(
    file: BinaryIO, offset: int, limit: int, reader: Callable[[BinaryIO], Any] = ZstdReader
) -> MemberBytes:
    """Read a frame by RFC 8878, section 3.1.1: its blocks give their length."""
    file.seek(offset)
    magic, flags = _unpack(file, "<4sB")
    if magic != ZSTD:
        raise _Damaged(NO_RECORD)
    single = flags >> 5 & 1
    window, dictionary = 1 - single, (0, 1, 2, 4)[flags & 3]
    content_size = (single, 2, 4, 8)[flags >> 6]
    file.seek(window + dictionary + content_size, io.SEEK_CUR)
    last = 0
    while not last:
        low, high = _unpack(file, "<BH")
        last, kind, size = low & 1, low >> 1 & 3, low >> 3 | high << 5
        file.seek(1 if kind == ZSTD_REPEATED else size, io.SEEK_CUR)
    return _framed(file, offset, file.tell() + 4 * (flags >> 2 & 1), limit, reader)


def _lz4(file: BinaryIO, offset: int, limit: int) -> MemberBytes:
    """Read a frame by LZ4 frame format 1.6.4: its blocks give their length."""
    file.seek(offset)
    magic, flags = _unpack(file, "<4sB")
    if magic != LZ4:
        raise _Damaged(NO_RECORD)
    block_checksum, content_size, content_checksum, dictionary = (flags >> bit & 1 for bit in (4, 3, 2, 0))
    file.seek(1 + 8 * content_size + 4 * dictionary + 1, io.SEEK_CUR)
    while size := _unpack(file, "<I")[0] & 0x7FFFFFFF:
        file.seek(size + 4 * block_checksum, io.SEEK_CUR)
    return _framed(file, offset, file.tell() + 4 * content_checksum, limit, Lz4Reader)


def _unpack(file: BinaryIO, layout: str) -> tuple[Any, ...]:
    size = struct.calcsize(layout)
    data = file.read(size)
    if len(data) < size:
        raise _Damaged(CUT_OFF)
    return struct.unpack(layout, data)


def _framed(
    file: BinaryIO, offset: int, after: int, limit: int, reader: Callable[[BinaryIO], Any]
) -> MemberBytes:
    if after > file.seek(0, io.SEEK_END):
        raise _Damaged(CUT_OFF)
    file.seek(offset)
    # Decompression makes a frame longer, except for a few bytes: its first `limit` bytes and some more are enough.
    frame = reader(io.BytesIO(file.read(min(after - offset, limit + PIECE))))
    kept = bytearray()
    try:
        while len(kept) <= limit and (piece := frame.read(min(PIECE, limit + 1 - len(kept)))):
            kept += piece
    except (OSError, ZstdError) as error:
        raise _Damaged(BROKEN) from error
    return bytes(kept[:limit]), len(kept) <= limit, after


def _next_record(file: BinaryIO, start: int, codec: _Codec, begin: re.Pattern[bytes]) -> int:
    """Return the offset at or behind `start` where a record seems to begin; the end of the file if none does."""
    length = MIN_WINDOW
    while True:
        file.seek(start)
        window = file.read(length)
        at = window.find(codec.magic)
        while at >= 0:
            if _begins_record(file, start + at, codec, begin):
                return start + at
            at = window.find(codec.magic, at + 1)
        if len(window) < length:
            return start + len(window)
        start += len(window) - len(codec.magic) + 1
        length = min(2 * length, PIECE)


def _begins_record(file: BinaryIO, offset: int, codec: _Codec, begin: re.Pattern[bytes]) -> bool:
    file.seek(offset - 1)
    before = file.read(1)
    start = file.read(BEGINNING)
    if codec.magic == PLAIN:
        return before == b"\n" and begin.match(start) is not None
    try:
        return begin.match(codec.unpack_start(start)) is not None
    except (OSError, INFLATE_ERROR, ZstdError):
        return False


def _start(reader: Callable[[BinaryIO], Any], start: bytes) -> bytes:
    found: bytes = reader(io.BytesIO(start)).read(16)
    return found


def _gunzip_start(start: bytes) -> bytes:
    found: bytes = isal_zlib.decompressobj(31).decompress(start, 16)
    return found


CODECS = (
    _Codec(GZIP, _gzip, _gunzip_start),
    _Codec(PLAIN, _plain, bytes),
    _Codec(ZSTD, _zstd, partial(_start, ZstdReader)),
    _Codec(LZ4, _lz4, partial(_start, Lz4Reader)),
)
