"""CDXJ: the index beside a WARC file, one line a response, in the order of SURT and time.

A line is `surt timestamp {json}`, as pywb and the Common Crawl write it: the timestamp of 14 digits is UTC,
the values of the JSON are all texts. `filename` is the name of the WARC file in the storage.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from core import CorruptData, RecordRef, Url
from storage.warc import EPOCH, target_uri

LEVEL = 6
"""zlib's own default: an index is small beside its WARC file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One archived response."""

    surt: str
    timestamp: str
    """`YYYYMMDDhhmmss`, UTC."""
    url: str
    mime: str
    status: int
    """0 where the record has none."""
    digest: str
    length: int
    offset: int
    filename: str


def row(*, ref: RecordRef, url: str, date_ms: int, mime: str, status: int | None) -> Row:
    """The row of a record."""
    moment = EPOCH + timedelta(milliseconds=date_ms)
    return Row(
        surt=surt(url),
        timestamp=f"{moment:%Y%m%d%H%M%S}",
        url=url,
        mime=mime,
        status=status or 0,
        digest=ref.digest,
        length=ref.length,
        offset=ref.offset,
        filename=ref.file,
    )


def line(row: Row) -> str:
    """The row as its line, without line break. Holds only ASCII."""
    fields = {
        "url": row.url,
        "mime": row.mime,
        "status": str(row.status),
        "digest": row.digest,
        "length": str(row.length),
        "offset": str(row.offset),
        "filename": row.filename,
    }
    return f"{row.surt} {row.timestamp} {json.dumps(fields)}"


def write(path: Path, lines: Iterable[str]) -> None:
    """Write the lines, sorted by their bytes, as gzip. The same lines give the same bytes."""
    text = "".join(f"{each}\n" for each in sorted(lines))
    path.write_bytes(gzip.compress(text.encode(), LEVEL, mtime=0))


def read(file: BinaryIO, *, name: str) -> Iterator[Row]:
    """The rows in the order of the file. Raises `CorruptData` naming the file and the first line that is none."""
    number = 0
    try:
        with gzip.open(file, "rt", encoding="ascii", newline="\n") as lines:
            for text in lines:
                yield _parsed(text)
                number += 1
    except (ValueError, KeyError, TypeError, EOFError, OSError) as error:
        raise CorruptData(
            f"{name} is no CDXJ behind its line {number} ({error}); its WARC file can be ingested again"
        ) from error


def surt(url: str) -> str:
    """Key of any URL; the URL itself in lower case where it is not of the web."""
    url = target_uri(url)
    try:
        host = urlsplit(url).hostname
        return Url(text=url, wire=url, host=host, origin="").surt if host else url.lower()
    except ValueError:
        return url.lower()


def _parsed(text: str) -> Row:
    key, timestamp, fields = text.split(" ", 2)
    found = json.loads(fields)
    return Row(
        surt=key,
        timestamp=timestamp,
        url=found["url"],
        mime=found.get("mime", ""),
        status=int(found.get("status") or 0),
        digest=found.get("digest", ""),
        length=int(found["length"]),
        offset=int(found["offset"]),
        filename=found["filename"],
    )
