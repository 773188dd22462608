"""`Facts`: what Common Crawl's index says of a record, as the metadata record that lies in front of it in our archive.

The record itself stays byte for byte what Common Crawl has; the block of this one is `application/warc-fields` (WARC/1.1, section 6.6),
and it refers to the other (`WARC-Refers-To`). In front, as what a browser made of a page is: who reads a part of a file has it at hand.
"""

from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from storage.commoncrawl.index.row import CrawlIndexRow
from storage.warc.dropped import WARC_FIELDS
from storage.warc.exchange_records import attachment_record
from storage.warc.records import ArchivedRecord

FROM = "from"
LINE = "\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFacts:
    """What is known of one record beside its bytes; empty where the index of its crawl does not say."""

    filename: str
    """Where it came from: `crawl-data/...warc.gz`, and the bytes there."""
    offset: int
    length: int
    digest: str = ""
    """SHA-1 of the payload in base32."""
    mime_detected: str = ""
    charset: str = ""
    languages: str = ""
    """ISO 639-3, the one with the most text first."""
    truncated: str = ""


def of_row(row: CrawlIndexRow) -> IndexFacts:
    """The facts of a row."""
    return IndexFacts(
        filename=row.filename,
        offset=row.offset,
        length=row.length,
        digest=row.digest,
        mime_detected=row.mime_detected,
        charset=row.charset,
        languages=row.languages,
        truncated=row.truncated,
    )


def encode(facts: IndexFacts) -> bytes:
    """The block."""
    lines = {
        FROM: facts.filename,
        "offset": str(facts.offset),
        "length": str(facts.length),
        "digest": facts.digest,
        "mime-detected": facts.mime_detected,
        "charset": facts.charset,
        "languages": facts.languages,
        "truncated": facts.truncated,
    }
    return "".join(
        f"{name}: {' '.join(value.split())}{LINE}" for name, value in lines.items() if value
    ).encode(errors="backslashreplace")


def decode(block: bytes) -> IndexFacts | None:
    """The facts in a block; None where it holds others."""
    said: dict[str, str] = {}
    for line in block.decode(errors="replace").split("\n"):
        name, _, value = line.partition(":")
        said.setdefault(name.strip().lower(), value.strip())
    try:
        return IndexFacts(
            filename=said[FROM],
            offset=int(said["offset"]),
            length=int(said["length"]),
            digest=said.get("digest", ""),
            mime_detected=said.get("mime-detected", ""),
            charset=said.get("charset", ""),
            languages=said.get("languages", ""),
            truncated=said.get("truncated", ""),
        )
    except (KeyError, ValueError):
        return None


def facts_record(row: CrawlIndexRow, *, date_ms: int, response_id: UUID) -> bytes:
    """The metadata record of a row, uncompressed; `response_id` is that of the record that it tells of."""
    return attachment_record(
        "metadata",
        encode(of_row(row)),
        uri=row.url,
        mime=WARC_FIELDS,
        date_ms=date_ms,
        record_id=_id(response_id),
        response_id=response_id,
    )


def with_index_facts(page: ArchivedRecord, before: ArchivedRecord | None) -> ArchivedRecord:
    """A page with what the index said of it, if the record in front of it (`before`) is one that tells of it.

    `facts` gets `from`, the file of Common Crawl's that it lies in; `truncated` is the index's word where the record has none of its
    own, for records were cut years before they said so.
    """
    if before is None or before.type != "metadata" or before.record_id != _id_of(page.record_id):
        return page
    said = decode(before.payload)
    if said is None:
        return page
    return replace(
        page,
        truncated=page.truncated or said.truncated or None,
        facts={**page.facts, FROM: said.filename},
    )


def _id(response_id: UUID) -> UUID:
    return uuid5(response_id, "commoncrawl")


def _id_of(page: str) -> str | None:
    try:
        return _id(UUID(page)).urn
    except ValueError:
        return None  # another archive's idea of an id
