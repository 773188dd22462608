"""A record of the archive to a `Document`, or a `Skip` with its reason."""

import hashlib
import re
from importlib.metadata import version
from typing import Protocol

from core import Document, RecordRef
from extract.charset import decode
from extract.html import extract
from extract.rights import Rights, rights
from extract.skip import Skip
from extract.suspicion import suspicion

EXTRACTOR = f"trafilatura@{version('trafilatura')}"
HTML = frozenset({"text/html", "application/xhtml+xml"})


LOOKED_AT = 65_536
"""Characters that are looked at to see whether a payload is text at all."""
MOST_UNREADABLE = 0.1
"""Share of controls and U+FFFD beyond which it is not: a picture has a third, the worst real page 2 %."""
UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")


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
    def headers(self) -> tuple[tuple[str, str], ...]: ...
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
    """Extract one response. Its language is left empty: recognising it is a filter's work.

    A truncated page is extracted like another. Reasons of a `Skip`: see there.
    """
    if record.status != 200:
        return Skip(reason="status")
    if record.mime not in HTML:
        return Skip(reason="not_html")
    if not record.payload.strip():
        return Skip(reason="empty_body")
    decoded = decode(record.payload, record.header("content-type"))
    why = (
        "undecodable"
        if _is_binary(decoded.text)
        else suspicion(record.header, decoded.text.encode(errors="replace"))
    )
    if why is not None:
        return Skip(reason=why)
    found = extract(decoded.text, record.url)
    if isinstance(found, Skip):
        return found
    said = rights(record.headers, found.metas, at_ms=record.date_ms)
    return Document(
        id=document_id(source, record.ref),
        url=record.url,
        text=found.text,
        title=found.title,
        date=found.date,
        language="",
        declared_language=found.declared_language,
        license=found.license,
        robots=",".join(said.robots),
        tdm_reservation=said.tdm_reservation,
        tdm_policy=said.tdm_policy,
        mime=record.mime,
        charset=decoded.charset,
        extractor=EXTRACTOR,
        source=source,
        external_id="",
        fetched_at_ms=record.date_ms,
        record=record.ref,
    )


def rights_of(document: Document) -> Rights:
    """What a document's page said of its use."""
    return Rights(
        robots=tuple(filter(None, document.robots.split(","))),
        tdm_reservation=document.tdm_reservation,
        tdm_policy=document.tdm_policy,
    )


def _is_binary(text: str) -> bool:
    start = text[:LOOKED_AT]
    return len(UNREADABLE.findall(start)) > MOST_UNREADABLE * len(start)
