"""`Bucket`: a `Store` in an S3-compatible server.

1. An object appears by one request, which the server carries out whole or not at all. Who was first is decided by
   the server; what is promised where it cannot is said in `storage.s3.put`.
2. Whatever the connection does to a request or its reply, it is sent again until it is answered or the patience
   is at its end (`storage.s3.request_retry`). What is returned is what is true in the bucket.
3. Work in progress is a file in the node's spool, or an upload on the server that nobody sees.
4. Threads share one connection and may all call at once. A pickled bucket, and one that came over a fork, makes
   its own connection; neither keys nor replies travel. The first process is told within seconds that nobody answers;
   the others have been begun by it, and are patient from the start.
"""

import io
import os
import re
import time
import weakref
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from core import CorruptData, InputError
from core.printable_address import printable_address
from storage.s3 import listing, put, read, uploads
from storage.s3.connection import BucketLocation, Connection
from storage.s3.read import BlockCache, Head
from storage.s3.request_retry import RetryPolicy
from storage.s3.spool import open_spool, spool_file
from storage.store import Staged, check_name

T = TypeVar("T")

PART_BYTES = 8 << 20
"""Of an upload in parts; more where there would be more than 10,000. An object of two parts or more goes so."""
ABANDONED_MS = 24 * 3600 * 1000
"""Age at which nobody is taken to be working any more at an upload or a probe."""
PAGE = 1000
"""Names in one reply; S3's own most."""
_BUCKET = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}"
)  # today's AWS rules are stricter, other servers' are not


class S3Store:
    """The objects in a bucket whose names begin with `prefix/`; the store's names are what follows.

    Keys, region and endpoint are those of the AWS_* variables and profiles, read where the first request is
    made; `endpoint` goes before them. Every method raises `InputError` for keys, buckets and addresses that are
    wrong, `Unavailable` where access is refused or nothing answers in `patience`.
    """

    __slots__ = ("__weakref__", "_cache", "_part_bytes", "_patience", "_place", "_shared")

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
        self._place = BucketLocation(bucket=bucket, prefix=f"{under}/" if under else "", endpoint=endpoint)
        self._cache = cache
        self._patience = patience or RetryPolicy()
        self._part_bytes = part_bytes
        self._shared = _Connections(self._place, self._patience)

    @classmethod
    def at(
        cls,
        uri: str,
        *,
        key: str = "project.storage",
        cache: BlockCache | None = None,
        patience: RetryPolicy | None = None,
    ) -> "S3Store":
        """The bucket of an address `s3://BUCKET/PREFIX`. Raises `InputError` for another, naming `key` as where
        it stood; what may be a secret is not repeated.
        """
        place = _place_of(uri, key)
        return cls(place.bucket, place.prefix, cache=cache, patience=patience)

    @property
    def uri(self) -> str:
        """`s3://bucket/prefix`."""
        return self._place.uri

    def put(self, name: str, data: bytes) -> bool:
        """Store `data` under `name`, durable on return. True: created; False: the name was there, unchanged."""
        return self._run(put.put(self._connection, self._key(name), bytes(data)))

    @contextmanager
    def stage(self, name: str) -> Iterator[Staged]:
        """A private file in the node's spool for what is to become `name`; gone at the end of the context.
        Running out of room inside the context raises `Unavailable`.
        """
        check_name(name)
        with spool_file(name) as path:
            yield Staged(self, name, path)

    def put_file(self, path: Path, name: str) -> bool:
        """Publish the bytes of a local file, which stays and must not change meanwhile, under `name`.
        True: done now; False: the name was taken before.
        """
        connection, key = self._connection, self._key(name)
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size < 2 * self._part_bytes:
                return self._run(put.put_file(connection, key, file.fileno(), size))
            return self._run(put.upload(connection, key, file.fileno(), size, part_bytes=self._part_bytes))

    def open(self, name: str) -> io.BufferedReader:
        """The object for reading, seekable. Raises `CorruptData` where it is missing; so does a read where it was
        replaced meanwhile, or where all of it was read and is not what was stored.
        """
        return read.open_object(self._connection, self._key(name), self._head(name), self._cache)

    def read(self, name: str) -> bytes:
        """All bytes of an object, checked. Raises `CorruptData` where it is missing or damaged."""
        data = self._run(read.whole(self._connection, self._key(name)))
        if data is None:
            raise self._missing(name)
        return data

    def exists(self, name: str) -> bool:
        """Whether the object is there, with all of its bytes."""
        return self._run(read.head(self._connection, self._key(name))) is not None

    def size(self, name: str) -> int:
        """Bytes of the object. Raises `CorruptData` where it is missing."""
        return self._head(name).size

    def stamp(self, name: str) -> str:
        """The entity tag, which other bytes change. Raises `CorruptData` where the object is missing."""
        return self._head(name).etag

    def age_ms(self, name: str) -> int:
        """Milliseconds since the object was put, by the server's clock."""
        return self._head(name).age_ms

    def list(self, prefix: str = "") -> Iterator[str]:
        """Names that begin with `prefix`, in byte order, as a stream; at least one request a directory."""
        return listing.names(self._page, self._place.prefix, prefix)

    def newest(self, directory: str, ending: str, most: int) -> Sequence[str]:
        """Names of the objects directly in `directory` that end so, at most `most`, the one that was put last first. One request
        for each 1000 objects there.
        """
        return listing.newest(self._page, self._place.prefix, f"{directory}/", ending, most)

    def delete(self, name: str) -> None:
        """Remove the object, durably; one that is not there is removed already."""
        self._run(self._connection.call("delete_object", Key=self._key(name)))

    def substore(self, directory: str) -> "S3Store":
        """The objects below a name, as a store of their own over the same connection."""
        child = S3Store(
            self._place.bucket,
            f"{self._place.prefix}{directory}",
            endpoint=self._place.endpoint,
            cache=self._cache,
            patience=self._patience,
            part_bytes=self._part_bytes,
        )
        child._shared = self._shared
        return child

    def clear(self) -> None:
        """Remove every object, hidden ones too, and every upload."""
        self._run(uploads.abort_uploads(self._connection, self._place.prefix, 0))
        self._run(uploads.delete_all(self._connection, self._place.prefix))

    def sweep(self, age_ms: int = ABANDONED_MS) -> int:
        """Remove what dead processes left in the node's spool, and uploads and probes under the prefix that were
        begun `age_ms` ago or earlier; returns how many.
        """
        probes = f"{self._place.prefix}{put.PROBES}"
        aborted = self._run(uploads.abort_uploads(self._connection, self._place.prefix, age_ms))
        deleted = self._run(uploads.delete_all(self._connection, probes, age_ms))
        return aborted + deleted + open_spool().sweep()

    def unavailable_since_ms(self) -> int | None:
        """When the server stopped answering this process, in milliseconds since 1970; None while all is well."""
        waiting = self._connection.waiting_ms()
        return None if waiting is None else time.time_ns() // 1_000_000 - waiting

    def close(self) -> None:
        """End this process's connection; a later call makes another."""
        self._shared.close()

    def _page(self, under: str, token: str | None) -> dict[str, Any]:
        """The reply to one request for a list."""
        more = {"ContinuationToken": token} if token else {}
        return self._run(
            self._connection.call("list_objects_v2", Prefix=under, Delimiter="/", MaxKeys=PAGE, **more)
        )

    @property
    def _connection(self) -> Connection:
        return self._shared.here()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._connection.run(work)

    def _key(self, name: str) -> str:
        check_name(name)
        return self._place.prefix + name

    def _head(self, name: str) -> Head:
        known = self._run(read.head(self._connection, self._key(name)))
        if known is None:
            raise self._missing(name)
        return known

    def _missing(self, name: str) -> CorruptData:
        return CorruptData(
            f"{name} is missing from the storage at {self.uri}; run the step that makes it again"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {
            "bucket": self._place.bucket,
            "prefix": self._place.prefix,
            "endpoint": self._place.endpoint,
            "cache": self._cache,
            "patience": self._patience,
            "part_bytes": self._part_bytes,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        S3Store.__init__(self, **state)
        self._shared.answered()

    def __repr__(self) -> str:
        return f"<bucket at {self.uri}>"


class _Connections:
    """The connection of each process that uses a bucket object: of this one, and of those it was forked from."""

    def __init__(self, place: BucketLocation, patience: RetryPolicy) -> None:
        self._place = place
        self._patience = patience
        self._first: int | None = os.getpid()
        self._of: dict[int, Connection] = {}

    def answered(self) -> None:
        """Say that the server has answered another process, which this one was begun by."""
        self._first = None

    def here(self) -> Connection:
        """The own one of this process. One dictionary operation decides among threads: no lock that a fork could copy."""
        mine = self._of.get(os.getpid())
        if mine is None:
            made = Connection(self._place, self._patience, has_answered=self._first != os.getpid())
            mine = self._of.setdefault(os.getpid(), made)
            weakref.finalize(self, mine.close)
        return mine

    def close(self) -> None:
        """Close the own one of this process, where there is one."""
        mine = self._of.pop(os.getpid(), None)
        if mine is not None:
            mine.close()


def _place_of(uri: str, key: str) -> BucketLocation:
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
