"""`Archive`: the open WARC file of one writer, from its first capture to its seal.

1. A capture's request record is written before its response record: a response in the archive is never
   without its request. One that is dropped leaves a metadata record instead of the two.
2. After `commit()` everything appended before is durable, whatever happens to the writer or the machine.
3. What a dead writer left is sealed by `recover`; a file that is being written is locked.
"""

import hashlib
import re
from collections import Counter
from typing import NamedTuple
from uuid import UUID

from core import Capture, Conflict, InputError, RecordRef
from storage import cdxj
from storage.dropped import DROPPED, Dropped
from storage.manifest import Manifest
from storage.records import mime_of
from storage.recovery import Recovered, Survivor, recover
from storage.store import Store
from storage.unfinished import SUFFIX, Unfinished, begin, left, publish, writer_and_serial
from storage.warc import (
    Attachment,
    attached_record,
    capture_records,
    dropped_record,
    member,
    payload_digest,
    target_uri,
    warcinfo,
)

__all__ = ["Archive", "Recovered", "Survivor", "recover"]

BUFFER = 1 << 20
"""Bytes appended before they are handed to the system; `commit` hands over all."""
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


class Growing(NamedTuple):
    """An open file: its bytes so far, and when its first capture was made."""

    bytes: int
    since_ms: int


class Archive:
    """The archive of one crawl as one writer makes it: a file at a time, the next when one is full or old.

    `writer` names one life of one process. `max_bytes` is exceeded only by a single capture that is larger;
    age is told by the captures' own times.
    """

    __slots__ = (
        "_crawl",
        "_max_age_ms",
        "_max_bytes",
        "_open",
        "_serial",
        "_store",
        "_user_agent",
        "_writer",
        "appended",
    )

    def __init__(
        self,
        store: Store,
        crawl: str,
        *,
        writer: str,
        user_agent: str,
        max_bytes: int = 1 << 30,
        max_age_s: int = 3600,
    ) -> None:
        """Raises `Conflict` where the writer left a file open in an earlier life."""
        for what, name in (("crawl", crawl), ("writer", writer)):
            if not NAME.fullmatch(name):
                raise InputError(f"{name!r} cannot name a {what}: use letters, digits, dot, dash, underscore")
        self._store, self._crawl, self._writer, self._user_agent = store, crawl, writer, user_agent
        self._max_bytes, self._max_age_ms = max_bytes, max_age_s * 1000
        if any(writer_and_serial(crawl, name)[0] == writer for name in left(store, crawl)):
            raise Conflict(
                f"writer {writer} has an archive file of crawl {crawl} open from an earlier life: recover it "
                "before it writes again"
            )
        sealed = (name.rpartition("/")[2] for name in store.list(f"warc/{crawl}/{crawl}-{writer}-"))
        serials = [
            serial for owner, serial in (writer_and_serial(crawl, name) for name in sealed) if owner == writer
        ]
        self._serial = max(serials, default=-1)
        self._open: _OpenFile | None = None
        self.appended = 0
        """Bytes of everything appended so far, to this file and those before."""

    @property
    def growing(self) -> Growing | None:
        """The open file; None where the next capture begins one."""
        return None if self._open is None else Growing(self._open.size, self._open.since_ms)

    def room(self, size: int, date_ms: int) -> None:
        """What is appended next, up to `size` bytes and dated no later than this, lies in one file."""
        self._room(date_ms, size)

    def attach(
        self,
        kind: Attachment,
        block: bytes,
        *,
        uri: str,
        mime: str,
        date_ms: int,
        record_id: UUID,
        response_id: UUID,
    ) -> None:
        """Add what was made of a response; `record_id` becomes its own. It is in no index. Not durable before `commit`."""
        record = member(
            attached_record(
                kind,
                block,
                uri=uri,
                mime=mime,
                date_ms=date_ms,
                record_id=record_id,
                response_id=response_id,
            )
        )
        self._room(date_ms, len(record)).add(kind, record)
        self.appended += len(record)

    def append(self, capture: Capture, record_id: UUID, *, resource_type: str = "") -> RecordRef:
        """Add the exchange; `record_id` becomes the response record's. Not durable before `commit`.

        `resource_type` is what a page wanted it for, where it is a part of one.

        Where it raises, nothing of this capture was added, and it may be appended again.
        """
        request, response = map(
            member, capture_records(capture, record_id=record_id, resource_type=resource_type)
        )
        into = self._room(capture.started_ms, len(request) + len(response))
        offset = into.size + len(request)
        ref = RecordRef(file=into.name, offset=offset, length=len(response), digest=payload_digest(capture))
        row = cdxj.row(
            ref=ref,
            url=target_uri(capture.url.wire),
            date_ms=capture.started_ms,
            mime=mime_of(capture.header("content-type")),
            status=capture.status,
        )
        into.add("request", request)
        into.add("response", response)
        into.lines.append(cdxj.line(row))
        self.appended += len(request) + len(response)
        return ref

    def drop(self, capture: Capture, record_id: UUID, dropped: Dropped) -> None:
        """Add what remains of an exchange that is not archived, under the id that its response would have had.

        Not durable before `commit`. It is in no index: there is nothing to look up.
        """
        record = member(dropped_record(capture, dropped, record_id=record_id))
        self._room(capture.started_ms, len(record)).add(DROPPED, record)
        self.appended += len(record)

    def commit(self) -> None:
        """Bring everything appended to disk. Where it raises, it may be called again."""
        if self._open is not None:
            self._open.flush()
            self._open.unfinished.sync()

    def seal(self) -> Manifest | None:
        """Close and publish the open file with its index and Manifest; None where nothing was appended.

        Where it raises, it may be called again.
        """
        if self._open is None:
            return None
        self.commit()
        done = self._open
        manifest = publish(
            self._store,
            self._crawl,
            done.file_name,
            done.unfinished.path,
            lines=done.lines,
            counts=done.counts,
            sha256=done.sha256.hexdigest(),
        )
        done.unfinished.end()
        self._open = None
        return manifest

    def abandon(self) -> None:
        """Let go of the open file as it lies on disk; `recover` seals what is whole of it."""
        if self._open is not None:
            self._open.unfinished.close()
            self._open = None

    def _room(self, date_ms: int, size: int) -> "_OpenFile":
        """The file that takes `size` bytes more: the open one, or the next where that is full or old."""
        if self._open is not None and (
            self._open.size + size > self._max_bytes or date_ms - self._open.since_ms > self._max_age_ms
        ):
            self.seal()
        if self._open is None:
            self._open = self._begin(date_ms)
            self.appended += self._open.size
        self._open.make_room()
        return self._open

    def _begin(self, now_ms: int) -> "_OpenFile":
        # Counted first: a name that was tried once is never tried again.
        self._serial += 1
        name = f"{self._crawl}-{self._writer}-{self._serial:05d}{SUFFIX}"
        begun = _OpenFile(
            file_name=name,
            name=f"warc/{self._crawl}/{name}",
            unfinished=begin(self._store, self._crawl, name),
            since_ms=now_ms,
        )
        fields = {
            "software": "thresher",
            "format": "WARC File Format 1.1",
            "conformsTo": CONFORMS_TO,
            "isPartOf": self._crawl,
            "robots": "obey",
            "http-header-user-agent": self._user_agent,
        }
        begun.add("warcinfo", member(warcinfo(name, date_ms=now_ms, fields=fields)))
        return begun

    def __repr__(self) -> str:
        doing = f"{self._open.size} bytes in {self._open.name}" if self._open else "no open file"
        return f"<archive of {self._crawl} by {self._writer}: {doing}>"


class _OpenFile:
    """The file being written and what its seal will say. Bytes leave the buffer only once they are written."""

    __slots__ = (
        "_buffer",
        "_written",
        "counts",
        "file_name",
        "lines",
        "name",
        "sha256",
        "since_ms",
        "size",
        "unfinished",
    )

    def __init__(self, *, file_name: str, name: str, unfinished: Unfinished, since_ms: int) -> None:
        self.file_name, self.name, self.unfinished, self.since_ms = file_name, name, unfinished, since_ms
        self.size = self._written = 0
        self.sha256 = hashlib.sha256()
        self.counts: Counter[str] = Counter()
        self.lines: list[str] = []
        self._buffer = bytearray()

    def add(self, record_type: str, data: bytes) -> None:
        self._buffer += data
        self.size += len(data)
        self.counts[record_type] += 1

    def make_room(self) -> None:
        if len(self._buffer) >= BUFFER:
            self.flush()

    def flush(self) -> None:
        data = bytes(self._buffer)
        self.unfinished.write(data, self._written)
        self.sha256.update(data)
        self._written += len(data)
        self._buffer.clear()
