"""`ArchiveWriter`: the open WARC file of one writer, from its first capture to its seal.

1. A capture's request record is written first, then its metadata record (if it has metadata), then its response record:
   a response in the archive is never without them. A capture that is dropped leaves only a metadata record.
2. After `commit()` everything appended before is durable, whatever happens to the writer or the machine.
3. A payload that this writer has committed before, or that lies in a recently sealed file of the crawl, is not written
   again: a revisit record refers to it (`storage.archive.written_payloads`). That of a part of a page may lie in a
   sealed file of another crawl (`refers_elsewhere`).
4. `storage.warc.validator` checks every member before it is appended, so nothing that is no WARC enters a file.
5. `recover_archives` seals what a dead writer left. A file that is being written is locked if the store is a directory.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from thresher.core import Capture, Conflict, InputError, RecordRef
from thresher.storage.archive.file_label import label_at, require_label
from thresher.storage.archive.open_archive_file import OpenArchiveFile
from thresher.storage.archive.open_files import (
    WARC,
    archive_stem,
    create_open_file,
    open_archive_files,
    publish_archive,
    writer_and_serial,
)
from thresher.storage.archive.recent_payloads import (
    load_other_crawls,
    load_recent_payloads,
    may_be_document,
)
from thresher.storage.archive.recovery import RecoveredFile, RecoveredRecord, recover_archives
from thresher.storage.archive.written_payloads import LIMIT, WrittenPayloads
from thresher.storage.manifest import Manifest
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.capture_metadata import CaptureMetadata
from thresher.storage.warc.compression import SUFFIXES, Compression, compressor, require_compression
from thresher.storage.warc.dropped import DROPPED, DroppedPage
from thresher.storage.warc.exchange_records import (
    Attachment,
    attachment_record,
    capture_records,
    dropped_record,
    metadata_record,
    payload_digest,
    payload_sha256,
    sha1,
    target_uri,
    warcinfo,
)
from thresher.storage.warc.records import mime_of
from thresher.storage.warc.revisit import REVISIT, REVISIT_MIME, Revisit
from thresher.storage.warc.validator import make_validator

__all__ = [
    "ArchiveWriter",
    "CaptureMetadata",
    "RecoveredFile",
    "RecoveredRecord",
    "Revisit",
    "recover_archives",
]

NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
NOTHING: Mapping[str, str] = MappingProxyType({})
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


class OpenFileState(NamedTuple):
    """The size of an open file in bytes, and when its first capture was made."""

    bytes: int
    since_ms: int


class ArchiveWriter:
    """The archive of one crawl as one writer makes it: one file after another. The next file starts if the open one is
    full or old.

    `writer` names one life of one process. Only a single capture that is larger can exceed `max_bytes`. Age is measured
    by the captures' own times. `max_known_payloads` is how many payloads the writer remembers, so that it does not
    write them again; it starts with those of the files that were sealed last.
    """

    __slots__ = (
        "_about",
        "_before",
        "_check",
        "_compress",
        "_crawl",
        "_label",
        "_max_age_ms",
        "_max_bytes",
        "_open",
        "_payloads",
        "_serial",
        "_store",
        "_suffix",
        "_writer",
        "appended",
        "user_agent",
    )

    def __init__(  # noqa: PLR0913 - options with defaults
        self,
        store: Store,
        crawl: str,
        *,
        writer: str,
        user_agent: str,
        max_bytes: int = 1 << 30,
        max_age_s: int = 3600,
        compression: Compression = "gzip",
        max_known_payloads: int = LIMIT,
        label: str = "",
        about: Mapping[str, str] = NOTHING,
        has_parts: bool = False,
        refers_elsewhere: bool = False,
        before_sync: Callable[[], None] | None = None,
    ) -> None:
        """`label` stands in the name of each file, its `{timestamp}` replaced by when the file was begun (14 digits).
        `about` has more fields of the warcinfo record of each file. `has_parts` says that the crawl archives parts of
        pages: then no page is a revisit of a record of an earlier life that may be one. With `refers_elsewhere` such a
        part may be a revisit of a record of another crawl.

        `before_sync` is called before anything appended may reach the disk; it makes durable what must be durable no
        later than that. Raise `Conflict` if the writer left a file open in an earlier life.
        """
        for what, name in (("crawl", crawl), ("writer", writer)):
            if not NAME_PATTERN.fullmatch(name):
                raise InputError(f"{name!r} cannot name a {what}: use letters, digits, dot, dash, underscore")
        require_label(label)
        self._store, self._crawl, self._writer = store, crawl, writer
        self.user_agent = user_agent
        """The user agent that the next file's warcinfo record names."""
        self._max_bytes, self._max_age_ms = max_bytes, max_age_s * 1000
        self._suffix = SUFFIXES[require_compression(compression)]
        self._compress, self._check = compressor(compression), make_validator(compression)
        self._payloads = WrittenPayloads(max_known_payloads)
        self._label, self._about = label, about
        if any(writer_and_serial(crawl, name)[0] == writer for name in open_archive_files(store, crawl)):
            raise Conflict(
                f"writer {writer} has an archive file of crawl {crawl} open from an earlier life: recover it "
                "before it writes again"
            )
        sealed = (name.rpartition("/")[2] for name in store.list(f"warc/{crawl}/{crawl}-"))
        serials = [
            serial for owner, serial in (writer_and_serial(crawl, name) for name in sealed) if owner == writer
        ]
        self._serial = max(serials, default=-1)
        load_recent_payloads(self._payloads, store, crawl, has_parts=has_parts)
        if has_parts and refers_elsewhere:
            load_other_crawls(self._payloads, store, crawl)
        self._open: OpenArchiveFile | None = None
        self._before = before_sync
        self.appended = 0
        """Bytes appended so far, to this file and to those before."""

    @property
    def open_file(self) -> OpenFileState | None:
        """The open file; None if the next capture starts one."""
        return None if self._open is None else OpenFileState(self._open.size, self._open.since_ms)

    def append(
        self,
        capture: Capture,
        record_id: UUID,
        *,
        metadata: CaptureMetadata | None = None,
        revisit: Revisit | None = None,
        resource_type: str = "",
        whole: bool = False,
    ) -> RecordRef:
        """Add the exchange; `record_id` becomes the id of the response record. It is durable after `commit`.

        `metadata` becomes a metadata record beside it. If a `revisit` is given, or the same payload is known to be
        committed, a revisit record takes the response's place; the record that a given `revisit` refers to must be
        durable. A page whose later captures will refer to this one is written `whole` even if its payload is known,
        because no revisit may refer to another. `resource_type` says what a page needed it for, if it is a part of a
        page (`script`, `xhr`).

        If it raises, nothing of this capture was added, and it may be appended again. Raise `CorruptData` if the
        records would be no WARC (`storage.warc.validator`).
        """
        digest, sha256 = payload_digest(capture), payload_sha256(capture)
        if revisit is None and not whole:
            revisit = self._payloads.find(capture, digest, sha256, may_be_elsewhere=bool(resource_type))
        request, response = capture_records(
            capture,
            record_id=record_id,
            revisit=revisit,
            digest=digest,
            sha256=sha256,
            resource_type=resource_type,
        )
        records = [("request", request), (REVISIT if revisit else "response", response)]
        if metadata is not None:
            records.insert(1, ("metadata", metadata_record(capture, metadata, record_id=record_id)))
        if revisit is not None and revisit.profile == "server-not-modified":
            digest, sha256 = revisit.digest, revisit.sha256
        ref = self._add(capture.started_ms, records, digest=digest)
        row = cdxj.make_row(
            ref=ref,
            url=target_uri(capture.url.wire),
            date_ms=capture.started_ms,
            mime=REVISIT_MIME if revisit else mime_of(capture.header("content-type")),
            status=capture.status,
            sha256=sha256,
            etag=capture.header("etag"),
            last_modified=capture.header("last-modified"),
            record_id=record_id.urn,
            content_encoding=capture.header("content-encoding"),
            revisit=revisit,
        )
        self._index(row)
        if revisit is None and not (
            resource_type and may_be_document(mime_of(capture.header("content-type")))
        ):
            self._payloads.add(capture, sha256, record_id)
        return ref

    def reserve(self, size: int, date_ms: int) -> None:
        """Start the next file now if the open one cannot take `size` more bytes, or records of that date, so that what
        is appended next lies in one file.
        """
        self._room(date_ms, size)

    def attach(self, attachment: Attachment, *, record_id: UUID, response_id: UUID) -> RecordRef:
        """Add what was made of a response; `record_id` becomes its own id. It is durable after `commit`.

        Give it a `uri` of its own, such as `urn:dom:https://...`: pywb indexes a `conversion` as well as a `resource`,
        and would replay it in place of what the server sent. Our index lists only a `resource`.
        """
        record = attachment_record(attachment, record_id=record_id, response_id=response_id)
        ref = self._add(attachment.date_ms, [(attachment.kind, record)], digest=sha1(attachment.block))
        if attachment.kind in cdxj.INDEXED:
            row = cdxj.make_row(
                ref=ref,
                url=target_uri(attachment.uri),
                date_ms=attachment.date_ms,
                mime=mime_of(attachment.mime),
                status=None,
                record_id=record_id.urn,
            )
            self._index(row)
        return ref

    def drop(self, capture: Capture, record_id: UUID, dropped: DroppedPage) -> RecordRef:
        """Add what remains of an exchange that is not archived, under the id that its response would have had.

        It is durable after `commit`. No index lists it, because there is nothing to look up.
        """
        record = dropped_record(capture, dropped, record_id=record_id)
        return self._add(capture.started_ms, [(DROPPED, record)], digest="")

    def commit(self) -> None:
        """Bring everything appended to the disk. If it raises, it may be called again."""
        if self._open is not None:
            self._precede()
            self._open.flush()
            self._open.unfinished.sync()
            self._payloads.mark_committed()

    def seal(self) -> Manifest | None:
        """Close the open file, publish it with its index and Manifest, and return the Manifest; None if nothing was
        appended.

        If it raises, it may be called again.
        """
        if self._open is None:
            return None
        self.commit()
        done = self._open
        manifest = publish_archive(
            self._store,
            self._crawl,
            done.file_name,
            done.unfinished.path,
            lines=done.lines,
            counts=done.counts,
            sha256=done.sha256.hexdigest(),
        )
        done.unfinished.remove()
        self._open = None
        return manifest

    def abandon(self) -> None:
        """Close the open file as it lies on the disk. `recover_archives` seals what is whole of it."""
        if self._open is not None:
            self._open.unfinished.close()
            self._open = None

    def _add(self, date_ms: int, records: Sequence[tuple[str, bytes]], *, digest: str) -> RecordRef:
        """Add records that belong together, and return where the last of them lies."""
        members = [self._compress(record) for _, record in records]
        self._check(members)
        size = sum(map(len, members))
        into = self._room(date_ms, size)
        for (kind, _), member in zip(records, members, strict=True):
            into.add(kind, member)
        self.appended += size
        length = len(members[-1])
        return RecordRef(file=into.name, offset=into.size - length, length=length, digest=digest)

    def _index(self, row: cdxj.CdxjRow) -> None:
        assert self._open is not None
        self._open.lines.append(cdxj.format_line(row))

    def _room(self, date_ms: int, size: int) -> OpenArchiveFile:
        """Return the file that takes `size` more bytes: the open one, or the next if that is full or old."""
        if self._open is not None and (
            self._open.size + size > self._max_bytes or date_ms - self._open.since_ms > self._max_age_ms
        ):
            self.seal()
        if self._open is None:
            self._open = self._begin(date_ms)
            self.appended += self._open.size
        if self._open.is_full:
            self._precede()
            self._open.flush()
        return self._open

    def _precede(self) -> None:
        if self._before is not None:
            self._before()

    def _begin(self, now_ms: int) -> OpenArchiveFile:
        # The serial is counted first: a name that was tried once must never be tried again.
        self._serial += 1
        stem = archive_stem(self._crawl, self._writer, self._serial, label_at(self._label, now_ms))
        name = f"{stem}{self._suffix}"
        opened = OpenArchiveFile(
            file_name=name,
            name=f"warc/{self._crawl}/{name}",
            unfinished=create_open_file(self._store, f"{WARC}/{self._crawl}", name),
            since_ms=now_ms,
        )
        fields = {
            "software": "thresher",
            "format": "WARC File Format 1.1",
            "conformsTo": CONFORMS_TO,
            "isPartOf": self._crawl,
            "robots": "obey",
            "http-header-user-agent": self.user_agent,
            **self._about,
        }
        info = self._compress(warcinfo(name, date_ms=now_ms, fields=fields))
        self._check([info])
        opened.add("warcinfo", info)
        return opened

    def __repr__(self) -> str:
        doing = f"{self._open.size} bytes in {self._open.name}" if self._open else "no open file"
        return f"<archive of {self._crawl} by {self._writer}: {doing}>"
