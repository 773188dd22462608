"""Write and read the facts that Common Crawl's index states about a record.

They become a metadata record, which precedes the record in the archive. Its block is `application/warc-fields`
(WARC/1.1, section 6.6), and it refers to the record (`WARC-Refers-To`). The record itself stays byte for byte as it is
at Common Crawl. The facts precede it, as the result of rendering a page does, so that a reader of a part of the file
already has them.
"""

from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from thresher.storage.commoncrawl.index.row import CrawlIndexRow
from thresher.storage.warc.dropped import WARC_FIELDS
from thresher.storage.warc.exchange_records import Attachment, attachment_record
from thresher.storage.warc.records import ArchivedRecord

FROM = "from"
LINE = "\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFacts:
    """Facts about one record beside its bytes. A text is empty if the index of its crawl does not state it."""

    filename: str
    """Common Crawl's file, `crawl-data/...warc.gz`; `offset` and `length` are the record's bytes in it."""
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
    """Return the facts of a row."""
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
    """Return the block of the metadata record."""
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
    """Return the facts in a block; return None if it is the block of another metadata record."""
    values: dict[str, str] = {}
    for line in block.decode(errors="replace").split("\n"):
        name, _, value = line.partition(":")
        values.setdefault(name.strip().lower(), value.strip())
    try:
        return IndexFacts(
            filename=values[FROM],
            offset=int(values["offset"]),
            length=int(values["length"]),
            digest=values.get("digest", ""),
            mime_detected=values.get("mime-detected", ""),
            charset=values.get("charset", ""),
            languages=values.get("languages", ""),
            truncated=values.get("truncated", ""),
        )
    except (KeyError, ValueError):
        return None


def facts_record(row: CrawlIndexRow, *, date_ms: int, response_id: UUID) -> bytes:
    """Return the uncompressed metadata record of a row; `response_id` is the id of the record that it describes."""
    facts = Attachment(
        kind="metadata", block=encode(of_row(row)), uri=row.url, mime=WARC_FIELDS, date_ms=date_ms
    )
    return attachment_record(facts, record_id=_id(response_id), response_id=response_id)


def with_index_facts(page: ArchivedRecord, before: ArchivedRecord | None) -> ArchivedRecord:
    """Return `page` with the facts of the index, if the record before it (`before`) holds them; otherwise return
    `page`.

    `facts` gets `from`, the file of Common Crawl that holds the page. `truncated` comes from the index if the record
    itself does not state it, because Common Crawl cut records for years before the records stated it.
    """
    if before is None or before.type != "metadata" or before.record_id != _id_of(page.record_id):
        return page
    found = decode(before.payload)
    if found is None:
        return page
    return replace(
        page,
        truncated=page.truncated or found.truncated or None,
        facts={**page.facts, FROM: found.filename},
    )


def _id(response_id: UUID) -> UUID:
    return uuid5(response_id, "commoncrawl")


def _id_of(page: str) -> str | None:
    try:
        return _id(UUID(page)).urn
    except ValueError:
        return None  # another program's record id need not be a UUID
