"""Objects read whole, or by ranges as a seekable file.

1. All reads of one open object see one object: each request carries the entity tag (`If-Match`), so an object that was
   replaced in between is an error and never a mix.
2. Lengths and ranges are checked at every reply. The SHA-256 that is kept with the object is checked if all of it is
   read: by `whole`, which reads again first, and by an open object that is read from its beginning to its end. A range
   that is read alone is as safe as the connection: use https, or the checksums inside the formats.
3. Reading in order fetches ahead, in growing blocks, one at a time. A jump fetches little.
4. Memory holds two blocks for each open object, and `MAX_PARTS_IN_MEMORY` blocks for all that `whole` reads.
"""

import hashlib
import io
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import ClientError

from thresher.core import CorruptData
from thresher.storage.s3.connection import Connection
from thresher.storage.s3.in_flight import Job
from thresher.storage.s3.put import DIGEST
from thresher.storage.s3.s3_errors import DamagedReply, is_empty, is_missing, is_precondition_failed
from thresher.storage.s3.server_clock import age_ms, server_time
from thresher.storage.seekable import SeekableFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import GetObjectOutputTypeDef, HeadObjectOutputTypeDef

FIRST = 256 << 10
"""Bytes that a read after a jump fetches: one round trip's worth on most networks."""
BLOCK = 8 << 20
"""Bytes of the largest request, and of the aligned blocks that a cache keeps."""
BUFFER = 64 << 10
TRIES = 3
"""How often an object with a wrong checksum is read before it counts as damaged."""


class BlockCache(Protocol):
    """Keeps blocks of objects on the node. It travels with a pickled `S3Store`."""

    def get(self, key: str, fetch: Callable[[], bytes]) -> bytes:
        """Return the block known as `key`; else call `fetch`, keep its bytes and return them. Many threads may
        call it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What is known of an object before its bytes."""

    size: int
    etag: str
    digest: str
    """SHA-256 in hexadecimal digits; empty if another program stored the object."""
    age_ms: int
    """Milliseconds since the object was put, by the server's clock."""


def head(connection: Connection, key: str) -> Head | None:
    """Return what is known of the object; None if there is none."""
    try:
        reply = connection.send(lambda s3: s3.head_object(Bucket=connection.bucket, Key=key))
    except ClientError as error:
        if is_missing(error):
            return None
        raise
    return _head(reply, reply["ContentLength"])


def fetch(connection: Connection, key: str, etag: str, first: int, length: int) -> bytes:
    """Return `length` bytes from offset `first`. Raise `CorruptData` if the object is gone or was replaced."""
    last = first + length - 1

    def attempt(s3: "S3Client") -> bytes:
        reply = s3.get_object(Bucket=connection.bucket, Key=key, Range=f"bytes={first}-{last}", IfMatch=etag)
        with closing(reply["Body"]) as body:
            if reply.get("ContentRange", "").partition("/")[0] != f"bytes {first}-{last}":
                raise DamagedReply(f"asked for bytes {first}-{last}")
            return of_length(body.read(), length)

    try:
        return connection.send(attempt)
    except ClientError as error:
        if is_precondition_failed(error) or is_missing(error):
            raise replaced(connection, key) from error
        raise


def whole(connection: Connection, key: str) -> bytes | None:
    """Return all bytes, as they were put; None if there is no such object. Raise `CorruptData` if the bytes differ from
    those that were put.
    """
    for _ in range(TRIES):
        try:
            known, data = _beginning(connection, key)
        except ClientError as error:
            if is_missing(error):
                return None
            raise
        if known.size > len(data):
            data = _in_blocks(connection, key, known, data)
        if known.digest in ("", hashlib.sha256(data).hexdigest()):
            return data
    raise _damaged(connection, key)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingBlock:
    """A block on its way, and the offsets of its bytes."""

    span: range
    coming: Job[bytes]


class ObjectFile(SeekableFile):
    """An open object without a buffer. `open_object` adds one."""

    def __init__(self, connection: Connection, key: str, known: Head, cache: BlockCache | None) -> None:
        super().__init__(known.size)
        self._connection = connection
        self._key = key
        self._known = known
        self._cache = cache
        self._at = 0
        self._block = b""
        self._ahead: _PendingBlock | None = None
        self._end = -1
        """Offset behind the last block given out. A read that begins there reads in order."""
        self._window = FIRST
        self._hash = hashlib.sha256()
        self._hashed = 0

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill the buffer with what is there after at most one request, and return how many bytes that is; 0 at the
        end.
        """
        view = memoryview(buffer).cast("B")
        if self._position >= self._known.size or not view:
            return 0
        if not self._at <= self._position < self._at + len(self._block):
            self._at, self._block = self._fetch_block(len(view))
        start = self._position - self._at
        count = min(len(view), len(self._block) - start)
        view[:count] = memoryview(self._block)[start : start + count]
        self._check(view[:count])
        self._position += count
        return count

    def close(self) -> None:
        """Cancel the read-ahead and close the file."""
        if self._ahead is not None:
            self._ahead.coming.cancel()
            self._ahead = None
        self._block = b""
        super().close()

    def _fetch_block(self, wanted: int) -> tuple[int, bytes]:
        """Return the block in which the position lies, and its offset. Start to fetch the next block if the reader
        reads in order.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is not None and self._position not in ahead.span:
            ahead.coming.cancel()
            ahead = None
        reads_on = ahead is not None or self._position == self._end
        self._window = min(self._window * 2, BLOCK) if reads_on else FIRST
        if ahead is not None:
            span, coming = ahead.span, ahead.coming
            block = self._connection.run(lambda _: coming.result())
        else:
            span = self._span(self._position, max(self._window, min(wanted, BLOCK)))
            block = self._connection.run(self._fetch, span)
        self._end = span.stop
        if reads_on and self._end < self._known.size:
            following = self._span(self._end, self._window)
            coming = self._connection.in_flight.start(partial(self._fetch, self._connection, following))
            self._ahead = _PendingBlock(span=following, coming=coming)
        return span.start, block

    def _span(self, first: int, length: int) -> range:
        """Return the offsets of the block to fetch from there: that many bytes; with a cache, the aligned block."""
        if self._cache is not None:
            first, length = first - first % BLOCK, BLOCK
        return range(first, min(first + length, self._known.size))

    def _fetch(self, connection: Connection, span: range) -> bytes:
        """Return the bytes of a block, from the cache if there is one."""

        def work() -> bytes:
            return fetch(connection, self._key, self._known.etag, span.start, len(span))

        if self._cache is None:
            return work()
        etag = self._known.etag.strip('"')
        return self._cache.get(f"{connection.bucket}/{self._key}/{etag}/{span.start}/{len(span)}", work)

    def _check(self, data: memoryview) -> None:
        """Continue the checksum as long as all is read in order; what is read again changes nothing."""
        if self._position > self._hashed or not self._known.digest:
            return
        self._hash.update(data[self._hashed - self._position :])
        self._hashed = max(self._hashed, self._position + len(data))
        if self._hashed == self._known.size and self._hash.hexdigest() != self._known.digest:
            raise _damaged(self._connection, self._key)


def open_object(connection: Connection, key: str, known: Head, cache: BlockCache | None) -> io.BufferedReader:
    """Return the object as a buffered file."""
    return io.BufferedReader(ObjectFile(connection, key, known, cache), BUFFER)


def _beginning(connection: Connection, key: str) -> tuple[Head, bytes]:
    """Return the first block, which is all of most objects, in one request."""

    def attempt(s3: "S3Client") -> tuple[Head, bytes]:
        reply = s3.get_object(Bucket=connection.bucket, Key=key, Range=f"bytes=0-{BLOCK - 1}")
        with closing(reply["Body"]) as body:
            data = of_length(body.read(), reply["ContentLength"])
        size = reply.get("ContentRange", "").rpartition("/")[2] or len(data)
        return _head(reply, int(size)), data

    try:
        return connection.send(attempt)
    except ClientError as error:
        if not is_empty(error):
            raise
    reply = connection.send(lambda s3: s3.head_object(Bucket=connection.bucket, Key=key))
    return _head(reply, reply["ContentLength"]), b""


def _in_blocks(connection: Connection, key: str, known: Head, beginning: bytes) -> bytes:
    """Return all bytes of a large object whose beginning is there, fetching some blocks at a time."""
    result, writing = io.BytesIO(), threading.Lock()
    result.write(beginning)

    def bring(first: int) -> None:
        data = fetch(connection, key, known.etag, first, min(BLOCK, known.size - first))
        with writing:
            result.seek(first)
            result.write(data)

    works = (partial(bring, first) for first in range(len(beginning), known.size, BLOCK))
    connection.in_flight.run_all(connection.part_slots, works)
    return result.getvalue()


def _head(reply: "GetObjectOutputTypeDef | HeadObjectOutputTypeDef", size: int) -> Head:
    return Head(
        size=size,
        etag=reply["ETag"],
        digest=reply.get("Metadata", {}).get(DIGEST, ""),
        age_ms=age_ms(reply["LastModified"], server_time(reply["ResponseMetadata"])),
    )


def of_length(data: bytes, length: int) -> bytes:
    """Return `data`. Raise `DamagedReply` if it has another length."""
    if len(data) != length:
        raise DamagedReply(f"{len(data)} bytes instead of {length}")
    return data


def missing(uri: str, name: str) -> CorruptData:
    """Return the error for an object that is not there."""
    return CorruptData(f"{name} is missing from the storage at {uri}; run the step that makes it again")


def replaced(connection: Connection, key: str) -> CorruptData:
    """Return the error for an object that is not what it was when its first bytes were read."""
    return CorruptData(
        f"s3://{connection.bucket}/{key} was replaced or deleted while it was read; run the command again"
    )


def _damaged(connection: Connection, key: str) -> CorruptData:
    return CorruptData(
        f"s3://{connection.bucket}/{key} is not what was stored: its SHA-256 differs; delete it and run the "
        "step that makes it again"
    )
