"""The validator in the write path: no member enters an archive file that violates the standard.

It reads what was written anew, from the compressed bytes, and shares no code with the writer:

1. `member`: each is one whole gzip member or Zstandard frame, with nothing behind it.
2. `head`: `WARC/1.1`, then lines of `Name: value` in visible ASCII. No name stands twice except those that may. Type,
   id, date and length are among them, each well formed.
3. `length`: the block has the stated length, and two empty lines end the record; no second record follows.
4. `block digest`: it is that of the block.
5. `payload digest`: for a response whose body was sent unframed, it is that of what follows the HTTP head.
6. `pair`: a request comes before its response; each names the other; both have one URL and one date. A metadata record
   names the response that it comes with. A revisit says what it refers to, by profile, URL and date.

Of a member of more than 4 KiB only the beginning is inflated, which holds the head; the member itself states its
length. Every sixteenth group of records is checked whole, digests included. Inflating and hashing everything would cost
half as much again as writing it, and a writer with a fault has it in every record.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import NamedTuple, NoReturn

import zstandard

from thresher.core import CorruptData
from thresher.storage.warc.compression import Compression
from thresher.storage.warc.exchange_records import PAYLOAD_SHA256

HEAD = re.compile(rb"WARC/1\.1\r\n((?:[A-Za-z][A-Za-z0-9-]*: [!-~][ -~]*\r\n)+)\r\n")
FIELD = re.compile(rb"^([A-Za-z0-9-]++): ([^\r\n]++)\r\n", re.MULTILINE)
REPEATED = frozenset({b"warc-protocol", b"warc-concurrent-to"})
"""Names that may stand in a head more than once; of all others the first value is read."""
FORMS: Mapping[bytes, re.Pattern[bytes]] = {
    b"warc-type": re.compile(rb"warcinfo|request|response|revisit|metadata|resource|conversion"),
    b"warc-record-id": re.compile(rb"<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>"),
    b"warc-date": re.compile(rb"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(?:\.\d{1,9})?Z"),
    b"content-length": re.compile(rb"0|[1-9]\d{0,17}"),
}
HTTP_HEAD = re.compile(
    rb"HTTP/1\.[01] (?!1\d\d|204|205|304)\d{3}(?: [^\r\n]*)?\r\n(?:[A-Za-z0-9!#$%&'*+.^_`|~-]+:[^\r\n]*\r\n)*\r\n"
)
"""A head that every reader understands alike, of a response with a body. In any other it is a guess where the payload
begins.
"""
FRAMED = re.compile(rb"^(?:transfer-encoding|content-length)[ \t]*:", re.IGNORECASE | re.MULTILINE)

EVERY = 16
"""One of this many groups of records is checked whole."""
SMALL = 4096
"""A member of at most this many bytes is always checked whole."""
BEGINNING = 2048
"""Bytes that are inflated of a larger member: enough for any head except those with the longest URLs."""


class _Codec(NamedTuple):
    whole: Callable[[bytes], bytes]
    beginning: Callable[[bytes], tuple[bytes, int]]
    """Return the first bytes of a record, and how many bytes it has."""


Head = Mapping[bytes, bytes]
"""Fields of a record by their names in lower case."""


def make_validator(compression: Compression) -> Callable[[Sequence[bytes]], None]:
    """Return the function that checks members which belong together, before they are appended.

    It raises `CorruptData`, which names the violated rule. It belongs to one thread.
    """
    codec = _Codec(_gunzip, _gzip_beginning) if compression == "gzip" else _zstd()
    turns = cycle(range(EVERY))

    def check(members: Sequence[bytes]) -> None:
        whole = next(turns) == 0
        try:
            _check_pair([_checked(codec, member, whole or len(member) <= SMALL) for member in members])
        except CorruptData as error:
            raise CorruptData(
                f"a record that was about to be archived {error}; nothing of it was written"
            ) from None

    return check


def check_record(data: bytes) -> Head:
    """Return the head of a record that keeps rules 2 to 5. Raise `CorruptData`, which names the violated rule."""
    begin = HEAD.match(data)
    if begin is None:
        _refuse("head", f"it begins with {data[:40]!r}")
    head = _head(begin, len(data))
    if not data.endswith(b"\r\n\r\n"):
        _refuse("length", "no two line breaks end it")
    block = data[begin.end() : -4]
    if head.get(b"warc-block-digest") != _sha1(block):
        _refuse("block digest", f"{_said(head, b'warc-block-digest')} of a block with {_sha1(block)!r}")
    if head[b"warc-type"] == b"response":
        _payload(head, block)
    return head


def _checked(codec: _Codec, member: bytes, whole: bool) -> Head:
    if not whole:
        data, size = codec.beginning(member)
        begin = HEAD.match(data)
        if begin is not None:
            return _head(begin, size)
    return check_record(codec.whole(member))


def _head(begin: re.Match[bytes], size: int) -> Head:
    """Return the fields of the head of a record of `size` bytes."""
    lines: list[tuple[bytes, bytes]] = FIELD.findall(begin[1])
    head = {name.lower(): value for name, value in reversed(lines)}
    if len(head) < len(lines):
        names = [name.lower() for name, _ in lines if name.lower() not in REPEATED]
        if len(names) > len(set(names)):
            _refuse("head", f"a name stands twice in {begin[1]!r}")
    for name, form in FORMS.items():
        if not form.fullmatch(head.get(name, b"")):
            _refuse("head", f"{name.decode()} is {head.get(name, b'')!r}")
    at, length = begin.end(), int(head[b"content-length"])
    if size != at + length + 4:
        _refuse("length", f"a block of {length} bytes in a record of {size}, whose head has {at}")
    return head


def _payload(head: Head, block: bytes) -> None:
    """Check the payload digest only if nothing but the head's end says where the payload begins: readers disagree about
    a response that lies about its framing.
    """
    begin = HTTP_HEAD.match(block)
    if begin is None or b"warc-truncated" in head or not _unframed(begin[0], len(block) - begin.end()):
        return
    if head.get(b"warc-payload-digest") != _sha1(memoryview(block)[begin.end() :]):
        _refuse("payload digest", _said(head, b"warc-payload-digest"))
    certain = head.get(PAYLOAD_SHA256.lower().encode())
    if certain is not None and certain != _sha256(memoryview(block)[begin.end() :]):
        _refuse("payload digest", f"its SHA-256 is said to be {certain!r}")


def _unframed(head: bytes, length: int) -> bool:
    framing = FRAMED.findall(head)
    return not framing or (len(framing) == 1 and b"\r\ncontent-length: %d\r\n" % length in head.lower())


def _check_pair(records: Sequence[Head]) -> None:
    request: Head | None = None
    response_id: bytes | None = None
    metadata_of: list[bytes] = []
    for head in records:
        kind = head[b"warc-type"]
        if kind == b"request":
            request = head
        elif kind == b"metadata" and b"warc-concurrent-to" in head:
            metadata_of.append(head[b"warc-concurrent-to"])
        elif kind in {b"response", b"revisit"}:
            _check_response(head, request)
            response_id = head[b"warc-record-id"]
    if any(names != response_id for names in metadata_of):
        _refuse("pair", f"metadata of {metadata_of[0]!r} comes with {response_id!r}")


def _check_response(head: Head, request: Head | None) -> None:
    if request is None:
        _refuse("pair", f"{_said(head, b'warc-record-id')} has no request before it")
    named = (head.get(b"warc-concurrent-to"), request.get(b"warc-concurrent-to"))
    if named != (request[b"warc-record-id"], head[b"warc-record-id"]):
        _refuse("pair", f"request and response name {named[1]!r} and {named[0]!r}, which are not each other")
    for name in (b"warc-target-uri", b"warc-date"):
        if not head.get(name) or head.get(name) != request.get(name):
            _refuse("pair", f"the request's {_said(request, name)}, the response's {_said(head, name)}")
    if head[b"warc-type"] == b"revisit":
        required = {b"warc-profile", b"warc-refers-to-target-uri", b"warc-refers-to-date"}
        if missing := required - head.keys():
            _refuse("pair", f"a revisit without {min(missing).decode()}")


def _gunzip(member: bytes) -> bytes:
    engine = zlib.decompressobj(31)
    try:
        data: bytes = engine.decompress(member)
    except zlib.error as error:
        _refuse("member", str(error))
    if not engine.eof or engine.unused_data:
        _refuse("member", "it is not one gzip member")
    return data


def _gzip_beginning(member: bytes) -> tuple[bytes, int]:
    try:
        data = zlib.decompressobj(31).decompress(member, BEGINNING)
    except zlib.error as error:
        _refuse("member", str(error))
    # RFC 1952, section 2.3.1: the last four bytes. If something lies behind the member,
    # these bytes are wrong, and so is the length.
    return data, int.from_bytes(member[-4:], "little")


def _zstd() -> _Codec:
    engine = zstandard.ZstdDecompressor()

    def whole(member: bytes) -> bytes:
        try:
            return engine.decompress(member, allow_extra_data=False)
        except zstandard.ZstdError as error:
            _refuse("member", str(error))

    def beginning(member: bytes) -> tuple[bytes, int]:
        try:
            with engine.stream_reader(member) as reader:
                return reader.read(BEGINNING), zstandard.frame_content_size(member)
        except zstandard.ZstdError as error:
            _refuse("member", str(error))

    return _Codec(whole, beginning)


def _sha1(data: bytes | memoryview) -> bytes:
    return b"sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest())


def _sha256(data: bytes | memoryview) -> bytes:
    return b"sha256:" + hashlib.sha256(data).hexdigest().encode()


def _said(head: Head, name: bytes) -> str:
    return f"{name.decode()} is {head.get(name, b'')!r}"


def _refuse(rule: str, what: str) -> NoReturn:
    raise CorruptData(f"breaks the rule {rule!r}: {what}")
