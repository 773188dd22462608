"""`SubresourceCache`: a subresource that many pages of a site request is fetched once.

The scripts and styles of a site are the same on all its pages. A response that may be used again is cached as long as
its server says (RFC 9111, section 4.2.1), at most an hour. If the server says nothing, a script or a stylesheet is
cached for ten minutes. A request that carries a cookie or a password of the page, or whose response varies by more than
encoding and origin, is never answered from the cache. The records of a response are in the archive with the page that
requested it first.

A request is answered from the cache only if the server would send it the same response: if the cached request had the
same `Origin` header, or neither had one, and the same `partition`. A response that only some pages may receive is
cached in a partition of their own.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Collection

from thresher.core import Capture
from thresher.crawler.wire.http.request import HeaderList

MAX_BYTES = 64 << 20
MAX_ENTRY_BYTES = 4 << 20
"""Bytes of one response; a larger one is not cached."""
MAX_TTL_MS = 3_600_000
DEFAULT_TTL_MS = 600_000

_Key = tuple[str, str, str]
_AGE = re.compile(r"\bmax-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE | re.ASCII)
_NEVER = re.compile(r"\b(?:no-store|no-cache|private)\b", re.IGNORECASE | re.ASCII)
_CACHEABLE_VARY = frozenset({"", "accept-encoding", "origin"})
_PERSONAL = frozenset({"authorization", "cookie"})
SHARED_KINDS = frozenset({"script", "stylesheet"})
"""Kinds that pages of different sites may share, because a page cannot set the headers of such a request."""


class SubresourceCache:
    """Responses by URL; the least recently used are evicted first."""

    def __init__(self, clock_ms: Callable[[], int]) -> None:
        self._clock_ms = clock_ms
        self._entries: OrderedDict[_Key, tuple[int, Capture]] = OrderedDict()
        self._bytes = 0

    def get(self, url: str, headers: HeaderList, partition: str = "") -> Capture | None:
        """Return a fresh response; None if it must be requested."""
        key = _key(url, headers, partition)
        if _is_personal(headers) or key not in self._entries:
            return None
        until_ms, capture = self._entries[key]
        if self._clock_ms() >= until_ms:
            self._forget(key)
            return None
        self._entries.move_to_end(key)
        return capture

    def put(self, url: str, headers: HeaderList, capture: Capture, kind: str, partition: str = "") -> None:
        """Cache a response, if it may be used again."""
        key = _key(url, headers, partition)
        fresh_ms = 0 if _is_personal(headers) else _fresh_ms(capture, kind)
        if fresh_ms <= 0 or len(capture.response) > MAX_ENTRY_BYTES:
            return
        if key in self._entries:
            self._forget(key)
        self._entries[key] = (self._clock_ms() + fresh_ms, capture)
        self._bytes += _size(capture)
        while self._bytes > MAX_BYTES:
            self._forget(next(iter(self._entries)))

    def forget(self, urls: Collection[str]) -> None:
        """Drop the responses of these URLs."""
        for key in [each for each in self._entries if each[2] in urls]:
            self._forget(key)

    def _forget(self, key: _Key) -> None:
        self._bytes -= _size(self._entries.pop(key)[1])

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<subresource cache: {len(self._entries)} responses, {self._bytes} bytes>"


def _key(url: str, headers: HeaderList, partition: str) -> _Key:
    return partition, next((value for name, value in headers if name.lower() == "origin"), ""), url


def _is_personal(headers: HeaderList) -> bool:
    return any(name.lower() in _PERSONAL for name, _ in headers)


def _fresh_ms(capture: Capture, kind: str) -> int:
    if capture.status != 200 or capture.truncated:
        return 0
    varies = (capture.header("vary") or "").lower().split(",")
    control = capture.header("cache-control") or ""
    if (
        _NEVER.search(control)
        or capture.header("set-cookie")
        or {one.strip() for one in varies} - _CACHEABLE_VARY
    ):
        return 0
    age = _AGE.search(control)
    if age:
        return min(int(age[1]) * 1000, MAX_TTL_MS)
    return DEFAULT_TTL_MS if kind in SHARED_KINDS else 0


def _size(capture: Capture) -> int:
    # The payload is in memory beside the response, and for a moment the decoded payload as well.
    return len(capture.request) + len(capture.response) + len(capture.payload)
