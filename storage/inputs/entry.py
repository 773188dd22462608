"""`Entry`: one record of an input, whatever it was made with, as it will lie in the archive.

1. A reader gives one item for each record of its input, in their order, and counts all: `place` says where to go on.
2. It streams: memory is bounded by the longest record, and a record by `LONGEST`.
3. A record that cannot be read is an `Unusable`; an input that is not what it says is an `InputError` that names the file
   and the line.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, TypeAlias

from core import Failure, failure_boundary
from storage.warc.exchange_records import Fact
from storage.warc.members import BROKEN, CUT_OFF, NO_RECORD
from storage.warc.payload import TOO_LONG
from storage.warc.records import WRONG_LENGTH

MAX_PAYLOAD_BYTES = 64 << 20
"""Bytes of a payload."""
LONGEST_COPIED = 256 << 20
"""Bytes of a WARC record that is copied as it lies."""
HTTP_RESPONSE = "application/http; msgtype=response"
"""Type of a payload that is an HTTP message, head and body: it becomes a `response` record, all others a `resource`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRecord:
    """One record that can be archived."""

    place: int
    """Number of the record in its input, from 0."""
    uri: str
    """Its URL; where it has none, `file:NAME#line=N` (RFC 5147), which no other record of the input has."""
    mime: str
    """Of the payload: `text/plain; charset=utf-8`, `text/html; charset=utf-8`, `text/x-wiki; charset=utf-8`, ..."""
    payload: bytes
    date_ms: int = 0
    """When it was fetched, milliseconds since the epoch, UTC; 0 where the input does not say."""
    peer: str = ""
    """IP address of the server that it came from, where the input says."""
    facts: Mapping[Fact, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRecord:
    """One record that is WARC already, and is archived byte for byte."""

    place: int
    member: bytes
    """The record as one gzip member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusableRecord:
    """One record that is passed over, and counted."""

    place: int
    reason: str
    """Reason code, such as `no_text`, `broken_json`, `too_long`."""
    detail: str
    """Where and what, for people: `line 7: Expecting value`."""


def guard(
    place: int, where: str, make: Callable[[], InputRecord | UnusableRecord]
) -> InputRecord | UnusableRecord:
    """Return what `make` returns; where the record makes it fail (`core.Failure`), an `UnusableRecord` that says so."""
    try:
        with failure_boundary("record"):
            return make()
    except Failure as failure:
        return UnusableRecord(place=place, reason=failure.reason, detail=f"{where}: {failure}")


DAMAGE: Mapping[str, str] = {
    BROKEN: "the compressed bytes are damaged",
    CUT_OFF: "the file breaks off",
    NO_RECORD: "there is no record",
    TOO_LONG: "the record is too long",
    WRONG_LENGTH: "the record does not say how long it is",
}
"""What is wrong where an archive holds no record that can be used, by reason code."""
Item: TypeAlias = InputRecord | CopiedRecord | UnusableRecord
Reader: TypeAlias = Callable[[BinaryIO, str, int], Iterator[Item]]
"""`reader(file, name, first)`: the records from number `first` on; `file` is at its beginning and not compressed; `name` is
what errors and URIs call it."""
