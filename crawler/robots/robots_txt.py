"""robots.txt by RFC 9309: turn the responses into a stored ruling, and decide by it which pages may be fetched.

1. 2xx: the first 500 KiB are the rules (section 2.5). 4xx: there are no rules, all is allowed (2.3.1.3); but 429 means
   that we are too fast, and counts as a server error.
2. 5xx, no response, and a response that broke off: all is disallowed for now, and robots.txt is requested again
   (2.3.1.4). After the third 5xx the host rests for an hour. If nobody answers, the frontier decides when to give the
   host up.
3. Rules are fetched again after a day (2.4). If that fails as in 2, the old rules hold for a week after they were read,
   and robots.txt is requested again every hour.
4. Redirects are followed for five hops, to other hosts too (2.3.1.2); beyond that there are no rules. The hops are one
   fetch: the same lease, the same guarded client, each hop a record of its own. Each address is acquired before it is
   requested, and so is another host; after the first hop, the fetch waits here for their turns.
5. A crawl-delay beyond five minutes counts as five minutes.
6. If reading a response raises an exception (a fault of ours) or kills the reader, all is disallowed for an hour,
   because nobody knows what is allowed.
"""

from __future__ import annotations

import asyncio
import struct
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from thresher.core import Capture, Url, failure_boundary
from thresher.core import Failure as ReadingFailure
from thresher.core.product import PRODUCT_TOKEN
from thresher.crawler.reading.outcome import (
    FAULT_BY_REASON,
    MIN_WAIT_MS,
    PARSER_CRASH,
    READING_STEP,
    REDIRECT_STATUSES,
    Judgement,
    decode_location,
    fault_of,
    retry_after_ms,
    too_busy,
)
from thresher.crawler.robots.robots_rules import (
    MAX_ROBOTS_BYTES,
    ParsedRobots,
    parse_rules,
    request_path,
    whole_lines,
)
from thresher.crawler.wire import FetchFailure, Postponement
from thresher.frontier import Fault, Frontier, InvalidUrl, Lease, Outcome, RobotsRecord, canonicalize
from thresher.storage.warc.payload import decode_content

if TYPE_CHECKING:
    from thresher.crawler.connectivity.address_limiter import AddressLimiter
    from thresher.crawler.connectivity.uplink import Fetcher

MAX_REDIRECTS = 5
ATTEMPTS = 3
MAX_DELAY_S = 300
CACHE_TTL_MS = 24 * 3_600_000
"""How long rules are cached (RFC 9309, section 2.4)."""
STALE_MS = 7 * CACHE_TTL_MS
"""How long after they were read old rules hold if they cannot be fetched again."""
UNREACHABLE_MS = 3_600_000
MAX_TURN_WAIT_MS = 30_000
"""How long the redirects of a robots.txt may wait for the turns of hosts and addresses in all, besides two delays for
each hop.
"""
BLOCK_REASONS = frozenset({"address_blocked", "name_blocked", "port_blocked"})
"""Reasons, and bodies of records, of origins that the guard blocks."""

_MAX_ENTRIES = 512
_MAX_BYTES = 32 << 20
"""Bytes of rules that are cached at most, roughly."""
_STAMP = struct.Struct(">4sQ")
_STAMPED = b"\0at "


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRuling:
    """The decision that one robots.txt led to; it holds for `ttl_ms`."""

    rule: Literal["allow", "disallow", "rules"]
    body: bytes = b""
    """The rules, with the time at which they were read (`with_timestamp`); one of `BLOCK_REASONS` if the guard forbids
    the host.
    """
    ttl_ms: int = CACHE_TTL_MS
    delay_ms: int | None = None
    hold_ms: int = 0
    """How long the host is not requested, though its rules are known."""
    fault: Fault | None = None
    """Why old rules are used; None if they are new."""
    reason: str = ""
    """The reason of that fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRetry:
    """No rules were read; the host is not requested for `retry_after_ms`, or for longer if the fault says so."""

    retry_after_ms: int | None
    """None if the server named no time: then the frontier chooses the delay, and doubles it with every attempt."""
    fault: Fault | None = None
    reason: str = ""
    """Why no response came, if none did."""
    is_failure: bool = True
    """False if the fetch was only postponed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsFetch:
    """One fetch of a robots.txt: the exchange of each hop, and the decision."""

    captures: tuple[Capture, ...]
    decision: RobotsRuling | RobotsRetry
    reading_failure: ReadingFailure | None = None
    """What the reading of the last response raised, if it did."""


UNREADABLE = RobotsRuling(rule="disallow", body=READING_STEP.encode(), ttl_ms=UNREACHABLE_MS)
"""The ruling of a robots.txt whose reading raised an exception."""
DEADLY = RobotsRuling(rule="disallow", body=PARSER_CRASH.reason.encode(), ttl_ms=UNREACHABLE_MS)
"""The ruling of a robots.txt that killed its reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HopReading:
    """One response of a chain, read: it redirects (`next_url`), or it is the last and has a ruling or a retry."""

    next_url: Url | None = None
    ruling: RobotsRuling | None = None
    retry: RobotsRetry | None = None

    @classmethod
    def last(cls, answer: RobotsRuling | RobotsRetry) -> HopReading:
        """Return the reading of the last response."""
        return cls(ruling=answer) if isinstance(answer, RobotsRuling) else cls(retry=answer)

    def fetch_result(self, captures: Sequence[Capture]) -> RobotsFetch | None:
        """Return the result of the chain; None if it goes on."""
        answer = self.ruling or self.retry
        return None if answer is None else RobotsFetch(captures=tuple(captures), decision=answer)


Reader = Callable[[Lease, Capture, str, bool], Awaitable[HopReading]]
"""Reads a response, with the arguments of `read_hop`."""


def read_hop(lease: Lease, found: Capture, base: str, follows: bool) -> HopReading:
    """Read a response of `base`; `follows` says whether a redirect may be followed."""
    next_url = redirect_target(found.status, found.header("location"), base) if follows else None
    return (
        HopReading.last(_decide_capture(found, lease)) if next_url is None else HopReading(next_url=next_url)
    )


async def _read_in_event_loop(lease: Lease, found: Capture, base: str, follows: bool) -> HopReading:
    return read_hop(lease, found, base, follows)


async def fetch_robots(
    client: Fetcher, lease: Lease, address_limiter: AddressLimiter, read: Reader = _read_in_event_loop
) -> RobotsFetch | Postponement:
    """Fetch the robots.txt of a lease, redirects included. Return a `Postponement` if no response came and the lease
    goes back.
    """
    captures: list[Capture] = []
    # Two delays for each hop's turn are always granted: the delay before this request, and that after the host's last
    # one.
    url, remaining_wait_ms = lease.url, MAX_TURN_WAIT_MS + 2 * MAX_REDIRECTS * address_limiter.host_delay_ms
    while True:
        found = await client.get(url, address_limiter.acquire_for(lease), max_body=MAX_ROBOTS_BYTES)
        has_sent = not isinstance(found, Postponement) or found.has_sent_request
        if has_sent and url.host != lease.url.host:
            await address_limiter.end_turn(
                url.host, answer=too_busy(found) if isinstance(found, Capture) else None
            )
        if isinstance(found, Postponement):
            if not captures:
                return found
            if found.has_sent_request or found.wait_ms > remaining_wait_ms:
                return RobotsFetch(
                    captures=tuple(captures),
                    decision=RobotsRetry(retry_after_ms=found.wait_ms, is_failure=False),
                )
            remaining_wait_ms -= found.wait_ms
            await asyncio.sleep(found.wait_ms / 1000)
            # The lease has a place in the address's queue now.
            lease = replace(lease, held_until_ms=max(lease.held_until_ms, 1))
            continue
        if isinstance(found, FetchFailure):
            return RobotsFetch(captures=tuple(captures), decision=decide_failure(found, lease))
        captures.append(found)
        result = await _next_hop(captures, url, lease, read)
        if isinstance(result, RobotsFetch):
            return result
        url = result
        if url.host == lease.url.host:
            # The lease holds the host, and lasts for this request as well.
            await asyncio.sleep(address_limiter.host_delay_ms / 1000)
            continue
        wait = await address_limiter.reserve_turn(url.host, max_wait_ms=remaining_wait_ms)
        if wait > remaining_wait_ms:
            return RobotsFetch(
                captures=tuple(captures), decision=RobotsRetry(retry_after_ms=wait, is_failure=False)
            )
        remaining_wait_ms -= wait
        await asyncio.sleep(wait / 1000)


async def _next_hop(captures: list[Capture], url: Url, lease: Lease, read: Reader) -> Url | RobotsFetch:
    """Return where the last response of a chain, that of `url`, redirects to; or the result of the chain."""
    try:
        with failure_boundary(READING_STEP):
            found = await read(lease, captures[-1], url.text, len(captures) <= MAX_REDIRECTS)
            result = found.next_url or found.fetch_result(captures)
            assert result is not None
            return result
    except ReadingFailure as failure:
        return RobotsFetch(captures=tuple(captures), decision=UNREADABLE, reading_failure=failure)


def redirect_target(status: int, location: str | None, base: str) -> Url | None:
    """Return where a robots.txt redirects to; None if it does not."""
    if status not in REDIRECT_STATUSES or not location:
        return None
    try:
        return canonicalize(decode_location(location), base)
    except InvalidUrl:
        return None


def decide_failure(failure: FetchFailure, lease: Lease) -> RobotsRuling | RobotsRetry:
    """Return the decision if no response came."""
    if failure.reason in BLOCK_REASONS:
        return RobotsRuling(rule="disallow", body=failure.reason.encode(), ttl_ms=UNREACHABLE_MS)
    return _unreachable(lease, None, FAULT_BY_REASON.get(failure.reason), failure.reason)


def decide_response(
    lease: Lease, *, status: int, body: bytes, truncated: str | None, retry_after: int | None, now_ms: int
) -> RobotsRuling | RobotsRetry:
    """Return the decision of a chain's last response, which came at `now_ms`; `body` is without its content
    encoding.
    """
    if status == 429 or status >= 500:
        return _unreachable(lease, retry_after, fault_of(status))
    if truncated not in {None, "length"} and 200 <= status < 300:
        return _unreachable(lease, retry_after, Fault.TIMEOUT if truncated == "time" else Fault.RESET)
    if 200 <= status < 300:
        rules = parse_rules(whole_lines(body, cut=truncated is not None), PRODUCT_TOKEN)
        # Rules for others, and comments, may be half a megabyte; only the archive keeps them.
        return RobotsRuling(
            rule="rules", body=with_timestamp(rules.body(PRODUCT_TOKEN), now_ms), delay_ms=delay_ms(rules)
        )
    return RobotsRuling(rule="allow")


def use_stale_rules(
    answer: RobotsRetry, record: RobotsRecord | None, now_ms: int
) -> RobotsRuling | RobotsRetry:
    """Return the decision if a robots.txt could not be fetched and `record` is the newest one (rule 3)."""
    if not answer.is_failure or record is None or record.rule != "rules":
        return answer
    body, read_ms = split_timestamp(record.body)
    if not now_ms - STALE_MS < read_ms <= now_ms:
        return answer
    return RobotsRuling(
        rule="rules",
        body=record.body,
        ttl_ms=UNREACHABLE_MS,
        delay_ms=delay_ms(parse_rules(body, PRODUCT_TOKEN)),
        hold_ms=(answer.retry_after_ms or 0) if answer.fault is Fault.BUSY else 0,
        fault=answer.fault,
        reason=answer.reason,
    )


def with_timestamp(body: bytes, read_ms: int) -> bytes:
    """Return rules with the time at which they were read, as the frontier stores them."""
    return _STAMP.pack(_STAMPED, read_ms) + body


def split_timestamp(body: bytes) -> tuple[bytes, int]:
    """Return rules and their time, in milliseconds since the epoch; 0 if they have none."""
    if len(body) < _STAMP.size or not body.startswith(_STAMPED):
        return body, 0
    return body[_STAMP.size :], _STAMP.unpack_from(body)[1]


def delay_ms(rules: ParsedRobots) -> int | None:
    """Return the milliseconds between two requests that the rules ask us for; None if they ask for none."""
    return round(min(rules.delay_s, MAX_DELAY_S) * 1000) if rules.delay_s else None


class RobotsCache:
    """Returns the newest rules of the origin of a page. Caches the rules of a few hundred origins."""

    def __init__(self, frontier: Frontier) -> None:
        """Read records from `frontier`; after a restart of its server, records of the same version may differ."""
        self._frontier = frontier
        self._entries: OrderedDict[tuple[str, int, int], OriginRules] = OrderedDict()
        self._size = 0

    async def rules(self, lease: Lease) -> OriginRules:
        """Return the rules for the page of a lease."""
        key = (lease.url.origin, lease.robots_version, self._frontier.crawl.server_restarts)
        entry = self._entries.pop(key, None)
        if entry is None:
            record = await self._frontier.origins.robots(lease.url.origin)
            rules = None
            if record is not None and record.rule == "rules" and record.body:
                rules = parse_rules(split_timestamp(record.body)[0], PRODUCT_TOKEN)
            entry = OriginRules(record=record, rules=rules)
            self._size += entry.size
        self._entries[key] = entry
        while len(self._entries) > _MAX_ENTRIES or (self._size > _MAX_BYTES and len(self._entries) > 1):
            self._size -= self._entries.popitem(last=False)[1].size
        return entry

    def __repr__(self) -> str:
        return f"<robots cache: {len(self._entries)} origins>"


@dataclass(slots=True, kw_only=True)
class OriginRules:
    """What the newest robots record of one origin permits."""

    record: RobotsRecord | None
    rules: ParsedRobots | None
    has_reported_sitemaps: bool = False
    """Whether `take_sitemaps` has returned the origin's sitemaps."""

    @property
    def size(self) -> int:
        """Bytes of the rules, roughly."""
        return 0 if self.rules is None else self.rules.size

    @property
    def delay_ms(self) -> int:
        """Milliseconds between two requests that the rules ask for; 0 if they ask for none."""
        return 0 if self.rules is None else delay_ms(self.rules) or 0

    def take_sitemaps(self) -> tuple[str, ...]:
        """Return the sitemaps that the rules name, as written there; once."""
        if self.has_reported_sitemaps or self.rules is None:
            return ()
        self.has_reported_sitemaps = True
        return self.rules.sitemaps

    def refusal(self, url: Url) -> Judgement | None:
        """Return why a page of the origin may not be fetched; None if it may. The reason is `robots` if the site
        refuses. If there are no rules, nothing is requested.
        """
        if self.rules is not None:
            if self.rules.allows(request_path(url.wire)):
                return None
            return Judgement(outcome=Outcome.REFUSED, reason="robots")
        if self.record is not None and self.record.rule == "allow":
            return None
        if self.record is not None and self.record.body:
            # The guard's reason, or the frontier's reason why the origin was given up.
            reason = self.record.body.decode()
            return Judgement(
                outcome=Outcome.REFUSED if reason in BLOCK_REASONS else Outcome.FAILED, reason=reason
            )
        return Judgement(outcome=Outcome.FAILED, reason="robots_unreachable")


def _decide_capture(found: Capture, lease: Lease) -> RobotsRuling | RobotsRetry:
    now_ms = found.started_ms + found.elapsed_ms
    return decide_response(
        lease,
        status=found.status,
        body=decode_content(found.payload, found.content_encoding, MAX_ROBOTS_BYTES)[0],
        truncated=found.truncated,
        retry_after=retry_after_ms(found.header("retry-after"), now_ms),
        now_ms=now_ms,
    )


def _unreachable(
    lease: Lease, wait: int | None, fault: Fault | None, reason: str = ""
) -> RobotsRuling | RobotsRetry:
    # The frontier gives up a host that never answers, with all that waits there; it does not rest for an hour.
    if lease.attempt + 1 < ATTEMPTS or fault in FAULT_BY_REASON.values():
        after_ms = None if wait is None else max(wait, MIN_WAIT_MS)
        return RobotsRetry(retry_after_ms=after_ms, fault=fault, reason=reason)
    return RobotsRuling(rule="disallow", ttl_ms=UNREACHABLE_MS)
