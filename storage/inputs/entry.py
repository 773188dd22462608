"""Define the items that a reader yields: one record of an input, whatever the input's format is.

1. A reader yields one item for each record of its input, in their order, and counts all of them: `place` tells where an
   interrupted ingestion continues.
2. A reader streams: memory is bounded by the longest record, and a record by `MAX_PAYLOAD_BYTES`.
3. A record that cannot be read becomes an `UnusableRecord`. If an input is not what it claims to be, the reader raises
   an `InputError` that names the file and the line.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, TypeAlias

from thresher.core import Failure, failure_boundary
from thresher.storage.columns.row_values import InputColumns
from thresher.storage.warc.exchange_records import Fact
from thresher.storage.warc.members import BROKEN, CUT_OFF, NO_RECORD
from thresher.storage.warc.payload import TOO_LONG
from thresher.storage.warc.records import WRONG_LENGTH

MAX_PAYLOAD_BYTES = 64 << 20
"""Largest payload of a record, in bytes."""
MAX_COPIED_BYTES = 256 << 20
"""Largest WARC record that is copied unchanged, in bytes."""
HTTP_RESPONSE = "application/http; msgtype=response"
"""Media type of a payload that is an HTTP message with head and body.

It becomes a `response` record; a payload of any other type becomes a `resource` record.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRecord:
    """One record that can be archived."""

    place: int
    """Number of the record in its input, from 0."""
    uri: str
    """URL of the record. If it has none: `file:NAME#line=N` (RFC 5147), which is unique within the input."""
    mime: str
    """Media type of the payload: `text/plain; charset=utf-8`, `text/html; charset=utf-8`, `text/x-wiki; charset=utf-8`,
    ...
    """
    payload: bytes
    date_ms: int = 0
    """Time of the fetch in milliseconds since the epoch, UTC; 0 if the input does not say."""
    peer: str = ""
    """IP address of the server that sent it; empty if the input does not say."""
    facts: Mapping[Fact, str] = field(default_factory=dict)
    columns: InputColumns | None = None
    """Columns of its row that the record does not hold; None if the input is no table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRecord:
    """One record that is a WARC record already and is archived byte for byte."""

    place: int
    member: bytes
    """The record as one gzip member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusableRecord:
    """One record that ingestion passes over and counts."""

    place: int
    reason: str
    """Reason code, such as `no_text`, `broken_json`, `too_long`."""
    detail: str
    """Place and problem for people: `line 7: Expecting value`."""


def guard(
    place: int, where: str, make: Callable[[], InputRecord | UnusableRecord]
) -> InputRecord | UnusableRecord:
    """Return the result of `make`. If it fails (`core.Failure`), return an `UnusableRecord` that says why."""
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
"""Text for people, by reason code, of each kind of damage in an archive."""
Item: TypeAlias = InputRecord | CopiedRecord | UnusableRecord
Reader: TypeAlias = Callable[[BinaryIO, str, int], Iterator[Item]]
"""`reader(file, name, first)` yields the items from number `first` on.

`file` is uncompressed and at its beginning; `name` is the name of the input in errors and URIs.
"""
