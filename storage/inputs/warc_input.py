"""Read WARC files of other crawlers, record by record, whatever their compression: each record becomes one gzip member.

1. A gzip member that holds one record is copied byte for byte.
2. A member that holds many records, or that has another compression or a dictionary, is unpacked. Each of its records
   is packed alone, its bytes unchanged.
3. Damage costs only the records that it touches: if a member is cut off, the records before the cut are read.
4. Memory is bounded by `MAX_COPIED_BYTES`; longer members are unpacked to disk.
"""

import shutil
from collections.abc import Iterator
from io import BufferedReader
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from fastwarc.stream_io import Lz4Reader

from thresher.storage.inputs.decompression import DecompressedStream, decompress
from thresher.storage.inputs.entry import DAMAGE, MAX_COPIED_BYTES, CopiedRecord, UnusableRecord
from thresher.storage.inputs.file_slice import FileSlice
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.dictionary import FRAME
from thresher.storage.warc.members import (
    BROKEN,
    GZIP,
    HEAD_END,
    LENGTH,
    LZ4,
    NO_RECORD,
    PLAIN,
    RECORD_BEGIN,
    Member,
    members,
)
from thresher.storage.warc.payload import TOO_LONG

RECORD_END = b"\r\n\r\n"
BLANK = b"\r\n\0 "


def read(file: BinaryIO, name: str, first: int = 0) -> Iterator[CopiedRecord | UnusableRecord]:
    """Yield an item for each record of a seekable file, of any type. Raise `InputError` if it is not a WARC file."""
    for place, item in enumerate(_items(file, name)):
        if place >= first:
            yield _at(place, item)


MemberOrProblem = bytes | tuple[str, str]
"""A gzip member; or the reason code and the place of what is not readable."""


def _at(place: int, found: MemberOrProblem) -> CopiedRecord | UnusableRecord:
    if isinstance(found, bytes):
        return CopiedRecord(place=place, member=found)
    reason, where = found
    return UnusableRecord(place=place, reason=reason, detail=f"{where} {DAMAGE[reason]}")


def _items(file: BinaryIO, name: str) -> Iterator[MemberOrProblem]:
    file.seek(0)
    head = file.read(8)
    if head.startswith(FRAME):
        unpacked = decompress(file, name=name)
        assert unpacked is not None
        yield from _unpacked(BufferedReader(unpacked), unpacked, name, "in it")
        return
    for each in members(file, 0, None, MAX_COPIED_BYTES, name=name):
        where = f"at byte {each.offset}"
        if head.startswith(PLAIN):
            yield _plain(each, where)
        elif each.problem is None and each.is_whole and _is_one(each.data):
            if head.startswith(GZIP):
                file.seek(each.offset)
                yield file.read(each.length)
            else:
                yield gzip_member(each.data)
        elif each.problem is not None or each.data.strip(BLANK):
            part = cast("BinaryIO", BufferedReader(FileSlice(file, each.offset, each.length)))
            unpacked = decompress(part, name=name)
            stream: Any = (
                BufferedReader(unpacked) if unpacked else Lz4Reader(part) if head.startswith(LZ4) else None
            )
            if stream is None:
                yield each.problem or NO_RECORD, where
            else:
                yield from _unpacked(stream, unpacked, name, where)


def _unpacked(
    stream: BinaryIO, unpacked: DecompressedStream | None, name: str, where: str
) -> Iterator[MemberOrProblem]:
    """Yield the records of an unpacked stream up to the point where it breaks."""
    with TemporaryFile() as plain:
        problem = None
        try:
            shutil.copyfileobj(stream, plain, 1 << 20)
        except OSError:
            problem = BROKEN
        problem = unpacked.problem if unpacked else problem
        plain.seek(0)
        last: MemberOrProblem | None = None
        if RECORD_BEGIN.match(plain.read(64)):
            for each in members(plain, 0, None, MAX_COPIED_BYTES, name=name):
                last = _plain(each, f"{where} (byte {each.offset} unpacked)" if each.offset else where)
                yield last
        if last is None or (problem and isinstance(last, bytes)):
            yield problem or NO_RECORD, where


def _plain(each: Member, where: str) -> MemberOrProblem:
    if each.problem is not None:
        return each.problem, where
    return gzip_member(each.data + RECORD_END) if each.is_whole else (TOO_LONG, where)


def _is_one(data: bytes) -> bool:
    """Return whether `data` is exactly one record."""
    end = HEAD_END.search(data) if RECORD_BEGIN.match(data) else None
    length = LENGTH.search(data, 0, end.end()) if end else None
    return end is not None and length is not None and not data[end.end() + int(length[1]) :].strip(BLANK)
