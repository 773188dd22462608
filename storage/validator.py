"""The validator in the write path: no member enters an archive file that the standard would not have.

It reads what was written anew, from its compressed bytes, and shares nothing with who wrote it:

1. `member`: each is one whole gzip member or Zstandard frame, with nothing behind it.
2. `head`: `WARC/1.1`, then lines of `Name: value` in visible ASCII, no name twice but those that may be, with type, id, date
   and length among them, each well formed.
3. `length`: the block is as long as it says, and two empty lines end the record; no second one follows.
4. `block digest`: that of the block.
5. `payload digest`: of a response whose body was sent as it is, that of what follows the HTTP head.
   Digests of blocks of more than 4 KiB are made again for every sixteenth group of records only: they would cost as much
   as all the rest, and a writer that hashes the wrong bytes does so always.
6. `pair`: a request comes before its response; each names the other; both have one URL and one date; a metadata record
   names the response that it comes with. A revisit says what it refers to, and has a digest or a date of it.
"""

import base64
import hashlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import NoReturn, cast

import zstandard
from isal import isal_zlib

from core import CorruptData
from storage.compression import Compression

HEAD = re.compile(rb"WARC/1\.1\r\n((?:[A-Za-z][A-Za-z-]*: [!-~][ -~]*\r\n)+)\r\n")
FIELD = re.compile(rb"([A-Za-z-]+): ([^\r]+)\r\n")
REPEATED = frozenset({b"warc-protocol", b"warc-concurrent-to"})
"""Names that may stand in a head more than once; all others are read as they stand there first."""
FORMS: Mapping[bytes, re.Pattern[bytes]] = {
    b"warc-type": re.compile(rb"warcinfo|request|response|revisit|metadata|resource|conversion"),
    b"warc-record-id": re.compile(rb"<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>"),
    b"warc-date": re.compile(rb"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(?:\.\d{1,9})?Z"),
    b"content-length": re.compile(rb"0|[1-9]\d{0,17}"),
}
BODY_AS_IT_IS = re.compile(rb"HTTP/1\.[01] (?!1\d\d|204|304)\d{3}[ \r]")
FRAMED = re.compile(rb"^(?:transfer-encoding|content-length)[ \t]*:", re.IGNORECASE | re.MULTILINE)

INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub calls the class an instance

EVERY = 16
"""Groups of records, one of which has its digests made again whatever they cost."""
SMALL = 4096
"""Bytes of a block whose digests are always made again."""

Decompress = Callable[[bytes], bytes]


Head = Mapping[bytes, bytes]
"""Fields of a record by their names in lower case."""


def validator(compression: Compression) -> Callable[[Sequence[bytes]], None]:
    """Make the function that checks members which belong together, before they are appended.

    It raises `CorruptData` that names the rule. It belongs to one thread.
    """
    decompress: Decompress = _gunzipped if compression == "gzip" else _zstd
    turns = cycle(range(EVERY))

    def check(members: Sequence[bytes]) -> None:
        hashed = sys.maxsize if next(turns) == 0 else SMALL
        _pair([_record(decompress(member), hashed) for member in members])

    return check


def _record(data: bytes, hashed: int) -> Head:
    """Its head; its digests are made again where its block has no more than `hashed` bytes."""
    begin = HEAD.match(data)
    if begin is None:
        _refuse("head", f"it begins with {data[:40]!r}")
    lines: list[tuple[bytes, bytes]] = FIELD.findall(begin[1])
    head = {name.lower(): value for name, value in reversed(lines)}
    if len(head) < len(lines):
        names = [name.lower() for name, _ in lines if name.lower() not in REPEATED]
        if len(names) > len(set(names)):
            _refuse("head", f"a name is there twice in {begin[1]!r}")
    for name, form in FORMS.items():
        if not form.fullmatch(head.get(name, b"")):
            _refuse("head", f"{name.decode()} is {head.get(name, b'')!r}")
    at, length = begin.end(), int(head[b"content-length"])
    if len(data) != at + length + 4 or not data.endswith(b"\r\n\r\n"):
        _refuse("length", f"a block of {length} bytes in a record of {len(data)}, whose head has {at}")
    if length <= hashed:
        block = data[at:-4]
        if head.get(b"warc-block-digest") != _sha1(block):
            _refuse("block digest", f"{_said(head, b'warc-block-digest')} of a block with {_sha1(block)!r}")
        if head[b"warc-type"] == b"response":
            _payload(head, block)
    return head


def _payload(head: Head, block: bytes) -> None:
    """Only where nothing but the head's end says what the payload is: what a server sends that lies about its framing
    is read in more ways than one.
    """
    end = block.find(b"\r\n\r\n")
    if end < 0 or not BODY_AS_IT_IS.match(block) or not _unframed(block[: end + 2], len(block) - end - 4):
        return
    if head.get(b"warc-payload-digest") != _sha1(memoryview(block)[end + 4 :]):
        _refuse("payload digest", _said(head, b"warc-payload-digest"))


def _unframed(head: bytes, length: int) -> bool:
    framing = FRAMED.findall(head)
    return not framing or (len(framing) == 1 and b"\r\ncontent-length: %d\r\n" % length in head.lower())


def _pair(records: Sequence[Head]) -> None:
    asked: Head | None = None
    answered: bytes | None = None
    beside: list[bytes] = []
    for head in records:
        kind = head[b"warc-type"]
        if kind == b"request":
            asked = head
        elif kind == b"metadata" and b"warc-concurrent-to" in head:
            beside.append(head[b"warc-concurrent-to"])
        elif kind in {b"response", b"revisit"}:
            _answers(head, asked)
            answered = head[b"warc-record-id"]
    if any(names != answered for names in beside):
        _refuse("pair", f"metadata of {beside[0]!r} comes with {answered!r}")


def _answers(head: Head, asked: Head | None) -> None:
    if asked is None:
        _refuse("pair", f"{_said(head, b'warc-record-id')} has no request before it")
    named = (head.get(b"warc-concurrent-to"), asked.get(b"warc-concurrent-to"))
    if named != (asked[b"warc-record-id"], head[b"warc-record-id"]):
        _refuse("pair", f"request and response name {named[1]!r} and {named[0]!r}, which are not each other")
    for name in (b"warc-target-uri", b"warc-date"):
        if not head.get(name) or head.get(name) != asked.get(name):
            _refuse("pair", f"the request's {_said(asked, name)}, the response's {_said(head, name)}")
    if head[b"warc-type"] == b"revisit":
        says = {b"warc-profile", b"warc-refers-to-target-uri", b"warc-refers-to-date"}
        if missing := says - head.keys():
            _refuse("pair", f"a revisit without {min(missing).decode()}")


def _gunzipped(member: bytes) -> bytes:
    engine = isal_zlib.decompressobj(31)
    try:
        data: bytes = engine.decompress(member)
    except INFLATE_ERROR as error:
        _refuse("member", str(error))
    if not engine.eof or engine.unused_data:
        _refuse("member", "it is not one gzip member")
    return data


def _zstd(member: bytes) -> bytes:
    engine = zstandard.ZstdDecompressor().decompressobj()
    try:
        data = engine.decompress(member)
    except zstandard.ZstdError as error:
        _refuse("member", str(error))
    if not engine.eof or engine.unused_data:
        _refuse("member", "it is not one Zstandard frame")
    return data


def _sha1(data: bytes | memoryview) -> bytes:
    return b"sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest())


def _said(head: Head, name: bytes) -> str:
    return f"{name.decode()} is {head.get(name, b'')!r}"


def _refuse(rule: str, what: str) -> NoReturn:
    raise CorruptData(
        f"a record that was to be archived breaks the rule {rule!r}: {what}; nothing of it was written"
    )
