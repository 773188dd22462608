"""`S3Store`: a `Store` in an S3-compatible server.

1. An object appears by one request, which the server carries out whole or not at all. The server decides who was first;
   `storage.s3.put` says what holds if it cannot.
2. A request is sent again until it is answered or the time of the retry policy is over (`storage.request_retry`),
   whatever the connection does to it or to its reply. The returned value is what is true in the bucket.
3. Work in progress is a file in the node's spool, or an upload on the server that nobody sees.
4. All threads share one connection and may call at once. A pickled store, and a store that came over a fork, opens its
   own connection; neither keys nor replies travel. The first process learns within seconds that nobody answers. The
   processes that it starts wait with the whole policy from the start.
"""

import io
import os
import re
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

from thresher.core import CorruptData, InputError
from thresher.core.call_times import CallTimes
from thresher.core.printable_address import printable_address
from thresher.storage.request_retry import RetryPolicy
from thresher.storage.s3 import listing, put, range_reads, read, uploads
from thresher.storage.s3.connection import BucketLocation, Connection
from thresher.storage.s3.read import BlockCache, Head
from thresher.storage.spool import open_spool, spool_file
from thresher.storage.store import ByteRange, Staged, check_name

if TYPE_CHECKING:
    from types_boto3_s3.type_defs import ListObjectsV2OutputTypeDef as Page

PART_BYTES = 8 << 20
"""Bytes of a part of an upload; more if there would be more than 10,000 parts. An object of two parts or more is
uploaded in parts.
"""
ABANDONED_MS = 24 * 3600 * 1000
"""Age from which an upload or a probe counts as abandoned."""
PAGE = 1000
"""Names in one reply: the maximum of S3."""
_BUCKET = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}"
)  # today's AWS rules are stricter, other servers' are not


class S3Store:
    """The objects in a bucket whose keys begin with `prefix/`; the store's names are the rest of the keys.

    Keys, region and endpoint are those of the AWS_* variables and profiles, read at the first request; `endpoint`
    overrides theirs. Every method raises `InputError` for wrong keys, buckets and addresses, and `Unavailable` if
    access is refused or nothing answers within the retry policy.
    """

    __slots__ = ("__weakref__", "_cache", "_location", "_part_bytes", "_patience", "_shared")

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        endpoint: str | None = None,
        cache: BlockCache | None = None,
        patience: RetryPolicy | None = None,
        part_bytes: int = PART_BYTES,
    ) -> None:
        under = prefix.strip("/")
        self._location = BucketLocation(bucket=bucket, prefix=f"{under}/" if under else "", endpoint=endpoint)
        self._cache = cache
        self._patience = patience or RetryPolicy()
        self._part_bytes = part_bytes
        self._shared = _Connections(self._location, self._patience)

    @classmethod
    def at(
        cls,
        uri: str,
        *,
        key: str = "project.storage",
        cache: BlockCache | None = None,
        patience: RetryPolicy | None = None,
    ) -> "S3Store":
        """Return the store at an address `s3://BUCKET/PREFIX`. Raise `InputError` for any other address. The error
        names `key`, the configuration key that held it, and does not repeat what may be a secret.
        """
        location = _parse_location(uri, key)
        return cls(location.bucket, location.prefix, cache=cache, patience=patience)

    @property
    def uri(self) -> str:
        """`s3://bucket/prefix`."""
        return self._location.uri

    def put(self, name: str, data: bytes) -> bool:
        """Store `data` under `name`, durable on return. Return True if the object was created, False if the name was
        taken.
        """
        return self._connection.run(put.put, self._key(name), bytes(data))

    @contextmanager
    def stage(self, name: str) -> Iterator[Staged]:
        """Give a private file in the node's spool for the bytes of the future object `name`. It is removed at the end
        of the context. Raise `Unavailable` if the disk has no room for what the context writes.
        """
        check_name(name)
        with spool_file(name) as path:
            yield Staged(self, name, path)

    def put_file(self, path: Path, name: str) -> bool:
        """Publish the bytes of a local file under `name`. The file stays, and must not change meanwhile. Return True if
        the object was created, False if the name was taken.
        """
        connection, key = self._connection, self._key(name)
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size < 2 * self._part_bytes:
                return connection.run(put.put_file, key, file.fileno(), size)
            return connection.run(put.upload, key, file.fileno(), size, part_bytes=self._part_bytes)

    def open(self, name: str) -> io.BufferedReader:
        """Open the object for reading, seekable. Raise `CorruptData` if it is missing. A read raises `CorruptData` if
        the object was replaced meanwhile, or if all of it was read and is not what was stored.
        """
        return read.open_object(self._connection, self._key(name), self._head(name), self._cache)

    def read(self, name: str) -> bytes:
        """Return all bytes of an object, checked. Raise `CorruptData` if it is missing or damaged."""
        data = self._connection.run(read.whole, self._key(name))
        if data is None:
            raise self._missing(name)
        return data

    def read_ranges(self, ranges: Iterable[ByteRange]) -> Iterator[bytes]:
        """Yield the bytes of each range, in order; see `Store`. They come as the server sends them: a caller that
        must know that they are those that were put has checksums of its own. The cache is not asked.
        """
        return range_reads.read(self._connection, self._location.prefix, ranges)

    def exists(self, name: str) -> bool:
        """Return whether the object is there, with all of its bytes."""
        return self._connection.run(read.head, self._key(name)) is not None

    def size(self, name: str) -> int:
        """Return the size of the object in bytes. Raise `CorruptData` if it is missing."""
        return self._head(name).size

    def stamp(self, name: str) -> str:
        """Return the entity tag, which differs for other bytes. Raise `CorruptData` if the object is missing."""
        return self._head(name).etag

    def age_ms(self, name: str) -> int:
        """Return the milliseconds since the object was put, by the server's clock. Raise `CorruptData` if it is
        missing.
        """
        return self._head(name).age_ms

    def list(self, prefix: str = "") -> Iterator[str]:
        """Yield the names that begin with `prefix`, in byte order, as a stream. Send at least one request a
        directory.
        """
        return listing.names(self._page, self._location.prefix, prefix)

    def list_stamps(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yield what `list` yields, each name with its entity tag, from the same requests."""
        return listing.names_and_etags(self._page, self._location.prefix, prefix)

    def newest(self, directory: str, ending: str, most: int) -> Sequence[str]:
        """Return the names of objects directly in `directory` that end with `ending`: at most `most`, the last put
        first. Send one request for each 1000 objects there.
        """
        return listing.newest(self._page, self._location.prefix, f"{directory}/", ending, most)

    def delete(self, name: str) -> None:
        """Remove the object, durably. Do nothing if it is not there."""
        self._connection.run(uploads.delete, self._key(name))

    def substore(self, directory: str) -> "S3Store":
        """Return the objects below a name, as a store of their own over the same connection."""
        child = S3Store(
            self._location.bucket,
            f"{self._location.prefix}{directory}",
            endpoint=self._location.endpoint,
            cache=self._cache,
            patience=self._patience,
            part_bytes=self._part_bytes,
        )
        child._shared = self._shared
        return child

    def clear(self) -> None:
        """Remove every object, hidden ones too, and every upload."""
        self._connection.run(uploads.abort_uploads, self._location.prefix, 0)
        self._connection.run(uploads.delete_all, self._location.prefix)

    def sweep(self, age_ms: int = ABANDONED_MS) -> int:
        """Remove what dead processes left in the node's spool, and the uploads and probes under the prefix that started
        at least `age_ms` milliseconds ago. Return how many.
        """
        probes = f"{self._location.prefix}{put.PROBES}"
        aborted = self._connection.run(uploads.abort_uploads, self._location.prefix, age_ms)
        deleted = self._connection.run(uploads.delete_all, probes, age_ms)
        return aborted + deleted + open_spool().sweep()

    def unavailable_since_ms(self) -> int | None:
        """Return when the server stopped answering this process, in milliseconds since 1970; None if it answers."""
        waiting = self._connection.waiting_ms()
        return None if waiting is None else time.time_ns() // 1_000_000 - waiting

    def call_times(self) -> CallTimes:
        """Return the requests of this process and how long they took, without the pauses between two attempts."""
        return self._connection.call_times()

    def close(self) -> None:
        """Close this process's connection. A later call opens another."""
        self._shared.close()

    def _page(self, under: str, token: str | None) -> "Page":
        """Return the reply to one request for a list."""
        return self._connection.run(listing.request_page, under, token, PAGE)

    @property
    def _connection(self) -> Connection:
        return self._shared.of_this_process()

    def _key(self, name: str) -> str:
        check_name(name)
        return self._location.prefix + name

    def _head(self, name: str) -> Head:
        known = self._connection.run(read.head, self._key(name))
        if known is None:
            raise self._missing(name)
        return known

    def _missing(self, name: str) -> CorruptData:
        return read.missing(self.uri, name)

    def __getstate__(self) -> "_State":
        return {
            "bucket": self._location.bucket,
            "prefix": self._location.prefix,
            "endpoint": self._location.endpoint,
            "cache": self._cache,
            "patience": self._patience,
            "part_bytes": self._part_bytes,
        }

    def __setstate__(self, state: "_State") -> None:
        S3Store.__init__(self, **state)
        self._shared.record_answer()

    def __repr__(self) -> str:
        return f"<S3 store at {self.uri}>"


class _State(TypedDict):
    """What travels in a pickle: the arguments of `S3Store`."""

    bucket: str
    prefix: str
    endpoint: str | None
    cache: BlockCache | None
    patience: RetryPolicy
    part_bytes: int


class _Connections:
    """The connections of one store, one for each process: this one, and those that were forked from it."""

    def __init__(self, location: BucketLocation, patience: RetryPolicy) -> None:
        self._location = location
        self._patience = patience
        self._first: int | None = os.getpid()
        self._of: dict[int, Connection] = {}

    def record_answer(self) -> None:
        """Record that the server has answered the process that started this one."""
        self._first = None

    def of_this_process(self) -> Connection:
        """Return the connection of this process. One dictionary operation decides among threads, so no lock exists that
        a fork could copy.
        """
        mine = self._of.get(os.getpid())
        if mine is None:
            made = Connection(self._location, self._patience, has_answered=self._first != os.getpid())
            mine = self._of.setdefault(os.getpid(), made)
            weakref.finalize(self, mine.close)
        return mine

    def close(self) -> None:
        """Close the connection of this process, if there is one."""
        mine = self._of.pop(os.getpid(), None)
        if mine is not None:
            mine.close()


def _parse_location(uri: str, key: str) -> BucketLocation:
    try:
        parts = urlsplit(uri)
        is_plain = parts.scheme == "s3" and not parts.query and not parts.fragment
    except ValueError:
        is_plain = False
    if not is_plain:
        raise InputError(f'{key} is no address of a bucket: write "s3://BUCKET/PREFIX"')
    if "@" in parts.netloc:
        raise InputError(f"{key} holds credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead")
    if ":" in parts.netloc:
        raise InputError(
            f'{key} = "{printable_address(uri)}" names a server: set AWS_ENDPOINT_URL_S3, and write "s3://BUCKET/PREFIX"'
        )
    if not _BUCKET.fullmatch(parts.netloc):
        raise InputError(f'{key} = "{printable_address(uri)}" names no bucket: write "s3://BUCKET/PREFIX"')
    prefix = parts.path.strip("/")
    if prefix:
        check_name(prefix)
    return BucketLocation(bucket=parts.netloc, prefix=prefix)
