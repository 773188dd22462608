"""`WrittenPayloads`: the payloads that a writer has made durable, so that it need not write them again.

1. A payload is known only after its record is committed: no revisit refers to a record that may still be lost.
2. Memory is bounded: the payloads that were least recently used are forgotten.
3. Small payloads are never known: leaving one out saves nothing, and with it a reader of the archive has the payload at
   hand. For a payload that was archived before (`storage.archive.recent_payloads`) only the length of its record is
   known, so a small one may be loaded; nobody asks for it.
"""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from thresher.core import Capture
from thresher.storage.warc.cdxj import encoding_of
from thresher.storage.warc.revisit import Revisit

LIMIT = 100_000
"""About 31 MB, with URLs of 60 characters."""
SMALLEST = 1024
"""Bytes; a smaller payload is written again."""


class WrittenPayload(NamedTuple):
    """A response record that is durable."""

    sha256: str
    """SHA-256 of its payload, because two payloads may share a SHA-1."""
    encoding: str
    """Its Content-Encoding (`storage.warc.cdxj.encoding_of`)."""
    record_id: UUID
    uri: str
    date_ms: int
    file: str = ""
    """The archive file with it, if another crawl wrote that."""


class WrittenPayloads:
    """The payloads that were appended, and which of them are committed."""

    __slots__ = ("_files", "_fresh", "_known", "_limit")

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._known: dict[str, bytes] = {}  # the newest last
        self._fresh: dict[str, bytes] = {}
        self._files = [""]

    def find(
        self, capture: Capture, digest: str, sha256: str, *, may_be_elsewhere: bool = False
    ) -> Revisit | None:
        """Return a revisit of the committed record with the payload of these digests; None if the payload must be
        written. Only with `may_be_elsewhere` it may be the record of another crawl.
        """
        if not _is_worth_it(capture):
            return None
        key = _key(capture, sha256)
        known = self._known.get(key)
        if known is None:
            return None
        record_id, uri, date_ms, file = _unpacked(known)
        if file and not may_be_elsewhere:
            return None
        self._known[key] = self._known.pop(key)
        return Revisit(
            profile="identical-payload-digest",
            refers_to=record_id.urn,
            uri=uri,
            date_ms=date_ms,
            digest=digest,
            sha256=sha256,
            file=self._files[file],
        )

    def add(self, capture: Capture, sha256: str, record_id: UUID) -> None:
        """Record that the capture's response was written whole under this id."""
        if self._limit and _is_worth_it(capture):
            self._fresh[_key(capture, sha256)] = _packed(record_id, capture.url.wire, capture.started_ms)

    def mark_committed(self) -> None:
        """Record that everything appended is durable."""
        for key, record in self._fresh.items():
            self._known.pop(key, None)
            self._known[key] = record
        self._fresh.clear()
        over = len(self._known) - self._limit
        if over > 0:
            # An eighth goes at once: a dict whose first entries go one by one is walked from its beginning each time.
            for key in list(islice(self._known, over + self._limit // 8)):
                del self._known[key]

    def load(self, records: Iterable["WrittenPayload"]) -> None:
        """Take these records as committed, as far as they fit. The most useful ones come first."""
        room = self._limit - len(self._known)
        recalled = {
            f"{each.sha256} {each.encoding}": _packed(
                each.record_id, each.uri, each.date_ms, self._number(each.file)
            )
            for each in islice(records, max(room, 0))
        }
        self._known = {**dict(reversed(recalled.items())), **self._known}

    def _number(self, file: str) -> int:
        if file and file != self._files[-1]:
            self._files.append(file)
        return len(self._files) - 1 if file else 0

    @property
    def free(self) -> int:
        """How many more payloads fit before one is forgotten."""
        return self._limit - len(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"<{len(self._known)} payloads known of at most {self._limit}>"


def _is_worth_it(capture: Capture) -> bool:
    return capture.truncated is None and len(capture.payload) >= SMALLEST


def _packed(record_id: UUID, uri: str, date_ms: int, file: int = 0) -> bytes:
    """Return one object of a third of the size of these four."""
    numbers = date_ms.to_bytes(8, "big") + file.to_bytes(2, "big")
    return record_id.bytes + numbers + uri.encode(errors="surrogatepass")


def _unpacked(packed: bytes) -> tuple[UUID, str, int, int]:
    uri = packed[26:].decode(errors="surrogatepass")
    date_ms, file = int.from_bytes(packed[16:24], "big"), int.from_bytes(packed[24:26], "big")
    return UUID(bytes=packed[:16]), uri, date_ms, file


def _key(capture: Capture, sha256: str) -> str:
    """Return the key of a payload. The Content-Encoding is in it, because the same bytes under another encoding are
    another page.
    """
    return f"{sha256} {encoding_of(capture.header('content-encoding'))}"
