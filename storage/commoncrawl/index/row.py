"""`CrawlIndexRow`: one record as Common Crawl's indexes describe it. Pure.

A line of the CDX index is `surt timestamp {json}`. The index server returns the same fields in one object and calls the
charset `encoding`. Fields were added over the years, as in the columnar index: a field that a crawl does not have is
empty.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thresher.storage.commoncrawl.file_names import is_file

OLD_BUCKET_PREFIX = "common-crawl/"
"""Prefix of the file names in the indexes of the oldest crawls; the files' addresses do not have it."""
MAX_RECORD_BYTES = 128 << 20
"""Stored bytes of a record at most. Common Crawl limits payloads to 1 MB, and to 5 MB since 2025."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlIndexRow:
    """Place of one record, and the facts that the index states about it."""

    surt: str
    timestamp: str
    """`YYYYMMDDhhmmss`, UTC."""
    url: str
    filename: str
    """`crawl-data/...warc.gz`."""
    offset: int
    length: int
    """Stored bytes, from `offset` on."""
    status: int
    """HTTP status; 0 if the index has none."""
    mime: str = ""
    """Media type that the server declared."""
    mime_detected: str = ""
    digest: str = ""
    """SHA-1 of the payload in base32, without a prefix."""
    charset: str = ""
    languages: str = ""
    """ISO 639-3, the one with the most text first: `ind,eng`."""
    truncated: str = ""
    """`length`, `time` or `disconnect`; empty if the payload is whole."""
    redirect: str = ""
    """Target of a redirect."""


def parse(line: str) -> CrawlIndexRow:
    """Return the row of a line of the CDX index. Raise `ValueError`, `KeyError` or `TypeError` if it is not valid."""
    surt, timestamp, fields = line.split(" ", 2)
    return row_from_fields(surt, timestamp, json.loads(fields))


def row_from_fields(surt: str, timestamp: str, fields: Mapping[str, Any]) -> CrawlIndexRow:
    """Return the row of the fields of a line, or of a response of the index server. Raise as `parse` does."""
    status = str(fields.get("status", ""))
    return require_valid(
        CrawlIndexRow(
            surt=surt,
            timestamp=timestamp,
            url=str(fields["url"]),
            filename=str(fields["filename"]).removeprefix(OLD_BUCKET_PREFIX),
            offset=int(fields["offset"]),
            length=int(fields["length"]),
            status=int(status) if status.isdecimal() else 0,
            mime=str(fields.get("mime", "")),
            mime_detected=str(fields.get("mime-detected", "")),
            digest=str(fields.get("digest", "")).removeprefix("sha1:"),
            charset=str(fields.get("charset") or fields.get("encoding") or ""),
            languages=str(fields.get("languages", "")),
            truncated=str(fields.get("truncated") or fields.get("warc-truncated") or ""),
            redirect=str(fields.get("redirect", "")),
        )
    )


def require_valid(row: CrawlIndexRow) -> CrawlIndexRow:
    """Return `row` unchanged. Raise `ValueError` if no such record can exist."""
    if not (len(row.timestamp) == 14 and row.timestamp.isdecimal()):
        raise ValueError(f"{row.timestamp!r} is no time")
    if not is_file(row.filename):
        raise ValueError(f"{row.filename!r} is no archive file")
    if row.offset < 0 or not 0 < row.length <= MAX_RECORD_BYTES:
        raise ValueError(f"{row.length} bytes at {row.offset} are no record")
    return row
