"""Records read back: one stream of `ArchivedRecord`s from any WARC file, whoever wrote it.

1. Every record and every damaged stretch of the file is one `ArchivedRecord`. Nothing is skipped in silence, and
   nothing in a file can raise. `problem` says what is wrong.
2. `ref.offset` and `ref.length` are bytes of the stored file: reading them gives the record alone.
3. Payloads are decoded (chunks, then content encodings) as far as possible, and never exceed `limit`.
"""

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, NamedTuple

from fastwarc.warc import HeaderMap, WarcRecord

from thresher.core import Failure, InputError, RecordRef, failure_boundary
from thresher.core.standards.moment import parse_moment
from thresher.storage.store import Store
from thresher.storage.warc.dropped import DROPPED, WARC_FIELDS
from thresher.storage.warc.dropped import decode as dropped
from thresher.storage.warc.exchange_records import PAYLOAD_SHA256, REFERS_TO_FILE
from thresher.storage.warc.members import HEAD_END, LENGTH, NO_RECORD, PLAIN, Member, members
from thresher.storage.warc.payload import TOO_LONG, decode_content, decode_transfer
from thresher.storage.warc.revisit import REVISIT, Revisit, profile_of

PAYLOAD_LIMIT = 64 << 20
"""Maximum bytes of a payload, and of a record's block."""
HEAD_ROOM = 1 << 20
"""Bytes that a record may have besides the payload: WARC head, HTTP head, chunk framing."""

DAMAGED = "damaged"
MANY_RECORDS = "many_records_in_one_member"
NO_HEAD = "no_http_head"

WRONG_LENGTH = "wrong_length"

PAGE_TYPES = frozenset({"response", REVISIT, "resource", "conversion", DROPPED, DAMAGED})
"""Types of the records that may hold a page, or stand for one. Each of them gets a verdict, and only they do."""
HTTP_TYPES = ("response", "request", REVISIT)
HEADERS_OF_PAYLOAD = ("transfer-encoding", "content-encoding", "content-type")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LF_LINE = re.compile(rb"[^\r\n]*\n")
CRLF_HEAD_END = re.compile(rb"\r\n\r\n")
STATUS_LINE = re.compile(rb"(?:HTTP/\d(?:\.\d+)?|ICY)[ \t]+(\d{1,3})(?!\d)", re.IGNORECASE)
"""What browsers accept as a status line and FastWARC does not: `http/1.1 200`, `ICY 200 OK`."""
MIME = re.compile(r"\s*([\w.+-]+/[\w.+-]+)", re.ASCII)
BLANK = b"\r\n\0 "


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRecord:
    """One record of an archive, or one damaged stretch of it."""

    type: str
    """WARC-Type in lower case (`response`, `request`, `revisit`, `conversion`, ...). `damaged` stands for bytes that
    hold no readable record; its other fields are empty. `dropped` stands for a metadata record about a page that was
    not archived (`storage.warc.dropped` reads its payload).
    """
    record_id: str
    """WARC-Record-ID without its angle brackets: `urn:uuid:...`."""
    url: str
    """WARC-Target-URI as written there, without angle brackets."""
    date_ms: int
    """WARC-Date in milliseconds since the epoch, UTC; 0 if it has none that can be read."""
    status: int | None
    """Status of the HTTP head, if the record has one."""
    headers: tuple[tuple[str, str], ...]
    """Headers of the HTTP head, in its order, bytes as latin-1; for a record without one, its own Content-Type."""
    mime: str
    """Type of the payload without parameters, lower case: that of the HTTP head, else of the record."""
    payload: bytes
    """The decoded entity; the block itself if it is no HTTP message."""
    truncated: str | None
    """WARC-Truncated."""
    ref: RecordRef
    problem: str | None
    """Reason code of what is wrong with the record, or None."""
    resource_type: str = ""
    """WARC-Resource-Type: what a page needed it for, if it is a part of one (`script`, `xhr`, ...)."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """The texts of WARC-JSON-Metadata: what an input said of an ingested record (`storage.warc.exchange_records.Fact`).
    """
    sha256: str = ""
    """SHA-256 of the payload, `sha256:HEX`, if Thresher wrote the record."""
    revisit: Revisit | None = None
    """What a revisit record refers to, if it says so in the words of the standard; None for any other record."""

    @property
    def offset(self) -> int:
        """First byte in the stored file."""
        return self.ref.offset

    @property
    def length(self) -> int:
        """Stored bytes."""
        return self.ref.length

    def header(self, name: str) -> str | None:
        """Return the value of the first HTTP header of that name, in any case."""
        lower = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower), None)


def read_records(
    file: BinaryIO,
    first: int = 0,
    end: int | None = None,
    *,
    name: str,
    limit: int = PAYLOAD_LIMIT,
    on_member: Callable[[Member], None] | None = None,
) -> Iterator[ArchivedRecord]:
    """Yield the records that begin at byte `first` or later, and before byte `end`, in the order of the file.

    `first` is 0 or the offset of a record; `read_records(file, offset, offset + 1, name=...)` reads one record alone.
    `name` is what `ref`s and errors call the file. `on_member` gets each record as it lies there, before it is parsed.
    Raise `InputError` if the file is no WARC.
    """
    for member in members(file, first, end, limit + HEAD_ROOM, name=name):
        if member.problem is None and not member.data.strip(BLANK):
            continue
        if on_member is not None:
            on_member(member)
        try:
            with failure_boundary("record"):
                record = _record(member, name, limit)
        except Failure as failure:
            record = _damaged(member, name, failure.reason)
        if record.offset == 0 and record.type == DAMAGED and record.problem in (MANY_RECORDS, NO_RECORD):
            raise _refusal(name, member, record.problem)
        yield record


def record_at(store: Store, ref: RecordRef) -> ArchivedRecord:
    """Return the record that was read at `ref` before."""
    with store.open(ref.file) as file:
        return next(read_records(file, ref.offset, ref.offset + 1, name=ref.file))


def page_records(counts: Mapping[str, int]) -> int:
    """Return how many of an archive file's records, counted by type, may hold a page or stand for one."""
    return sum(counts.get(kind, 0) for kind in PAGE_TYPES)


def block_of(member: Member) -> bytes | None:
    """Return the block of a record as it lies in the file; None if the record has no head, or is too long for
    memory.
    """
    begin = _head_end(member.data)
    length = LENGTH.search(member.data, 0, begin.end()) if begin else None
    if begin is None or length is None or not member.is_whole:
        return None
    return member.data[begin.end() :][: int(length[1])]


def mime_of(content_type: str | None) -> str:
    """Return `text/html` of `Text/HTML; charset=utf-8`; an empty text if there is none."""
    found = MIME.match(content_type or "")
    return found[1].lower() if found else ""


def _refusal(name: str, member: Member, problem: str) -> InputError:
    remedy = "`thresher ingest` reads it"
    if problem == MANY_RECORDS:
        return InputError(f"{name} holds many records in one compressed member; {remedy}")
    if member.data.startswith(b"filedesc:"):
        return InputError(f"{name} is an ARC file, not a WARC; {remedy}")
    return InputError(
        f"{name} is no WARC file: no record begins in its first bytes; give WARC, plain or compressed"
    )


def _record(member: Member, file: str, limit: int) -> ArchivedRecord:
    if member.problem:
        return _damaged(member, file, member.problem)
    begin = _head_end(member.data)
    try:
        record = WarcRecord.from_reader(io.BytesIO(member.data), _is_lf_only(member.data))
        head = record.headers
        length = int(_value(head, "Content-Length"))
    except (OSError, ValueError):
        return _damaged(member, file, NO_RECORD)
    if begin is None or length < 0:
        return _damaged(member, file, NO_RECORD)
    block, beyond = member.data[begin.end() :][:length], member.data[begin.end() + length :].strip(BLANK)
    if beyond.startswith(PLAIN):
        return _damaged(member, file, MANY_RECORDS)
    problem = None if member.is_whole else TOO_LONG
    if member.is_whole and (beyond or len(block) < length):
        problem = WRONG_LENGTH
    kind = _value(head, "WARC-Type").lower() or "unknown"
    mime = mime_of(head.get("Content-Type"))
    if kind in HTTP_TYPES and mime == "application/http":
        try:
            with failure_boundary("http"):
                found = _http(record, block, limit, kind)
        except Failure as failure:
            found = _Found(block[:limit], failure.reason)
    else:
        found = _Found(
            mime=mime,
            payload=block[:limit],
            problem=TOO_LONG if len(block) > limit else None,
            headers=(("Content-Type", _value(head, "Content-Type")),),
        )
    stands_for_a_page = kind == "metadata" and mime == WARC_FIELDS and not (problem or found.problem)
    if stands_for_a_page and dropped(block) is not None:
        kind = DROPPED
    return ArchivedRecord(
        type=kind,
        record_id=_unbracketed(_value(head, "WARC-Record-ID")),
        url=_unbracketed(_value(head, "WARC-Target-URI")),
        date_ms=_milliseconds(record),
        status=found.status,
        headers=found.headers,
        mime=found.mime,
        payload=found.payload,
        truncated=_value(head, "WARC-Truncated") or None,
        ref=RecordRef(
            file=file,
            offset=member.offset,
            length=member.length,
            digest=_value(head, "WARC-Payload-Digest"),
        ),
        problem=problem or found.problem,
        resource_type=_value(head, "WARC-Resource-Type"),
        facts=_facts(_value(head, "WARC-JSON-Metadata")),
        sha256=_value(head, PAYLOAD_SHA256),
        revisit=_revisit(head) if kind == REVISIT else None,
    )


def _is_lf_only(data: bytes) -> bool:
    return LF_LINE.match(data) is not None


def _head_end(data: bytes) -> re.Match[bytes] | None:
    return (HEAD_END if _is_lf_only(data) else CRLF_HEAD_END).search(data)


def _facts(written: str) -> dict[str, str]:
    if not written:
        return {}
    try:
        facts = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    return (
        {name: value for name, value in facts.items() if isinstance(value, str)}
        if isinstance(facts, dict)
        else {}
    )


def _revisit(head: HeaderMap) -> Revisit | None:
    profile = profile_of(_value(head, "WARC-Profile"))
    uri, date = _unbracketed(_value(head, "WARC-Refers-To-Target-URI")), _value(head, "WARC-Refers-To-Date")
    if profile is None or not uri:
        return None
    try:
        return Revisit(
            profile=profile,
            refers_to=_unbracketed(_value(head, "WARC-Refers-To")),
            uri=uri,
            date_ms=(parse_moment(date) - EPOCH) // timedelta(milliseconds=1),
            digest=_value(head, "WARC-Payload-Digest"),
            sha256=_value(head, PAYLOAD_SHA256),
            file=_value(head, REFERS_TO_FILE),
        )
    except (InputError, ValueError, TypeError):
        return None


class _Found(NamedTuple):
    payload: bytes
    problem: str | None
    mime: str = ""
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


def _http(record: WarcRecord, block: bytes, limit: int, kind: str) -> _Found:
    record.is_http = True
    try:
        record.parse_http("none", HEAD_ROOM, _is_lf_only(block))
        status = record.http_headers.status_code
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in record.http_headers.items_bytes()
        )
        entity = record.reader.read()
    except OSError:
        status, headers, entity = None, (), b""
    if status is None and kind != "request":
        odd = _odd_head(block)
        if odd is None:
            return _Found(block[:limit], NO_HEAD if block else None)
        status, headers, entity = odd
    transfer, encodings, types = (_values(headers, name) for name in HEADERS_OF_PAYLOAD)
    entity, problem = decode_transfer(entity, transfer, limit) if transfer else (entity, None)
    payload, undecoded = decode_content(entity, encodings, limit)
    return _Found(payload, problem or undecoded, mime_of(types), status, headers)


def _odd_head(block: bytes) -> tuple[int, tuple[tuple[str, str], ...], bytes] | None:
    """Return status, headers and entity of a response with an odd status line; None if it has none."""
    status_line, end = STATUS_LINE.match(block), HEAD_END.search(block)
    if status_line is None or end is None:
        return None
    lines = (line.partition(b":") for line in block[: end.start()].splitlines()[1:])
    headers = tuple(
        (name.strip().decode("latin-1"), value.strip().decode("latin-1"))
        for name, colon, value in lines
        if colon
    )
    return int(status_line[1]), headers, block[end.end() :]


def _values(headers: tuple[tuple[str, str], ...], name: str) -> str:
    return ",".join(value for key, value in headers if key.lower() == name)


def _damaged(member: Member, file: str, problem: str) -> ArchivedRecord:
    return ArchivedRecord(
        type=DAMAGED,
        record_id="",
        url="",
        date_ms=0,
        status=None,
        headers=(),
        mime="",
        payload=b"",
        truncated=None,
        ref=RecordRef(file=file, offset=member.offset, length=member.length, digest=""),
        problem=problem,
    )


def _value(head: HeaderMap, name: str) -> str:
    return (head.get(name) or "").strip()


def _unbracketed(value: str) -> str:
    """Return the URI without angle brackets: some writers put a URL in them (an erratum of WARC/1.0), and all should
    put a record id in them.
    """
    return value.removeprefix("<").removesuffix(">")


def _milliseconds(record: WarcRecord) -> int:
    date = record.record_date
    return 0 if date is None else (date - EPOCH) // timedelta(milliseconds=1)
