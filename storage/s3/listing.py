"""Names in byte order, from any server.

1. A server that keeps names in directories (SeaweedFS) lists `a/x` before `a-b`; S3 itself sorts by bytes. So this
   module lists one level at a time (`Delimiter=/`), and holds a directory back until no later name can sort before it.
2. Memory holds one page for each level and the directories held back, however many names there are.
3. A server whose order is neither of these is refused, because the order is a promise of `Store`.
"""

import heapq
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from thresher.core import InputError, Unavailable
from thresher.storage.s3.connection import Connection
from thresher.storage.store import check_name

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import ListObjectsV2OutputTypeDef as Page

    PageSource = Callable[[str, str | None], Page]


def names(page: "PageSource", root: str, prefix: str) -> Iterator[str]:
    """Yield the names under `root` that begin with `prefix`. Raise as `names_and_etags` does."""
    return (name for name, _ in names_and_etags(page, root, prefix))


def names_and_etags(page: "PageSource", root: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the names under `root` that begin with `prefix`, with the entity tags of their objects.

    `page(prefix, token)` returns the reply to one ListObjectsV2 with `/` as its delimiter. Raise `Unavailable` if the
    server lists the names in another order.
    """
    last = b""
    for name, etag in _level(page, root, prefix):
        if not _is_name(name):
            continue
        if name.encode() < last:
            raise Unavailable(
                f"the server lists {name!r} after {last.decode()!r}: in no order that is known; use another server"
            )
        last = name.encode()
        yield name, etag


def newest(page: "PageSource", root: str, directory: str, ending: str, most: int) -> list[str]:
    """Return the names under `root` that lie directly in `directory` and end with `ending`: at most `most`, the last
    put first.
    """
    objects = (
        (each["LastModified"], each["Key"].removeprefix(root))
        for reply in _replies(page, root + directory)
        for each in reply.get("Contents", ())
        if each["Key"].endswith(ending)
    )
    return [name for _, name in heapq.nlargest(most, objects) if _is_name(name)]


def request_page(connection: Connection, under: str, token: str | None, most: int) -> "Page":
    """Return the reply to one request for at most `most` names and directories at the level `under`."""

    def attempt(s3: "S3Client") -> "Page":
        if token is None:
            return s3.list_objects_v2(Bucket=connection.bucket, Prefix=under, Delimiter="/", MaxKeys=most)
        return s3.list_objects_v2(
            Bucket=connection.bucket, Prefix=under, Delimiter="/", MaxKeys=most, ContinuationToken=token
        )

    return connection.send(attempt)


def _level(page: "PageSource", root: str, prefix: str) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[bytes, str]] = []
    for entry, etag in _entries(page, root, prefix):
        while waiting and waiting[0][0] < entry.encode():
            yield from _level(page, root, heapq.heappop(waiting)[1])
        if not entry.endswith("/"):
            yield entry, etag
        elif _is_name(entry.removesuffix("/")):
            heapq.heappush(waiting, (entry.encode(), entry))
    while waiting:
        yield from _level(page, root, heapq.heappop(waiting)[1])


def _entries(page: "PageSource", root: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the objects with their entity tags and, with a slash at the end, the directories. Within a page they are
    sorted as if the slash were not there, so that a directory never comes after a name that sorts behind all names in
    it.
    """
    for reply in _replies(page, root + prefix):
        found = [(each["Key"], each.get("ETag", "")) for each in reply.get("Contents", ())]
        found += [(each["Prefix"], "") for each in reply.get("CommonPrefixes", ())]
        yield from sorted(
            (
                (key.removeprefix(root), etag)
                for key, etag in found
                if key != root + prefix or not key.endswith("/")
            ),
            key=lambda entry: entry[0].removesuffix("/").encode(),
        )


def _replies(page: "PageSource", prefix: str) -> "Iterator[Page]":
    token = None
    while True:
        reply = page(prefix, token)
        yield reply
        token = reply.get("NextContinuationToken")
        if not reply.get("IsTruncated") or not token:
            return


def _is_name(text: str) -> bool:
    try:
        check_name(text)
    except InputError:
        return False
    return True
