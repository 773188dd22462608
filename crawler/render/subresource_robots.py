"""`PartRules`: whether a part may be fetched, by the robots.txt of its own origin, and the delay that its host asks for.

Parts are fetched without anybody's asking for them, so robots.txt holds for all of them, scripts and stylesheets included (RFC 9309 knows
no other kind of request; so does Google's renderer).

1. The rules of the page's origin are those that the page was leased under.
2. Those of another origin are the frontier's, where they were read within the day. Otherwise they are fetched, in the turn of their host,
   and kept by this worker for as long as any (`crawler.robots.robots_txt`); the exchange is archived with the page.
3. Where they cannot be had nothing is fetched from the origin, and after some minutes they are asked for again.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from core import Url
from core.product import PRODUCT_TOKEN
from crawler.robots.robots_rules import ParsedRobots, parse_rules, request_path
from crawler.robots.robots_txt import (
    BLOCK_REASONS,
    CACHE_TTL_MS,
    RobotsFetch,
    RobotsRuling,
    delay_ms,
    split_timestamp,
)
from frontier import RobotsRecord, canonicalize

RETRY_MS = 600_000
"""After so long rules are asked for again that could not be had."""
_KEPT_AT_MOST = 512
_SIZE_AT_MOST = 16 << 20
"""Bytes of rules that are kept, roughly."""
_ENTRY = 200
"""Bytes of an origin that has none."""


class RobotsFetcher(Protocol):
    """Who fetches a robots.txt on behalf of a page."""

    async def __call__(self, url: Url) -> RobotsFetch | str:
        """What it came to, or why it was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether something may be fetched."""

    refusal: str = ""
    """Why not; empty where it may."""
    delay_ms: int = 0
    """What the rules ask for, between two requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    expires_ms: int
    rules: ParsedRobots | None = None
    refusal: str = ""

    @property
    def size(self) -> int:
        return _ENTRY + (self.rules.size if self.rules else 0)

    def permission(self, url: Url) -> Permission:
        if self.rules is None:
            return Permission(refusal=self.refusal)
        if not self.rules.allows(request_path(url.wire)):
            return Permission(refusal="robots")
        return Permission(delay_ms=delay_ms(self.rules) or 0)


class SubresourceRobots:
    """The rules of origins that pages need parts from, for all pages of a worker."""

    def __init__(
        self, read: Callable[[str], Awaitable[RobotsRecord | None]], clock_ms: Callable[[], int]
    ) -> None:
        """`read` gives the newest record of an origin (`Frontier.robots`)."""
        self._read_record, self._clock_ms = read, clock_ms
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._size = 0

    async def permission(self, url: Url, fetch: RobotsFetcher) -> Permission:
        """Whether `url` may be fetched; `fetch` is called where its rules are not at hand."""
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
                return Permission(refusal=reason)  # for this page
            entry = self._entry(found)
        self._keep(url.origin, entry)
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

    def _keep(self, origin: str, entry: _Entry) -> None:
        self._entries[origin] = entry
        self._size += entry.size
        while len(self._entries) > _KEPT_AT_MOST or (self._size > _SIZE_AT_MOST and len(self._entries) > 1):
            self._size -= self._entries.popitem(last=False)[1].size

    def __repr__(self) -> str:
        return f"<part rules of {len(self._entries)} origins>"
