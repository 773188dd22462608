"""Cross-check: read every record of an archive file a second time with warcio, which shares no code with our reader.

1. Both readers go through the file side by side. They must find records at the same offsets, with the same type, id,
   address, length and bytes. Digests that a record states must be those of the bytes that warcio reads.
2. A line for each difference says where it is, what differs, and why, if the reason is known. In a file that was
   written here, a difference without a known reason is damage. Files of other writers may be readable in more than
   one way: differences are named, and are no damage while the bytes are those that were sealed.
3. warcio reads gzip and plain files. Files in Zstandard or LZ4 are named as not read. After bytes that warcio cannot
   read, it restarts at the next record that our reader finds.
"""

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO, NamedTuple

from warcio.archiveiterator import WARCIterator
from warcio.bufferedreaders import ChunkedDataException, ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from thresher.core import InputError
from thresher.pipeline.integrity.findings import CrossCheck
from thresher.storage.archive.open_files import archive_outputs, is_crawled
from thresher.storage.inputs.origin import PASSED_OVER
from thresher.storage.manifest import Manifest
from thresher.storage.store import Store
from thresher.storage.warc.dropped import DROPPED
from thresher.storage.warc.exchange_records import PAYLOAD_SHA256
from thresher.storage.warc.members import BROKEN, CUT_OFF, GZIP, NO_RECORD, PLAIN, Member
from thresher.storage.warc.payload import BROKEN_CHUNKS, TOO_LONG
from thresher.storage.warc.records import DAMAGED, MANY_RECORDS, NO_HEAD, WRONG_LENGTH, block_of, read_records

CHUNK_BYTES = 1 << 20
"""Bytes read at a time."""
MAX_MEMORY_BYTES = 16 << 20
"""Bytes of a block that are held in memory. A longer one goes through a temporary file."""
MAX_LINES = 20
"""Differences of one file that get a line each. Further differences are only counted."""
WARCIO_ERRORS = (
    ArchiveLoadFailed,
    StatusAndHeadersParserException,
    EOFError,
    OSError,
    ValueError,
    AttributeError,
)
"""Errors of warcio for bytes that it cannot read: the first two are its own, the others come from its inside."""
AMBIGUOUS_PROBLEMS = frozenset(
    {*(CUT_OFF, BROKEN, NO_RECORD, MANY_RECORDS), *(WRONG_LENGTH, BROKEN_CHUNKS, TOO_LONG, NO_HEAD)}
)
"""Problems of a record that two readers may read differently. Content encodings are not decoded here."""
HeaderLookup = Callable[[str], str | None]
FIRST_LINES = {
    "response": ["HTTP/1.0", "HTTP/1.1"],
    "request": ["GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "PATCH"],
}
"""First words of HTTP messages."""
FIELDS = ("type", "id", "address", "length", "block")


class RecordReading(NamedTuple):
    """One record as a reader finds it."""

    offset: int
    type: str
    id: str
    address: str
    length: int | None
    """Length of the block; None if the reader does not know it."""
    block: str
    """SHA-1 of the block in base32; empty if the block is too long for our reader."""
    problem: str
    """Our reader: the fault of the record. warcio: the digest that does not fit the bytes. Else empty."""
    explanation: str = ""
    """Why warcio may find another digest than the record states, if that is known."""


def cross_check_archive(store: Store, manifest: Manifest) -> CrossCheck:
    """Compare both readings of a sealed archive file, whose bytes are those that were sealed."""
    warc, _ = archive_outputs(manifest.outputs)
    with store.open(warc.name) as file:
        if not file.read(5).startswith((GZIP, PLAIN)):
            return CrossCheck(
                unread=(f"{warc.name}: warcio reads gzip and plain files, but not Zstandard or LZ4",)
            )
    counts: Counter[str] = Counter()
    named: list[tuple[str, str]] = []
    for line, why in _differences(store, warc.name, counts):
        named.append((line, why))
    sealed = _sealed(manifest)
    if not named and counts != sealed:
        named.append(
            (f"{warc.name}: warcio counts {_format_counts(counts)}; {_format_counts(sealed)} were sealed", "")
        )
    is_own = is_crawled(manifest)
    damage = [line for line, why in named if is_own and not why]
    differences = [f"{line} ({why})" if why else line for line, why in named if not is_own or why]
    return CrossCheck(damage=_shortened(warc.name, damage), differences=_shortened(warc.name, differences))


def _differences(store: Store, name: str, counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield the differences of both readers, each with its reason if known. Count warcio's records in `counts`."""
    with store.open(name) as file, store.open(name) as warcio_file, _quiet():
        ours, theirs = _read_ours(file, name), _WarcioReader(warcio_file)
        for mine in ours:
            while (found := theirs.next) is not None and found.offset < mine.offset:
                counts[found.type] += 1
                yield (
                    f"{name} at {found.offset}: warcio finds a {found.type} record, our reader finds none",
                    "",
                )
                theirs.advance()
            if found is None:
                found = theirs.resume_at(mine.offset)
            if found is None or found.offset != mine.offset:
                if mine.type != DAMAGED:
                    why = mine.problem or theirs.error
                    yield (
                        f"{name} at {mine.offset}: our reader finds a {mine.type} record, warcio finds none",
                        why,
                    )
                continue
            counts[found.type] += 1
            if mine.type == DAMAGED:
                yield (
                    f"{name} at {mine.offset}: warcio reads a {found.type} record, our reader cannot",
                    mine.problem,
                )
            else:
                yield from _compared(name, mine, found)
            theirs.advance()
        while (found := theirs.next) is not None:
            counts[found.type] += 1
            yield f"{name} at {found.offset}: warcio finds a {found.type} record, our reader finds none", ""
            theirs.advance()


def _compared(name: str, mine: RecordReading, found: RecordReading) -> Iterator[tuple[str, str]]:
    for field in FIELDS:
        here, there = getattr(mine, field), getattr(found, field)
        if here != there and not (field == "block" and not here):
            yield (
                f"{name} at {mine.offset}: {field} is {here!r} to our reader, {there!r} to warcio",
                mine.problem,
            )
            return
    if found.problem:
        yield (
            f"{name} at {mine.offset}: {found.problem}, as warcio reads it",
            mine.problem or found.explanation,
        )


def _read_ours(file: BinaryIO, name: str) -> Iterator[RecordReading]:
    seen: list[Member] = []
    try:
        for record in read_records(file, name=name, on_member=seen.append):
            member = seen.pop()
            block = None if record.type == DAMAGED else block_of(member)
            yield RecordReading(
                offset=record.offset,
                type="metadata" if record.type == DROPPED else record.type,
                id=record.record_id,
                address=record.url.replace(" ", "%20"),  # as warcio does
                length=None if block is None else len(block),
                block="" if block is None else _base32(hashlib.sha1(block, usedforsecurity=False).digest()),
                problem=record.problem if record.problem in AMBIGUOUS_PROBLEMS else "",
            )
    except InputError as error:
        yield RecordReading(0, DAMAGED, "", "", None, "", str(error))


class _WarcioReader:
    """Reads records with warcio, one record ahead."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error = ""
        """Why warcio stopped last."""
        self._records = self._from(0)
        self.next = next(self._records, None)

    def advance(self) -> None:
        self.next = next(self._records, None)

    def resume_at(self, offset: int) -> RecordReading | None:
        """Restart there, if warcio has stopped at bytes that it cannot read."""
        if self.error:
            self._records = self._from(offset)
            self.next = next(self._records, None)
        return self.next

    def _from(self, offset: int) -> Iterator[RecordReading]:
        self._file.seek(offset)
        try:
            records = WARCIterator(self._file, no_record_parse=True)
            for record in records:
                with SpooledTemporaryFile(MAX_MEMORY_BYTES) as block:
                    found = _reading(record, block)
                yield found._replace(offset=records.get_record_offset())
        except WARCIO_ERRORS as error:
            text = str(error).strip()
            self.error = f"warcio stops: {text.splitlines()[0] if text else type(error).__name__}"


def _reading(record: Any, block: IO[bytes]) -> RecordReading:
    head: HeaderLookup = record.rec_headers.get_header
    stated_digest = head("WARC-Block-Digest") or ""
    sha1, stated, length = hashlib.sha1(usedforsecurity=False), _hasher(stated_digest), 0
    while data := record.raw_stream.read(CHUNK_BYTES):
        block.write(data)
        sha1.update(data)
        length += len(data)
        if stated is not None:
            stated.update(data)
    kind = head("WARC-Type") or ""
    is_wrong = stated is not None and not _is_digest(stated_digest, stated.digest())
    wrong = f"the block is not that of {stated_digest}" if is_wrong else ""
    why = ""
    if not wrong and kind != "revisit":  # the payload of a revisit lies elsewhere
        for name in ("WARC-Payload-Digest", PAYLOAD_SHA256):
            if not wrong:
                wrong, why = _payload_fault(head(name) or "", kind, head, block)
    return RecordReading(
        offset=0,
        type=kind.lower() or "unknown",
        id=(head("WARC-Record-ID") or "").strip().removeprefix("<").removesuffix(">"),
        address=(head("WARC-Target-URI") or "").strip(),
        length=length,
        block=_base32(sha1.digest()),
        problem=wrong,
        explanation=why,
    )


def _payload_fault(stated_digest: str, kind: str, head: HeaderLookup, block: IO[bytes]) -> tuple[str, str]:
    """Return that the payload does not fit the digest that the record states, and why, if that is known.

    Return empty texts if it fits, or if it cannot be checked. The standard's payload is the entity without its chunk
    framing (WARC/1.1, section 6.3.2). Some writers hash it with the framing, so both are accepted.
    """
    if _hasher(stated_digest) is None or head("WARC-Truncated") or head("WARC-Segment-Number"):
        return "", ""
    block.seek(0)
    chunked = False
    if kind in FIRST_LINES and (head("Content-Type") or "").startswith("application/http"):
        try:
            http = StatusAndHeadersParser(FIRST_LINES[kind], verify=False).parse(block)
        except (EOFError, StatusAndHeadersParserException):
            return "", ""
        chunked = "chunked" in (http.get_header("transfer-encoding") or "").lower()
    begin = block.tell()
    if _is_digest(stated_digest, _hashed(stated_digest, block)):
        return "", ""
    why = ""
    if chunked:
        block.seek(begin)
        try:
            if _is_digest(
                stated_digest, _hashed(stated_digest, ChunkedDataReader(block, raise_exceptions=True))
            ):
                return "", ""
        except ChunkedDataException as error:  # trailers, or a framing that readers read differently
            why = f"warcio cannot undo its chunks: {error}"
    return f"the payload is not that of {stated_digest}", why


def _hashed(stated_digest: str, stream: Any) -> bytes:
    hasher = _hasher(stated_digest)
    assert hasher is not None
    while data := stream.read(CHUNK_BYTES):
        hasher.update(data)
    return hasher.digest()


def _hasher(stated_digest: str) -> "hashlib._Hash | None":
    algorithm = stated_digest.partition(":")[0].lower().replace("-", "")
    try:
        return hashlib.new(algorithm, usedforsecurity=False)
    except ValueError:
        return None


def _is_digest(stated_digest: str, digest: bytes) -> bool:
    value = stated_digest.partition(":")[2].strip()
    forms = (base64.b64encode(digest), base64.urlsafe_b64encode(digest))
    return value.lower() in {digest.hex(), _base32(digest).lower()} or value.encode() in forms


def _base32(digest: bytes) -> str:
    return base64.b32encode(digest).decode()


def _sealed(manifest: Manifest) -> Counter[str]:
    """Return the counts that warcio should reach."""
    found: Counter[str] = Counter()
    for kind, count in manifest.counts.items():
        if kind != DAMAGED and not kind.startswith(PASSED_OVER):
            found["metadata" if kind == DROPPED else kind] += count
    return found


def _shortened(name: str, lines: list[str]) -> tuple[str, ...]:
    more = len(lines) - MAX_LINES
    return (*lines[:MAX_LINES], *([f"{name}: {more} more differences"] if more > 0 else []))


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep warcio's notes on odd bytes, which it writes to stderr, from the terminal."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):  # noqa: PTH123 - a device
        yield
