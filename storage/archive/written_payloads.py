"""`Payloads`: the payloads that a writer has made durable, so that it need not write them again.

1. A payload is known only once its record is committed: no revisit refers to what may yet be lost.
2. Memory is bounded: the payloads that were longest of no use are forgotten.
3. Small payloads are never known: to leave one out saves nothing, and whoever reads the archive has it at hand. Of one that was
   archived before (`storage.archive.recent_payloads`) only its record's length is known, which may be a small one's: it is never asked for.
"""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from core import Capture
from storage.warc.cdxj import encoding_of
from storage.warc.revisit import Revisit

LIMIT = 100_000
"""Some 31 MB, with URLs of 60 characters."""
SMALLEST = 1024
"""Bytes: less is written again."""


class WrittenPayload(NamedTuple):
    """A response record that is durable."""

    sha256: str
    """Of its payload: that of SHA-1 may be one of two payloads."""
    encoding: str
    """What its Content-Encoding says (`storage.warc.cdxj.encoding_of`)."""
    record_id: UUID
    uri: str
    date_ms: int


class WrittenPayloads:
    """What was appended, and what of it is committed."""

    __slots__ = ("_fresh", "_known", "_limit")

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._known: dict[str, bytes] = {}  # the newest last
        self._fresh: dict[str, bytes] = {}

    def find(self, capture: Capture, digest: str, sha256: str) -> Revisit | None:
        """The committed record that had the payload of these digests; None for one that is to be written."""
        if not _is_worth_it(capture):
            return None
        key = _key(capture, sha256)
        known = self._known.pop(key, None)
        if known is None:
            return None
        self._known[key] = known
        record_id, uri, date_ms = _unpacked(known)
        return Revisit(
            profile="identical-payload-digest",
            refers_to=record_id.urn,
            uri=uri,
            date_ms=date_ms,
            digest=digest,
            sha256=sha256,
        )

    def add(self, capture: Capture, sha256: str, record_id: UUID) -> None:
        """Its response was written whole under this id."""
        if self._limit and _is_worth_it(capture):
            self._fresh[_key(capture, sha256)] = _packed(record_id, capture.url.wire, capture.started_ms)

    def mark_committed(self) -> None:
        """Everything appended is durable."""
        for key, record in self._fresh.items():
            self._known.pop(key, None)
            self._known[key] = record
        self._fresh.clear()
        over = len(self._known) - self._limit
        if (
            over > 0
        ):  # an eighth at once: a dict whose first entries went one by one is walked from its beginning
            for key in list(islice(self._known, over + self._limit // 8)):
                del self._known[key]

    def load(self, records: Iterable["WrittenPayload"]) -> None:
        """Take these for committed, as far as there is room: the ones that are wanted most come first."""
        room = self._limit - len(self._known)
        recalled = {
            f"{each.sha256} {each.encoding}": _packed(each.record_id, each.uri, each.date_ms)
            for each in islice(records, max(room, 0))
        }
        self._known = {**dict(reversed(recalled.items())), **self._known}

    @property
    def free(self) -> int:
        """How many more can be known before one is forgotten."""
        return self._limit - len(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"<{len(self._known)} payloads known of at most {self._limit}>"


def _is_worth_it(capture: Capture) -> bool:
    return capture.truncated is None and len(capture.payload) >= SMALLEST


def _packed(record_id: UUID, uri: str, date_ms: int) -> bytes:
    """One object, of a third of the size of these three."""
    return record_id.bytes + date_ms.to_bytes(8, "big") + uri.encode(errors="surrogatepass")


def _unpacked(packed: bytes) -> tuple[UUID, str, int]:
    uri = packed[24:].decode(errors="surrogatepass")
    return UUID(bytes=packed[:16]), uri, int.from_bytes(packed[16:24], "big")


def _key(capture: Capture, sha256: str) -> str:
    """What a payload decodes to is said by the head: the same bytes under another encoding are another page."""
    return f"{sha256} {encoding_of(capture.header('content-encoding'))}"
