"""Read ARC files, the archive format before WARC (Internet Archive, ARC file format, versions 1.0 and 1.1, 1996).

A record is one line (URL, address, date, type, length), followed by the response of the server, head and body.

1. The response is kept byte for byte. The URL, the address and the date of the ARC line are kept with it.
2. If a line is no valid ARC line, everything up to the next valid line is lost. If a length is invalid, its record is
   lost.
3. The first record describes the file. It is read for the version of the format and is not archived.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BufferedReader
from ipaddress import ip_address
from typing import BinaryIO, cast

from thresher.core import Failure, InputError, failure_boundary
from thresher.core.standards.ip_address import format_address
from thresher.storage.inputs.decompression import decompress
from thresher.storage.inputs.entry import (
    DAMAGE,
    HTTP_RESPONSE,
    MAX_PAYLOAD_BYTES,
    InputRecord,
    UnusableRecord,
)
from thresher.storage.inputs.file_slice import FileSlice
from thresher.storage.inputs.table_files.columns import milliseconds
from thresher.storage.warc.exchange_records import MIME
from thresher.storage.warc.members import CUT_OFF, NO_RECORD, members
from thresher.storage.warc.payload import TOO_LONG
from thresher.storage.warc.records import HEAD_ROOM, WRONG_LENGTH

MAGIC = b"filedesc:"
MAX_LINE_LENGTH = 64 << 10
EXTRA_FIELDS = {5: rb"", 10: rb"(?: \S+){5}"}
"""Pattern of the fields between type and length, by the number of all fields: version 2 has five more than version 1.
"""
LINE = rb"([A-Za-z][A-Za-z0-9+.-]*:.*) ([0-9A-Fa-f.:]+|-) (\d{8,}) (.*?)%b (\S+)\s*"
BEGIN = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:")
"""Start of a record. The reader searches for it to find the next record after a damaged one."""
BLANK = b"\r\n\0 "
OCTETS = "application/octet-stream"
UNKNOWN = "0.0.0.0"  # noqa: S104 - what an ARC line holds if the address is unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    url: str
    peer: str
    date_ms: int
    mime: str
    length: int | None


def read(file: BinaryIO, name: str, first: int = 0) -> Iterator[InputRecord | UnusableRecord]:
    """Yield an item for each record of a seekable file, plain or compressed, except the first, which describes the
    file.

    Raise `InputError` if the file is not an ARC file.
    """
    for place, item in enumerate(_items(file, name)):
        if place >= first:
            yield replace(item, place=place)


def _items(file: BinaryIO, name: str) -> Iterator[InputRecord | UnusableRecord]:
    if decompress(file, name=name) is None:
        yield from _records(file, _record_pattern(file, name))
        return
    pattern: re.Pattern[bytes] | None = None
    for member in members(file, 0, None, 0, name=name, begin=BEGIN):
        unpacked = decompress(
            cast("BinaryIO", BufferedReader(FileSlice(file, member.offset, member.length))), name=name
        )
        item: InputRecord | UnusableRecord | None = None
        if unpacked is not None:
            stream = BufferedReader(unpacked)
            pattern = pattern or _record_pattern(stream, name)
            for item in _records(stream, pattern):
                yield item
        problem = NO_RECORD if unpacked is None else unpacked.problem
        if problem and not isinstance(item, UnusableRecord):
            yield UnusableRecord(place=0, reason=problem, detail=f"at byte {member.offset} {DAMAGE[problem]}")


def _records(file: BinaryIO, pattern: re.Pattern[bytes]) -> Iterator[InputRecord | UnusableRecord]:
    line = _line(file)
    while line:
        head = _head(line, pattern)
        if head is None or head.length is None:
            yield _unusable(NO_RECORD if head is None else WRONG_LENGTH, line)
            line = _line(file)
            while line and _head(line, pattern) is None:
                line = _line(file)
        else:
            yield _record(file, head, line)
            line = _line(file)


def _record_pattern(file: BinaryIO, name: str) -> re.Pattern[bytes]:
    """Return the pattern of the file's record lines. Leave the file positioned after its description."""
    line = file.readline(MAX_LINE_LENGTH)
    head = _head(line, re.compile(LINE % b""))
    if not line.startswith(MAGIC) or head is None:
        raise InputError(f"{name} is no ARC file: it begins with {line[:40]!r}; give ARC, plain or gzip")
    described = file.read(min(head.length or 0, MAX_PAYLOAD_BYTES))
    if not head.length:  # the description gives no length of its own, but always has two lines
        described = file.readline(MAX_LINE_LENGTH) + file.readline(MAX_LINE_LENGTH)
    names = next((line for line in described.splitlines() if line.startswith(b"URL ")), b"")
    return re.compile(LINE % EXTRA_FIELDS.get(len(names.split()), b""))


def _line(file: BinaryIO) -> bytes:
    """Return the next line that is not blank; return `b""` at the end of the file."""
    while line := file.readline(MAX_LINE_LENGTH):
        if line.strip(BLANK):
            return line
    return b""


def _head(line: bytes, pattern: re.Pattern[bytes]) -> _Head | None:
    try:
        with failure_boundary("head"):
            return _fields(line, pattern)
    except Failure:  # foreign bytes can make any field fail; such a line counts as unreadable
        return None


def _fields(line: bytes, pattern: re.Pattern[bytes]) -> _Head | None:
    found = pattern.fullmatch(line)
    if found is None:
        return None
    url, peer, date, mime, length = (_decoded(value) for value in found.groups())
    return _Head(
        url=url,
        peer=_address(peer),
        date_ms=milliseconds(date[:14].ljust(14, "0")),
        mime=mime if MIME.fullmatch(mime) else OCTETS,
        length=int(length) if length.isdecimal() and len(length) < 16 else None,
    )


def _record(file: BinaryIO, head: _Head, line: bytes) -> InputRecord | UnusableRecord:
    assert head.length is not None
    if head.length > MAX_PAYLOAD_BYTES + HEAD_ROOM:
        left = head.length
        while left and (piece := file.read(min(left, 1 << 20))):
            left -= len(piece)
        return _unusable(TOO_LONG, line)
    block = file.read(head.length)
    if len(block) < head.length:
        return _unusable(CUT_OFF, line)
    is_http = block[:5].upper() == b"HTTP/"
    return InputRecord(
        place=0,
        uri=head.url,
        mime=HTTP_RESPONSE if is_http else head.mime,
        payload=block,
        date_ms=head.date_ms,
        peer=head.peer,
    )


def _unusable(reason: str, line: bytes) -> UnusableRecord:
    return UnusableRecord(
        place=0, reason=reason, detail=f"{_decoded(line.strip()[:200])!r}: {DAMAGE[reason]}"
    )


def _address(written: str) -> str:
    try:
        return "" if written == UNKNOWN else format_address(ip_address(written))
    except ValueError:
        return ""


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
