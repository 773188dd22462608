"""What the index and the list of pages of a WACZ say, line by line. A line that cannot be right is none.

1. Strangers write these files: a line is read up to `MAX_LINE` bytes, and a file up to as many bytes as an input of its
   size may unpack to (`storage.inputs.decompression`).
2. All numbers fit into 63 bits, no offset is negative, and all texts can be encoded.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast
from zipfile import ZipFile

from thresher.core import InputError
from thresher.core.standards.moment import parse_moment
from thresher.storage.inputs.decompression import max_unpacked_bytes, unpacked_too_large
from thresher.storage.warc import cdxj

MAX_LINE = 4 << 20
"""Bytes of a line; a longer one is skipped."""
LARGEST = (1 << 63) - 1
HTTP = ("http://", "https://")
WRONG = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What a line raises that is not as it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """A line of an index: one record that a player finds."""

    key: str
    """SURT of the URL."""
    url: str
    date_ms: int
    mime: str
    status: int
    """0 if the line has none."""
    file: str
    """Name below `archive/`."""
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPage:
    """A line of the list of pages."""

    url: str
    date_ms: int
    title: str
    text: str
    """Its text, if the list has it."""


def lines_of(package: ZipFile, name: str) -> Iterator[bytes]:
    """Yield the lines of a file of a WACZ, which may be gzipped; an empty one for each that is too long. Raise
    `InputError` if it cannot be read, or unpacks to too much.
    """
    info = package.getinfo(name)
    most, size, is_inside = max_unpacked_bytes(info.compress_size), 0, False
    try:
        with package.open(info) as packed:
            lines = gzip.GzipFile(fileobj=packed) if name.endswith(".gz") else packed
            while piece := cast("BinaryIO", lines).readline(MAX_LINE):
                size += len(piece)
                if size > most:
                    raise unpacked_too_large(name)
                is_whole = piece.endswith(b"\n") or len(piece) < MAX_LINE
                if not is_inside:
                    yield piece if is_whole else b""
                is_inside = not is_whole
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{name} in the WACZ cannot be read ({error}); get the file again") from None


def index_row(line: bytes) -> IndexRow | None:
    """Return what a line of an index says; None if it cannot be read."""
    try:
        _, moment, fields = line.decode().split(" ", 2)
        found = json.loads(fields)
        status = str(found.get("status", ""))
        row = cdxj.CdxjRow(
            surt=cdxj.surt_key(_text(found["url"])), timestamp=moment, url=found["url"], digest="", length=0,
            mime=_text(found.get("mime", "")), status=int(status) if len(status) == 3 else 0,
            offset=int(found["offset"]), filename=_text(found["filename"]), ms=int(found.get("ms", 0)),
        )  # fmt: skip
        if not 0 <= row.offset <= LARGEST or not 0 <= row.ms < 1000:
            return None
        return IndexRow(
            key=row.surt,
            url=row.url,
            date_ms=row.date_ms,
            mime=row.mime,
            status=row.status,
            file=row.filename.removeprefix("archive/"),
            offset=row.offset,
        )
    except WRONG:
        return None


def listed_page(line: bytes) -> ListedPage | None:
    """Return what a line of a list of pages says; None for one that names no page, such as the first."""
    try:
        found: dict[str, Any] = json.loads(line)
        url = _text(found["url"])
        if not url.startswith(HTTP):
            return None
        since = parse_moment(str(found.get("ts") or "1970-01-01T00:00:00Z")) - datetime(
            1970, 1, 1, tzinfo=UTC
        )
        return ListedPage(
            url=url,
            date_ms=round(since.total_seconds() * 1000),
            title=_text(found.get("title") or ""),
            text=_text(found.get("text") or ""),
        )
    except WRONG:
        return None


def _text(value: Any) -> str:
    """Return a text that can be encoded. Raise `ValueError` or `AttributeError` for any other value."""
    value.encode()
    return str(value)
