"""`Origin`: an input and the way it is read. Write its records, and decide whether the input is refused."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from thresher.core import Failure, InputError, failure_boundary
from thresher.storage.inputs.entry import HTTP_RESPONSE, CopiedRecord, InputRecord, Item, UnusableRecord
from thresher.storage.manifest import JSON, recipe_difference
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.exchange_records import IngestedRecord, ingested_record

MAX_HEAD_LENGTH = 32 << 10
"""Longest head of a record in bytes: FastWARC reads no longer one."""
PASSED_OVER = "passed_over."
"""Prefix of the counts of records that were passed over; the reason code follows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """An input and the way it is read."""

    name: str
    """The path or address that the user gave."""
    stem: str
    """Name of its volumes, without their number."""
    identity: str
    """Identity of the input, which no other input has: `sha256:HEX` of a file."""
    reader: str
    """`name@version` of the kind (`input_kinds.InputKind.name`)."""
    options: Mapping[str, JSON]
    """All other settings that change the records made of the input."""
    rows: bool = False
    """Whether most of its records must be good."""

    @property
    def reading_options(self) -> dict[str, JSON]:
        """The reader and its options: the same input read with others would make other records."""
        return {"reader": self.reader, "options": dict(self.options)}


def write_record(origin: Origin, item: Item) -> bytes | UnusableRecord:
    """Return the WARC record of an item as a gzip member; return an `UnusableRecord` if it cannot be written.

    The same item of the same input gives the same bytes.
    """
    if not isinstance(item, InputRecord):
        return item.member if isinstance(item, CopiedRecord) else item
    made = record_of(origin, item)
    return made if isinstance(made, UnusableRecord) else gzip_member(made.data)


def record_of(origin: Origin, item: InputRecord) -> IngestedRecord | UnusableRecord:
    """Return the WARC record of an item, uncompressed; return an `UnusableRecord` if it cannot be written."""
    try:
        with failure_boundary("write"):
            made = ingested_record(
                warc_type(item),
                item.payload,
                uri=item.uri,
                mime=item.mime,
                date_ms=item.date_ms,
                record_id=f"{_id_beginning(origin.identity)}{item.place:012x}",
                peer=item.peer,
                facts=item.facts,
            )
    except Failure as failure:
        return UnusableRecord(place=item.place, reason=failure.reason, detail=str(failure))
    if made.data.find(b"\r\n\r\n") > MAX_HEAD_LENGTH:
        return UnusableRecord(place=item.place, reason="head_too_long", detail=item.uri[:200])
    return made


def warc_type(entry: InputRecord) -> Literal["response", "resource"]:
    """Return the WARC type of the record that `entry` becomes."""
    return "response" if entry.mime == HTTP_RESPONSE else "resource"


@lru_cache(8)
def _id_beginning(identity: str) -> str:
    """Return the beginning of the record ids of an input, 80 bits of its identity; the number of the record follows.

    It is a UUID of version 8 (RFC 9562, section 5.8). A hash of both would be as unique, but no record would share a
    byte of it with another, so it would be a large part of what a short record takes.
    """
    digits = hashlib.sha256(identity.encode()).hexdigest()
    return f"urn:uuid:{digits[:8]}-{digits[8:12]}-8{digits[12:15]}-8{digits[15:18]}-"


def require_good(origin: Origin, *, good: int, passed: int, first_bad: str) -> None:
    """Raise `InputError` if none of the records can be used, or if more rows of a table are bad than good."""
    if not good:
        raise InputError(f"ingest {origin.name}: no record in it can be used; {first_bad or 'it holds none'}")
    if origin.rows and passed > good:
        raise InputError(
            f"ingest {origin.name}: more bad rows than good ones ({passed:,} of {passed + good:,});"
            f" the first: {first_bad}"
        )


def require_same_reading(origin: Origin, source: str, reading_options: Mapping[str, JSON]) -> None:
    """Raise `InputError` if the source holds the input already, but read with other options (`reading_options`)."""
    if difference := recipe_difference(reading_options, origin.reading_options):
        raise InputError(
            f"ingest {origin.name}: {source} holds it already, read with other options: {difference};"
            " use the same options, or another source"
        )


def passed_over(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the number of records passed over, by reason, from the counts of a Manifest or an input."""
    return {
        kind.removeprefix(PASSED_OVER): count
        for kind, count in counts.items()
        if kind.startswith(PASSED_OVER)
    }
