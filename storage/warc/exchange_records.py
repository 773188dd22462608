"""WARC/1.1 records of an exchange, byte for byte as it was on the wire.

1. The block of a response or request record is what was sent, chunk framing included; that of a revisit record is the
   head of the response. Digests are SHA-1 in base32, as other WARC writers do: of the block, and of the entity after
   transfer decoding.
2. The ids of all other records derive from the response's id and the file's name: the same capture gives the same
   bytes.
3. The protocols stand in `WARC-Protocol` (`http/1.1`, `h2`, `tls/1.3`) and `WARC-Cipher-Suite`, on request and
   response.
4. Nothing that a server or a page chose can add a line to a record's head: the URL is percent-encoded, and the peer is
   parsed as an address.

`storage.warc.validator` checks the records, `storage.warc.compression` packs them, and `storage.warc.records` reads
them back.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import ip_address
from typing import Literal, NamedTuple, get_args
from urllib.parse import quote
from uuid import NAMESPACE_URL, UUID, uuid5

from thresher.core import Capture, InputError
from thresher.core.capture import Truncation
from thresher.core.standards.ip_address import format_address
from thresher.storage.warc.capture_metadata import CaptureMetadata
from thresher.storage.warc.capture_metadata import encode as encode_metadata
from thresher.storage.warc.dropped import WARC_FIELDS, DroppedPage
from thresher.storage.warc.dropped import encode as encode_dropped
from thresher.storage.warc.revisit import PROFILES, Revisit

Head = list[tuple[str, str]]
AttachmentKind = Literal["resource", "conversion", "metadata"]
Fact = Literal["id", "title", "author", "date", "language", "license", "from", "exact"]
"""What an input may say of a record beside its text: the input's own id of it, what a page would say of itself, and
`from`: the name of the input's file, by which a person finds it again. `exact` is `text` if the text is to stay byte
for byte as it is.
"""

KEPT_IN_URI = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "<>")
PAYLOAD_SHA256 = "WARC-Payload-Digest-SHA256"
"""A field of Thresher: the standard has one WARC-Payload-Digest, and its readers expect SHA-1 there
(docs/decisions/0036).
"""
REFERS_TO_FILE = "WARC-Refers-To-Filename"
"""A field that Heritrix proposed. Here it stands in a revisit of a record that another crawl wrote."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DATE = "1970-01-01T00:00:00.000Z"
VISIBLE = re.compile(r"[!-;=?-~]*+")
"""A URL that needs no escape."""
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = tuple(one + other for one in _DIGITS for other in _DIGITS)
_SHIFTS = range(150, -1, -10)
TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")
MIME = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?[\w-]+=[\w.+-]+)?", re.ASCII)


def capture_records(
    capture: Capture,
    *,
    record_id: UUID,
    revisit: Revisit | None = None,
    digest: str | None = None,
    sha256: str | None = None,
    resource_type: str = "",
) -> tuple[bytes, bytes]:
    """Return the request record and the response record, uncompressed; a revisit record instead of the response record
    if `revisit` is given. `record_id` becomes its id. `digest` and `sha256` save computing `payload_digest` and
    `payload_sha256` again. `resource_type` says what a page needed it for, if it is a part of a page;
    browsertrix-crawler writes it in the same field.

    Raise `InputError` if the peer is no IP address, the truncation is no word of the standard, or a protocol is no
    token.
    """
    response_id, request_id = record_id.urn, uuid5(record_id, "request").urn
    about: Head = [
        ("WARC-Target-URI", target_uri(capture.url.wire)),
        ("WARC-Date", warc_date(capture.started_ms)),
        *_address(capture.peer),
        *_protocols(capture),
        *([("WARC-Resource-Type", resource_type)] if resource_type else []),
    ]
    request = _record(
        [
            ("WARC-Type", "request"),
            ("WARC-Record-ID", f"<{request_id}>"),
            ("WARC-Concurrent-To", f"<{response_id}>"),
            *about,
            ("WARC-Block-Digest", sha1(capture.request)),
            ("Content-Type", "application/http; msgtype=request"),
        ],
        capture.request,
    )
    block = capture.response if revisit is None else capture.response[: capture.head_length]
    answered = payload_digest(capture) if digest is None else digest
    certain = payload_sha256(capture) if sha256 is None else sha256
    response = _record(
        [
            ("WARC-Type", "response" if revisit is None else "revisit"),
            ("WARC-Record-ID", f"<{response_id}>"),
            ("WARC-Concurrent-To", f"<{request_id}>"),
            *about,
            *(
                _payload_fields(capture, answered, certain)
                if revisit is None
                else _revisit_fields(revisit, capture, answered, certain)
            ),
            ("WARC-Block-Digest", sha1(block)),
            ("Content-Type", "application/http; msgtype=response"),
        ],
        block,
    )
    return request, response


def metadata_id(response: UUID) -> UUID:
    """Return the id of the metadata record beside the response of that id."""
    return uuid5(response, "metadata")


def metadata_record(capture: Capture, metadata: CaptureMetadata, *, record_id: UUID) -> bytes:
    """Return the metadata record beside the response of that id, uncompressed."""
    block = encode_metadata(metadata, capture)
    head = [
        ("WARC-Type", "metadata"),
        ("WARC-Record-ID", f"<{metadata_id(record_id).urn}>"),
        ("WARC-Concurrent-To", f"<{record_id.urn}>"),
        ("WARC-Target-URI", target_uri(capture.url.wire)),
        ("WARC-Date", warc_date(capture.started_ms)),
        ("WARC-Block-Digest", sha1(block)),
        ("Content-Type", WARC_FIELDS),
    ]
    return _record(head, block)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """What was made of a response, such as the DOM of a rendered page."""

    kind: AttachmentKind
    block: bytes
    uri: str
    mime: str
    date_ms: int
    truncated: Truncation | None = None


def attachment_record(attachment: Attachment, *, record_id: UUID, response_id: UUID) -> bytes:
    """Return the record of an attachment, uncompressed. A `conversion` or `metadata` refers to the response; a
    `resource` came with it.

    Raise `InputError` if `mime` is no media type.
    """
    if not MIME.fullmatch(attachment.mime):
        raise InputError(f"{attachment.mime!r} is no media type: give one such as text/html")
    digest = sha1(attachment.block)
    reference = "WARC-Concurrent-To" if attachment.kind == "resource" else "WARC-Refers-To"
    head = [
        ("WARC-Type", attachment.kind),
        ("WARC-Record-ID", f"<{record_id.urn}>"),
        (reference, f"<{response_id.urn}>"),
        ("WARC-Target-URI", target_uri(attachment.uri)),
        ("WARC-Date", warc_date(attachment.date_ms)),
        *_truncation(attachment.truncated),
        ("WARC-Payload-Digest", digest),
        ("WARC-Block-Digest", digest),
        ("Content-Type", attachment.mime),
    ]
    return _record(head, attachment.block)


class IngestedRecord(NamedTuple):
    """A record of what an input made elsewhere held."""

    data: bytes
    """The record, uncompressed."""
    uri: str
    """WARC-Target-URI."""
    digest: str
    """WARC-Payload-Digest; empty if the record has none."""
    record_id: str
    """WARC-Record-ID without its angle brackets."""


def ingested_record(  # noqa: PLR0913 - one parameter per field of the record
    kind: Literal["resource", "response"],
    block: bytes,
    *,
    uri: str,
    mime: str,
    date_ms: int,
    record_id: str,
    peer: str = "",
    facts: Mapping[Fact, str],
) -> IngestedRecord:
    """Return a record of what an input made elsewhere held: a document, or an HTTP response as it was sent.

    `record_id` is a URN. `facts` stand in `WARC-JSON-Metadata`, as browsertrix-crawler and others write it. The date of
    a record without a time is the epoch, because no clock goes into a file. Raise `InputError` if `mime` is no media
    type.
    """
    if not MIME.fullmatch(mime):
        raise InputError(f"{mime!r} is no media type: give one such as text/html")
    block_digest = sha1(block)
    digest = _entity_digest(block) if kind == "response" else block_digest
    target = target_uri(uri)
    date = warc_date(date_ms) if date_ms else EPOCH_DATE
    address = "".join([f"{name}: {value}\r\n" for name, value in _address(peer)])
    payload = f"WARC-Payload-Digest: {digest}\r\n" if digest else ""
    about = f"WARC-JSON-Metadata: {json.dumps(facts)}\r\n" if facts else ""
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <{record_id}>\r\nWARC-Target-URI: {target}\r\n"
        f"WARC-Date: {date}\r\n{address}{payload}WARC-Block-Digest: {block_digest}\r\n{about}"
        f"Content-Type: {mime}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return IngestedRecord(b"%b%b\r\n\r\n" % (head.encode(), block), target, digest, record_id)


def dropped_record(capture: Capture, dropped: DroppedPage, *, record_id: UUID) -> bytes:
    """Return the metadata record that stands for an exchange which is not archived, uncompressed."""
    block = encode_dropped(dropped)
    head = [
        ("WARC-Type", "metadata"),
        ("WARC-Record-ID", f"<{record_id.urn}>"),
        ("WARC-Target-URI", target_uri(capture.url.wire)),
        ("WARC-Date", warc_date(capture.started_ms)),
        *_address(capture.peer),
        ("WARC-Block-Digest", sha1(block)),
        ("Content-Type", WARC_FIELDS),
    ]
    return _record(head, block)


def warcinfo(filename: str, *, date_ms: int, fields: Mapping[str, str]) -> bytes:
    """Return the record that opens a file and says who made it. Line breaks in `fields` become spaces."""
    lines = [f"{_one_line(name)}: {_one_line(value)}\r\n" for name, value in fields.items()]
    body = "".join(lines).encode()
    head = [
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", f"<{uuid5(NAMESPACE_URL, filename).urn}>"),
        ("WARC-Filename", _one_line(filename)),
        ("WARC-Date", warc_date(date_ms)),
        ("WARC-Block-Digest", sha1(body)),
        ("Content-Type", WARC_FIELDS),
    ]
    return _record(head, body)


def input_list_record(filename: str, block: bytes) -> bytes:
    """Return the metadata record that lists the inputs of the file of that name (JSON lines), uncompressed.

    It refers to the file's warcinfo record. Its date is the epoch, because no clock goes into a file.
    """
    info = uuid5(NAMESPACE_URL, filename)
    head = [
        ("WARC-Type", "metadata"),
        ("WARC-Record-ID", f"<{uuid5(info, 'inputs').urn}>"),
        ("WARC-Refers-To", f"<{info.urn}>"),
        ("WARC-Target-URI", target_uri(f"urn:inputs:{filename}")),
        ("WARC-Date", warc_date(0)),
        ("WARC-Block-Digest", sha1(block)),
        ("Content-Type", "application/x-ndjson"),
    ]
    return _record(head, block)


def payload_digest(capture: Capture) -> str:
    """Return `sha1:BASE32` of the entity after transfer decoding, still content-encoded."""
    return sha1(capture.payload)


def payload_sha256(capture: Capture) -> str:
    """Return `sha256:HEX` of the same bytes: anyone can make two payloads of one SHA-1, but not of one SHA-256."""
    return f"sha256:{hashlib.sha256(capture.payload).hexdigest()}"


def target_uri(url: str) -> str:
    """Return the URL as it may stand in a head: whatever is not visible ASCII is percent-encoded as UTF-8.

    Angle brackets are encoded too: no URI has them (RFC 3986, section 2), and readers take them for those of WARC/1.0.
    """
    return url if VISIBLE.fullmatch(url) else quote(url, safe=KEPT_IN_URI, errors="surrogatepass")


def warc_date(milliseconds: int) -> str:
    """Return UTC time since the epoch as `2026-01-02T03:04:05.678Z` (W3C-DTF with a fraction, WARC/1.1 section 5.4)."""
    moment = EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


def _payload_fields(capture: Capture, digest: str, sha256: str) -> Head:
    return [*_truncation(capture.truncated), ("WARC-Payload-Digest", digest), (PAYLOAD_SHA256, sha256)]


def _revisit_fields(revisit: Revisit, capture: Capture, digest: str, sha256: str) -> Head:
    same = revisit.profile == "identical-payload-digest"
    if same and capture.truncated:
        raise InputError(f"{capture.url.wire}: a truncated payload cannot be known to equal another")
    known, certain = (digest, sha256) if same else (revisit.digest, revisit.sha256)
    return [
        ("WARC-Profile", f"{PROFILES}{revisit.profile}"),
        *([("WARC-Refers-To", f"<{revisit.refers_to}>")] if revisit.refers_to else []),
        ("WARC-Refers-To-Target-URI", target_uri(revisit.uri)),
        ("WARC-Refers-To-Date", warc_date(revisit.date_ms)),
        *([(REFERS_TO_FILE, _one_line(revisit.file))] if revisit.file else []),
        # The standard requires it if a payload is left out (section 6.7.2).
        *_truncation("length" if same else capture.truncated),
        *([("WARC-Payload-Digest", known)] if known else []),
        *([(PAYLOAD_SHA256, certain)] if certain else []),
    ]


def _entity_digest(block: bytes) -> str:
    """Return the digest of what follows the head; an empty text if that is framed, because the entity differs then."""
    head, _, entity = block.partition(b"\r\n\r\n")
    return "" if b"\ntransfer-encoding" in head.lower() else sha1(entity)


def _protocols(capture: Capture) -> Head:
    """Return the fields of the convention that is proposed for WARC (iipc/warc-specifications, issues 42 and 106)."""
    lines: Head = [("WARC-Protocol", capture.protocol)]
    if capture.tls is not None:
        lines += [("WARC-Protocol", f"tls/{capture.tls.version}"), ("WARC-Cipher-Suite", capture.tls.cipher)]
    for name, value in lines:
        if not TOKEN.fullmatch(value):
            raise InputError(f"a capture's {name} is {value!r}: give a token such as http/1.1 or tls/1.3")
    return lines


def _record(head: Head, block: bytes) -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in head])
    return b"WARC/1.1\r\n%bContent-Length: %d\r\n\r\n%b\r\n\r\n" % (lines.encode(), len(block), block)


def sha1(data: bytes) -> str:
    """Return `sha1:BASE32`, as WARC files and their indexes write it."""
    return f"sha1:{base32(hashlib.sha1(data, usedforsecurity=False).digest())}"


def base32(digest: bytes) -> str:
    """Return the 20 bytes of a SHA-1 in base32 (RFC 4648, section 6). `base64` takes four times as long, and each page
    has seven digests.
    """
    number = int.from_bytes(digest, "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


@lru_cache(maxsize=1024)
def _address(peer: str) -> Head:
    """Return the field of the peer's address; no field if the peer is unknown. A scope id belongs to this machine and
    is left out.
    """
    if not peer:
        return []
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError as error:
        raise InputError(f"a capture's peer is {peer!r}: give an IP address, or none") from error
    return [("WARC-IP-Address", format_address(address))]


def _truncation(truncated: Truncation | None) -> Head:
    if truncated is None:
        return []
    if truncated not in get_args(Truncation):
        raise InputError(
            f"a capture's truncation is {truncated!r}: give one of {', '.join(get_args(Truncation))}"
        )
    return [("WARC-Truncated", truncated)]


def _one_line(text: str) -> str:
    return " ".join(text.split())
