"""CDXJ: the index beside a WARC file, one line for each response, revisit, resource or text, in the order of SURT and
time.

A line is `surt timestamp {json}`, as pywb and Common Crawl write it. The timestamp of 14 digits is UTC, and all values
of the JSON are texts. `filename` is the name of the WARC file in the storage. A revisit has the type `warc/revisit`.
These keys are Thresher's own: `etag` and `last-modified`, with which a server can be asked only for changes; `sha256`,
which alone says that two payloads are the same; `ms`, the milliseconds behind the timestamp; `id`, the WARC-Record-ID;
`content-encoding`, without which a digest does not say what a payload is; and, of a revisit, `original-url`,
`original-ms` and `original-id`, which name the record that it refers to, and `original-file`, if another crawl wrote
that record.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib

from thresher.core import CorruptData, RecordRef
from thresher.core.surt import surt
from thresher.storage.warc.compression import REPEATABLE_LEVEL
from thresher.storage.warc.exchange_records import EPOCH, target_uri
from thresher.storage.warc.index_lines import IndexLines
from thresher.storage.warc.records import ArchivedRecord
from thresher.storage.warc.revisit import REVISIT, REVISIT_MIME, Revisit

_GZIP = 31
"""How zlib is told to write gzip, with the widest window."""
MAX_VALIDATOR_LENGTH = 256
"""Characters of an ETag or a Last-Modified. A longer one is left out, because a cut one would be another value."""
NO_ENCODING = "\n"
"""Stands for a Content-Encoding that is longer. No header has this value."""
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*+")
ANY = re.compile("")
EPOCH_TIMESTAMP = "19700101000000"
_BARE = str.maketrans("", "", "-T:")
INDEXED = frozenset({"response", REVISIT, "resource"})
"""Types of records that can be looked up."""
TEXT = ("conversion", "text/plain")
"""A WET file's texts can be looked up too. What was made of a page that lies in the same archive, such as its DOM, is
found with that page.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CdxjRow:
    """One record that can be looked up."""

    surt: str
    timestamp: str
    """`YYYYMMDDhhmmss`, UTC."""
    url: str
    mime: str
    status: int
    """0 if the record has none."""
    digest: str
    length: int
    offset: int
    filename: str
    sha256: str = ""
    """Of the payload, `sha256:HEX`; empty if the index does not say."""
    etag: str = ""
    last_modified: str = ""
    ms: int = 0
    """Milliseconds behind the timestamp."""
    record_id: str = ""
    """WARC-Record-ID, `urn:uuid:...`; empty if the index does not say."""
    content_encoding: str = ""
    """Of a response; empty if there is none."""
    original_url: str = ""
    """WARC-Refers-To-Target-URI of a revisit."""
    original_date_ms: int = 0
    """WARC-Refers-To-Date of a revisit."""
    original_id: str = ""
    """WARC-Refers-To of a revisit."""
    original_file: str = ""
    """The archive file with that record, if another crawl wrote it."""

    @property
    def date_ms(self) -> int:
        """WARC-Date, milliseconds since the epoch, UTC. Raise `ValueError` if the timestamp is no time."""
        digits = (
            f"{self.timestamp}{'00000101000000'[len(self.timestamp) :]}"  # other writers use fewer digits
        )
        month, day, hour, minute, second = (int(digits[at : at + 2]) for at in range(4, 14, 2))
        moment = datetime(int(digits[:4]), month, day, hour, minute, second, tzinfo=UTC)
        return (moment - EPOCH) // timedelta(milliseconds=1) + self.ms


def make_row(  # noqa: PLR0913 - one parameter per field of the row
    *,
    ref: RecordRef,
    url: str,
    date_ms: int,
    mime: str,
    status: int | None,
    sha256: str = "",
    etag: str | None = None,
    last_modified: str | None = None,
    record_id: str = "",
    content_encoding: str | None = None,
    revisit: Revisit | None = None,
) -> CdxjRow:
    """Return the row of a record. Leave out validators that are too long or cannot be values of a header."""
    encoding = "" if revisit else encoding_of(content_encoding)
    return CdxjRow(
        surt=surt_key(url),
        timestamp=timestamp(date_ms),
        url=url,
        mime=mime,
        status=status or 0,
        digest=ref.digest,
        sha256=sha256,
        length=ref.length,
        offset=ref.offset,
        filename=ref.file,
        etag=_validator(etag),
        last_modified=_validator(last_modified),
        ms=date_ms % 1000,
        record_id=record_id,
        content_encoding=encoding if len(encoding) <= MAX_VALIDATOR_LENGTH else NO_ENCODING,
        original_url=revisit.uri if revisit else "",
        original_date_ms=revisit.date_ms if revisit else 0,
        original_id=revisit.refers_to if revisit else "",
        original_file=revisit.file if revisit else "",
    )


def row_of(record: ArchivedRecord, ref: RecordRef) -> CdxjRow | None:
    """Return the row of a record that was read back and lies at `ref`; None if nobody looks up such records."""
    if record.type not in INDEXED and (record.type, record.mime) != TEXT:
        return None
    return make_row(
        ref=ref,
        url=record.url,
        date_ms=record.date_ms,
        mime=REVISIT_MIME if record.type == REVISIT else record.mime,
        status=record.status,
        sha256=record.sha256,
        etag=record.header("etag"),
        last_modified=record.header("last-modified"),
        record_id=record.record_id,
        content_encoding=record.header("content-encoding"),
        revisit=record.revisit,
    )


def encoding_of(header: str | None) -> str:
    """Return the value of a Content-Encoding header in lower case, without white space around it."""
    return (header or "").strip().lower()


def format_line(row: CdxjRow) -> str:
    """Return the row as its line, without line break. It holds only ASCII."""
    more = f', "sha256": {quoted(row.sha256)}' if row.sha256 else ""
    if row.etag:
        more += f', "etag": {quoted(row.etag)}'
    if row.last_modified:
        more += f', "last-modified": {quoted(row.last_modified)}'
    if row.ms:
        more += f', "ms": "{row.ms}"'
    if row.record_id:
        more += f', "id": {quoted(row.record_id)}'
    if row.content_encoding:
        more += f', "content-encoding": {quoted(row.content_encoding)}'
    if row.original_id:
        more += f', "original-id": {quoted(row.original_id)}'
    if row.original_url:
        more += f', "original-url": {quoted(row.original_url)}, "original-ms": "{row.original_date_ms}"'
    if row.original_file:
        more += f', "original-file": {quoted(row.original_file)}'
    return (
        f'{row.surt} {row.timestamp} {{"url": {quoted(row.url)}, "mime": {quoted(row.mime)}, '
        f'"status": "{row.status}", "digest": {quoted(row.digest)}, "length": "{row.length}", '
        f'"offset": "{row.offset}", "filename": {quoted(row.filename)}{more}}}'
    )


def format_ingested(ref: RecordRef, *, url: str, date_ms: int, mime: str, record_id: str) -> str:
    """Return the line of an ingested document, as `format_line` does. A table has a million of them."""
    ms = f', "ms": "{date_ms % 1000}"' if date_ms % 1000 else ""
    return (
        f'{surt_key(url)} {timestamp(date_ms) if date_ms else EPOCH_TIMESTAMP} {{"url": {quoted(url)}, '
        f'"mime": {quoted(mime)}, "status": "0", "digest": {quoted(ref.digest)}, "length": "{ref.length}", '
        f'"offset": "{ref.offset}", "filename": {quoted(ref.file)}{ms}, "id": {quoted(record_id)}}}'
    )


def write(path: Path, lines: IndexLines) -> None:
    """Write the lines, in the order of their bytes, as gzip. The same lines give the same bytes."""
    packer = isal_zlib.compressobj(REPEATABLE_LEVEL, wbits=_GZIP)  # every Python may bring another zlib
    with path.open("wb") as file:
        for line in lines:
            file.write(packer.compress(f"{line}\n".encode()))
        file.write(packer.flush())


def read(file: BinaryIO, *, name: str, sought: str = "", pattern: re.Pattern[str] = ANY) -> Iterator[CdxjRow]:
    """Yield the rows in the order of the file. With `sought`, which is in lower case, yield only the rows whose line
    contains it in any case, and with `pattern` only those in whose line that is found: both are much faster.

    Raise `CorruptData`, which names the file and the first bad line, if the file is no CDXJ.
    """
    number = 0
    try:
        with gzip.open(file, "rt", encoding="ascii", newline="\n") as lines:
            for text in lines:
                if (not sought or sought in text.lower()) and (pattern is ANY or pattern.search(text)):
                    yield parse_line(text)
                number += 1
    except (ValueError, KeyError, TypeError, EOFError, OSError, zlib.error) as error:
        raise CorruptData(
            f"{name} is no CDXJ after its line {number} ({error}); its WARC file can be ingested again"
        ) from error


def surt_key(url: str) -> str:
    """Return the index key of any URL; the URL itself if it has none, as cdxj-indexer does."""
    url = target_uri(url)
    try:
        return surt(url)
    except ValueError:
        return url


def timestamp(date_ms: int) -> str:
    """Return `YYYYMMDDhhmmss` of milliseconds since the epoch."""
    moment = EPOCH + timedelta(milliseconds=date_ms)
    return moment.isoformat(timespec="seconds")[:19].translate(_BARE)


def parse_line(text: str) -> CdxjRow:
    """Return the row of a line. Raise `ValueError`, `KeyError` or `TypeError` if the text is no line of an index."""
    surt, moment, fields = text.split(" ", 2)
    found = json.loads(fields)
    return CdxjRow(
        surt=surt,
        timestamp=moment,
        url=found["url"],
        mime=found.get("mime", ""),
        status=int(found.get("status") or 0),
        digest=found.get("digest", ""),
        sha256=found.get("sha256", ""),
        length=int(found["length"]),
        offset=int(found["offset"]),
        filename=found["filename"],
        etag=found.get("etag", ""),
        last_modified=found.get("last-modified", ""),
        ms=int(found.get("ms", 0)),
        original_url=found.get("original-url", ""),
        original_date_ms=int(found.get("original-ms", 0)),
        record_id=found.get("id", ""),
        content_encoding=found.get("content-encoding", ""),
        original_id=found.get("original-id", ""),
        original_file=found.get("original-file", ""),
    )


def field_value(value: str | None) -> str:
    """Return the value of a header without white space around it; an empty text if it cannot be sent back, because
    characters outside a field value (RFC 9110, section 5.5) would end the header or make the receiver refuse it.
    """
    text = (value or "").strip(" \t")
    return text if _FIELD_VALUE.fullmatch(text) else ""


def _validator(value: str | None) -> str:
    text = field_value(value)
    return text if len(text) <= MAX_VALIDATOR_LENGTH else ""
