"""WARC/1.1 records of a capture, byte for byte as it came over the wire.

1. The block of a response or request record is what was sent, chunk framing included. Digests are SHA-1 in
   base32, as the rest of the world writes them: of the block, and of the entity after transfer decoding.
2. Ids of request and warcinfo records derive from the response's id and the file's name: the same capture
   gives the same bytes.
3. A record is one gzip member of its own, so that seeking to its offset is enough to read it.
4. Nothing that a server or a page chose can add a line to a record's head: the URL is percent-encoded, the
   peer is parsed as an address.

Records are read back by `storage.records`.
"""

import base64
import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Literal, get_args
from urllib.parse import quote
from uuid import NAMESPACE_URL, UUID, uuid5

from isal import igzip

from core import Capture, InputError
from core.capture import Truncation
from storage.dropped import WARC_FIELDS, Dropped, encode
from storage.records import ArchivedRecord, read

__all__ = [
    "ArchivedRecord",
    "Attachment",
    "attached_record",
    "capture_records",
    "dropped_record",
    "member",
    "payload_digest",
    "read",
    "target_uri",
    "warcinfo",
]

Attachment = Literal["resource", "conversion", "metadata"]

LEVEL = 1
"""isal compresses some 2.5 times as fast as zlib's level 1, to about the size of its level 3."""
KEPT_IN_URI = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "<>")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def capture_records(capture: Capture, *, record_id: UUID, resource_type: str = "") -> tuple[bytes, bytes]:
    """The request record and the response record, uncompressed. `record_id` becomes the response's.

    Raises `InputError` where the peer is no IP address or the truncation no word of the standard.
    """
    uri, date, peer = target_uri(capture.url.wire), warc_date(capture.started_ms), _address(capture.peer)
    peer += [("WARC-Resource-Type", resource_type)] if resource_type else []
    response_id, request_id = record_id.urn, uuid5(record_id, "request").urn
    request = _record(
        [
            ("WARC-Type", "request"),
            ("WARC-Record-ID", f"<{request_id}>"),
            ("WARC-Concurrent-To", f"<{response_id}>"),
            ("WARC-Target-URI", uri),
            ("WARC-Date", date),
            *peer,
            ("WARC-Block-Digest", _sha1(capture.request)),
            ("Content-Type", "application/http; msgtype=request"),
        ],
        capture.request,
    )
    response = _record(
        [
            ("WARC-Type", "response"),
            ("WARC-Record-ID", f"<{response_id}>"),
            ("WARC-Concurrent-To", f"<{request_id}>"),
            ("WARC-Target-URI", uri),
            ("WARC-Date", date),
            *peer,
            *_truncation(capture.truncated),
            ("WARC-Payload-Digest", payload_digest(capture)),
            ("WARC-Block-Digest", _sha1(capture.response)),
            ("Content-Type", "application/http; msgtype=response"),
        ],
        capture.response,
    )
    return request, response


def attached_record(
    kind: Attachment,
    block: bytes,
    *,
    uri: str,
    mime: str,
    date_ms: int,
    record_id: UUID,
    response_id: UUID,
) -> bytes:
    """What was made of a response, uncompressed: a `conversion` refers to it, other kinds came with it."""
    head = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<{record_id.urn}>"),
        ("WARC-Refers-To" if kind == "conversion" else "WARC-Concurrent-To", f"<{response_id.urn}>"),
        ("WARC-Target-URI", target_uri(uri)),
        ("WARC-Date", warc_date(date_ms)),
        ("WARC-Payload-Digest", _sha1(block)),
        ("WARC-Block-Digest", _sha1(block)),
        ("Content-Type", mime),
    ]
    return _record(head, block)


def dropped_record(capture: Capture, dropped: Dropped, *, record_id: UUID) -> bytes:
    """The metadata record that stands for an exchange which is not archived, uncompressed."""
    block = encode(dropped)
    head = [
        ("WARC-Type", "metadata"),
        ("WARC-Record-ID", f"<{record_id.urn}>"),
        ("WARC-Target-URI", target_uri(capture.url.wire)),
        ("WARC-Date", warc_date(capture.started_ms)),
        *_address(capture.peer),
        ("WARC-Block-Digest", _sha1(block)),
        ("Content-Type", WARC_FIELDS),
    ]
    return _record(head, block)


def warcinfo(filename: str, *, date_ms: int, fields: Mapping[str, str]) -> bytes:
    """The record that opens a file and says who made it; line breaks in `fields` become spaces."""
    lines = [f"{_one_line(name)}: {_one_line(value)}\r\n" for name, value in fields.items()]
    body = "".join(lines).encode()
    head = [
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", f"<{uuid5(NAMESPACE_URL, filename).urn}>"),
        ("WARC-Filename", _one_line(filename)),
        ("WARC-Date", warc_date(date_ms)),
        ("WARC-Block-Digest", _sha1(body)),
        ("Content-Type", WARC_FIELDS),
    ]
    return _record(head, body)


def member(record: bytes) -> bytes:
    """The record as one gzip member, without time or name in its header."""
    compressed: bytes = igzip.compress(record, LEVEL, mtime=0)
    return compressed


def payload_digest(capture: Capture) -> str:
    """`sha1:BASE32` of the entity after transfer decoding, still content-encoded."""
    return _sha1(capture.payload)


def target_uri(url: str) -> str:
    """The URL as it may stand in a head: whatever is not visible ASCII is percent-encoded as UTF-8.

    So are angle brackets: no URI has them (RFC 3986, section 2), and readers take them for WARC/1.0's.
    """
    return quote(url, safe=KEPT_IN_URI, errors="surrogatepass")


def warc_date(milliseconds: int) -> str:
    """UTC time since the epoch as `2026-01-02T03:04:05.678Z` (W3C-DTF with a fraction, WARC/1.1 section 5.4)."""
    moment = EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _record(head: list[tuple[str, str]], block: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in head)
    return b"WARC/1.1\r\n%bContent-Length: %d\r\n\r\n%b\r\n\r\n" % (lines.encode(), len(block), block)


def _sha1(data: bytes) -> str:
    digest = hashlib.sha1(data, usedforsecurity=False).digest()
    return f"sha1:{base64.b32encode(digest).decode()}"


def _address(peer: str) -> list[tuple[str, str]]:
    """None for a peer that is not known. A scope id belongs to this machine and is left out."""
    if not peer:
        return []
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError as error:
        raise InputError(f"a capture's peer is {peer!r}: give an IP address, or none") from error
    return [("WARC-IP-Address", str(address))]


def _truncation(truncated: Truncation | None) -> list[tuple[str, str]]:
    if truncated is None:
        return []
    if truncated not in get_args(Truncation):
        raise InputError(
            f"a capture's truncation is {truncated!r}: give one of {', '.join(get_args(Truncation))}"
        )
    return [("WARC-Truncated", truncated)]


def _one_line(text: str) -> str:
    return " ".join(text.split())
