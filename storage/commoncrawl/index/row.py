"""`Row`: one record as Common Crawl's indexes have it. Pure.

A line of the CDX index is `surt timestamp {json}`; the index server answers the same fields in one object, and calls the charset
`encoding`. Fields came one after the other over the years, as those of the table (`columnar`): what a crawl does not have is empty.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storage.commoncrawl.file_names import is_file

OLD_BUCKET_PREFIX = "common-crawl/"
"""What file names of the oldest crawls begin with; no base has it."""
LONGEST = 128 << 20
"""Stored bytes of a record; theirs have a megabyte, five since 2025."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlIndexRow:
    """Where one record lies, and what is known of it."""

    surt: str
    timestamp: str
    """`YYYYMMDDhhmmss`, UTC."""
    url: str
    filename: str
    """`crawl-data/...warc.gz`."""
    offset: int
    length: int
    """Stored bytes, from `offset`."""
    status: int
    """0 where the index has none."""
    mime: str = ""
    """As the server said."""
    mime_detected: str = ""
    digest: str = ""
    """SHA-1 of the payload in base32, without a prefix."""
    charset: str = ""
    languages: str = ""
    """ISO 639-3, the one with the most text first: `ind,eng`."""
    truncated: str = ""
    """`length`, `time`, `disconnect`; empty where the payload is whole."""
    redirect: str = ""
    """Where the server sent us."""


def parse(line: str) -> CrawlIndexRow:
    """The row of a line of the CDX index. Raises `ValueError`, `KeyError` or `TypeError` for what is none."""
    surt, timestamp, fields = line.split(" ", 2)
    return row_from_fields(surt, timestamp, json.loads(fields))


def row_from_fields(surt: str, timestamp: str, fields: Mapping[str, Any]) -> CrawlIndexRow:
    """The row that the fields of a line, or of an answer of the index server, make. Raises as `parse` does."""
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
    """The row itself. Raises `ValueError` where it names no record that could be there."""
    if not (len(row.timestamp) == 14 and row.timestamp.isdecimal()):
        raise ValueError(f"{row.timestamp!r} is no time")
    if not is_file(row.filename):
        raise ValueError(f"{row.filename!r} is no archive file")
    if row.offset < 0 or not 0 < row.length <= LONGEST:
        raise ValueError(f"{row.length} bytes at {row.offset} are no record")
    return row
