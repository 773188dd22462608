"""`SubresourceRobots`: whether a subresource may be fetched, by the robots.txt of its own origin, and its host's delay.

No person asks for subresources, so robots.txt applies to all of them, scripts and stylesheets included (RFC 9309 knows
no other kind of request; Google's renderer does the same).

1. For the page's origin the rules are those under which the page was leased.
2. For another origin they are the frontier's, if they were read within the last day. Otherwise they are fetched, in
   their host's turn, and cached by this worker as long as any rules (`crawler.robots.robots_txt`); the exchange is
   archived with the page.
3. If they cannot be fetched, nothing is fetched from the origin, and after `RETRY_MS` they are requested again.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from thresher.core import Url
from thresher.core.product import PRODUCT_TOKEN
from thresher.crawler.robots.robots_rules import ParsedRobots, parse_rules, request_path
from thresher.crawler.robots.robots_txt import (
    BLOCK_REASONS,
    CACHE_TTL_MS,
    RobotsFetch,
    RobotsRuling,
    delay_ms,
    split_timestamp,
)
from thresher.frontier import RobotsRecord, canonicalize

RETRY_MS = 600_000
"""After this time rules that could not be fetched are requested again."""
_MAX_ENTRIES = 512
_MAX_BYTES = 16 << 20
"""Bytes of rules that are cached at most, roughly."""
_ENTRY_BYTES = 200
"""Bytes of an origin without rules."""


class RobotsFetcher(Protocol):
    """Fetches a robots.txt on behalf of a page."""

    async def __call__(self, url: Url) -> RobotsFetch | str:
        """Return the fetch, or the reason why the robots.txt was not requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether a subresource may be fetched."""

    refusal: str = ""
    """Why it may not; empty if it may."""
    delay_ms: int = 0
    """The delay that the rules ask for between two requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    expires_ms: int
    rules: ParsedRobots | None = None
    refusal: str = ""

    @property
    def size(self) -> int:
        return _ENTRY_BYTES + (self.rules.size if self.rules else 0)

    def permission(self, url: Url) -> Permission:
        if self.rules is None:
            return Permission(refusal=self.refusal)
        if not self.rules.allows(request_path(url.wire)):
            return Permission(refusal="robots")
        return Permission(delay_ms=delay_ms(self.rules) or 0)


class SubresourceRobots:
    """The rules of origins from which pages need subresources, for all pages of a worker."""

    def __init__(
        self, read: Callable[[str], Awaitable[RobotsRecord | None]], clock_ms: Callable[[], int]
    ) -> None:
        """`read` returns the newest record of an origin (`Origins.robots`)."""
        self._read_record, self._clock_ms = read, clock_ms
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._size = 0

    async def permission(self, url: Url, fetch: RobotsFetcher) -> Permission:
        """Return whether `url` may be fetched; call `fetch` if its rules are not known."""
        entry = self._entries.pop(url.origin, None)
        if entry is not None:
            self._size -= entry.size
        if entry is None or entry.expires_ms <= self._clock_ms():
            entry = await self._entry_from_frontier(url.origin)
        if entry is None:
            found = await fetch(canonicalize("/robots.txt", url.origin))
            if isinstance(found, str):
                return Permission(refusal=found)
            if (
                isinstance(found.decision, RobotsRuling)
                and (reason := found.decision.body.decode(errors="replace")) in BLOCK_REASONS
            ):
                # This is not cached, because the guard may decide otherwise for another page.
                return Permission(refusal=reason)
            entry = self._entry(found)
        self._store(url.origin, entry)
        return entry.permission(url)

    async def _entry_from_frontier(self, origin: str) -> _Entry | None:
        record = await self._read_record(origin)
        if record is None or record.rule != "rules":
            return None
        body, read_ms = split_timestamp(record.body)
        until_ms = read_ms + CACHE_TTL_MS
        if until_ms <= self._clock_ms():
            return None
        return _Entry(expires_ms=until_ms, rules=parse_rules(body, PRODUCT_TOKEN))

    def _entry(self, found: RobotsFetch) -> _Entry:
        answer, now_ms = found.decision, self._clock_ms()
        if not isinstance(answer, RobotsRuling):
            return _Entry(expires_ms=now_ms + RETRY_MS, refusal="robots_unreachable")
        match answer.rule:
            case "rules":
                rules = parse_rules(split_timestamp(answer.body)[0], PRODUCT_TOKEN)
                return _Entry(expires_ms=now_ms + answer.ttl_ms, rules=rules)
            case "allow":
                return _Entry(expires_ms=now_ms + answer.ttl_ms)
            case "disallow":
                return _Entry(expires_ms=now_ms + RETRY_MS, refusal="robots_unreachable")

    def _store(self, origin: str, entry: _Entry) -> None:
        self._entries[origin] = entry
        self._size += entry.size
        while len(self._entries) > _MAX_ENTRIES or (self._size > _MAX_BYTES and len(self._entries) > 1):
            self._size -= self._entries.popitem(last=False)[1].size

    def __repr__(self) -> str:
        return f"<subresource robots: {len(self._entries)} origins>"
