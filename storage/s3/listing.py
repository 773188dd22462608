"""Names in byte order, from any server.

1. A server that keeps names in directories (SeaweedFS) lists `a/x` before `a-b`; S3 itself sorts by bytes. So this
   module lists one level at a time (`Delimiter=/`), and holds a directory back until no later name can sort before it.
2. Memory holds one page for each level and the directories held back, however many names there are.
3. A server whose order is neither of these is refused, because the order is a promise of `Store`.
"""

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from core import InputError, Unavailable
from storage.store import check_name

Page = dict[str, Any]


def names(page: Callable[[str, str | None], Page], root: str, prefix: str) -> Iterator[str]:
    """Yield the names under `root` that begin with `prefix`. Raise as `names_and_etags` does."""
    return (name for name, _ in names_and_etags(page, root, prefix))


def names_and_etags(
    page: Callable[[str, str | None], Page], root: str, prefix: str
) -> Iterator[tuple[str, str]]:
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


def newest(
    page: Callable[[str, str | None], Page], root: str, directory: str, ending: str, most: int
) -> list[str]:
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


def _level(page: Callable[[str, str | None], Page], root: str, prefix: str) -> Iterator[tuple[str, str]]:
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


def _entries(page: Callable[[str, str | None], Page], root: str, prefix: str) -> Iterator[tuple[str, str]]:
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


def _replies(page: Callable[[str, str | None], Page], prefix: str) -> Iterator[Page]:
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
