"""A record of the archive to a `Document`, or a `Skip` with its reason."""

import hashlib
from importlib.metadata import version
from typing import Protocol

from core import Document, RecordRef
from extract.charset import decode
from extract.html import extract
from extract.skip import Skip

EXTRACTOR = f"trafilatura@{version('trafilatura')}"
HTML = frozenset({"text/html", "application/xhtml+xml"})


class Record(Protocol):
    """What is needed of an archived response."""

    @property
    def url(self) -> str: ...
    @property
    def date_ms(self) -> int: ...
    @property
    def status(self) -> int | None: ...
    @property
    def mime(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def ref(self) -> RecordRef: ...
    def header(self, name: str) -> str | None: ...


def document_id(source: str, record: RecordRef) -> str:
    """32 hexadecimal digits for a record of a source; the same in every run, and for no other record.

    Made of where the record lies: sealed files never change, and WARC-Record-IDs of other people's archives are
    missing, or there twice.
    """
    return hashlib.blake2b(f"{source}\0{record.file}\0{record.offset}".encode(), digest_size=16).hexdigest()


def document(record: Record, source: str) -> Document | Skip:
    """Extract one response. Its language is left empty: recognising it is a filter's work."""
    if record.status != 200:
        return Skip(reason="status")
    if record.mime not in HTML:
        return Skip(reason="not_html")
    decoded = decode(record.payload, record.header("content-type"))
    found = extract(decoded.text, record.url)
    if isinstance(found, Skip):
        return found
    return Document(
        id=document_id(source, record.ref),
        url=record.url,
        text=found.text,
        title=found.title,
        date=found.date,
        language="",
        declared_language=found.declared_language,
        license=found.license,
        mime=record.mime,
        charset=decoded.charset,
        extractor=EXTRACTOR,
        source=source,
        external_id="",
        fetched_at_ms=record.date_ms,
        record=record.ref,
    )
