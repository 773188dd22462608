"""robots.txt as RFC 9309 has it: from the answers to a rule that is kept, and from the rule to yes or no (`rules`).

1. 2xx: the first 500 KiB are the rules (section 2.5). 4xx: there are none, all is allowed (2.3.1.3), but 429
   means that we are too fast, and is taken as a server error.
2. 5xx, no answer, and an answer that broke off: all is disallowed for now, and it is asked again (2.3.1.4). At
   the third 5xx the host is left alone for an hour. Where nobody answers, the frontier knows when to give it up.
3. Rules are asked for again after a day (2.4). Where that fails as in 2, the rules that were there before hold, for a
   week after they were read, and it is asked again every hour.
4. Redirects are followed for five hops, to other hosts too (2.3.1.2); beyond that there are no rules. They
   are hops of one event: the same lease, the same guarded client, each hop a record of its own. Each address is
   entered before it is asked, and so is another host; behind the first hop their turns are waited for here.
5. A crawl-delay beyond five minutes is five minutes.
6. Where reading an answer raises an exception (a fault of ours), or kills whoever reads it, all is disallowed for an hour:
   nobody knows what is allowed.
"""

import asyncio
import struct
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core import Capture, Url, failure_boundary
from core import Failure as ReadingFailure
from core.product import PRODUCT_TOKEN
from crawler.reading.outcome import (
    FAULT_BY_REASON,
    PARSER_CRASH,
    READING_STEP,
    REDIRECT_STATUSES,
    SHORTEST_WAIT_MS,
    Judgement,
    decode_location,
    fault_of,
    retry_after_ms,
    too_busy,
)
from crawler.robots.robots_rules import MAX_ROBOTS_BYTES, ParsedRobots, parse_rules, request_path, whole_lines
from crawler.uplink.address_limiter import AddressLimiter
from crawler.uplink.uplink import Fetcher
from crawler.wire import FetchFailure, Postponement, header_value
from frontier import Fault, InvalidUrl, Lease, Outcome, RobotsRecord, canonicalize
from storage.warc.payload import decode_content

MAX_REDIRECTS = 5
ATTEMPTS = 3
LONGEST_DELAY_S = 300
CACHE_TTL_MS = 24 * 3_600_000
"""How long rules are kept (RFC 9309, section 2.4)."""
STALE_MS = 7 * CACHE_TTL_MS
"""How long after they were read rules hold that cannot be had again."""
UNREACHABLE_MS = 3_600_000
MAX_TURN_WAIT_MS = 30_000
"""How long the redirects of a robots.txt wait for the turns of hosts and addresses, in all, beside two delays for each."""
BLOCK_REASONS = frozenset({"address_blocked", "name_blocked", "port_blocked"})
"""Reasons, and bodies of records, of origins that the guard keeps us from."""

_KEPT_AT_MOST = 512
_SIZE_AT_MOST = 32 << 20
"""Bytes of rules that are kept, roughly."""
_STAMP = struct.Struct(">4sQ")
_STAMPED = b"\0at "


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRuling:
    """What one robots.txt came to, to be kept for `ttl_ms`."""

    rule: Literal["allow", "disallow", "rules"]
    body: bytes = b""
    """The rules, with the time at which they were read (`with_timestamp`); one of `BLOCK_REASONS` where the guard forbids the host."""
    ttl_ms: int = CACHE_TTL_MS
    delay_ms: int | None = None
    hold_ms: int = 0
    """How long the host is asked nothing, though its rules are known."""
    fault: Fault | None = None
    """Why these are the rules of before."""
    reason: str = ""
    """Which kind of fault that was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRetry:
    """Nothing was learnt; the host is asked nothing for so long, or for longer where the fault means that."""

    retry_after_ms: int | None
    """None where nobody said: the frontier knows, and doubles it with every attempt."""
    fault: Fault | None = None
    reason: str = ""
    """Why no answer came, where none did."""
    is_failure: bool = True
    """False where it was only put off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsFetch:
    """One fetch of a robots.txt: every hop's exchange, and what it came to."""

    captures: tuple[Capture, ...]
    decision: RobotsRuling | RobotsRetry
    reading_failure: ReadingFailure | None = None
    """What the last answer's reading raised, where it did."""


UNREADABLE = RobotsRuling(rule="disallow", body=READING_STEP.encode(), ttl_ms=UNREACHABLE_MS)
"""Of a robots.txt whose reading raised an exception."""
DEADLY = RobotsRuling(rule="disallow", body=PARSER_CRASH.reason.encode(), ttl_ms=UNREACHABLE_MS)
"""Of a robots.txt that its reader did not survive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What one answer of a chain means: it redirects further, or it is the last, and one of the two others is there."""

    further: Url | None = None
    ruling: RobotsRuling | None = None
    again: RobotsRetry | None = None

    @classmethod
    def last(cls, answer: RobotsRuling | RobotsRetry) -> "Meaning":
        """That of the last answer."""
        return cls(ruling=answer) if isinstance(answer, RobotsRuling) else cls(again=answer)

    def event(self, captures: Sequence[Capture]) -> "RobotsFetch | None":
        """What the chain came to; None where it goes on."""
        answer = self.ruling or self.again
        return None if answer is None else RobotsFetch(captures=tuple(captures), decision=answer)


Reader = Callable[[Lease, Capture, str, bool], Awaitable[Meaning]]
"""What reads an answer, with the arguments of `meaning`."""


def meaning(lease: Lease, found: Capture, base: str, follows: bool) -> Meaning:
    """What the answer of `base` means; `follows` says whether a redirect may be followed."""
    further = redirect_target(found.status, found.header("location"), base) if follows else None
    return Meaning.last(_of_capture(found, lease)) if further is None else Meaning(further=further)


async def _here(lease: Lease, found: Capture, base: str, follows: bool) -> Meaning:
    return meaning(lease, found, base, follows)


async def fetch_robots(
    client: Fetcher, lease: Lease, address_limiter: AddressLimiter, read: Reader = _here
) -> RobotsFetch | Postponement:
    """Fetch the robots.txt of a lease, redirects included; `Postponement` if no answer came and the lease goes back."""
    captures: list[Capture] = []
    # Two delays of a turn elsewhere are never too many: of who asks there, and of who has asked.
    url, patience_ms = lease.url, MAX_TURN_WAIT_MS + 2 * MAX_REDIRECTS * address_limiter.host_delay_ms
    while True:
        found = await client.get(url, address_limiter.acquire_for(lease), max_body=MAX_ROBOTS_BYTES)
        asked = not isinstance(found, Postponement) or found.has_sent_request
        if asked and url.host != lease.url.host:
            await address_limiter.end_turn(
                url.host, answer=too_busy(found) if isinstance(found, Capture) else None
            )
        if isinstance(found, Postponement):
            if not captures:
                return found
            if found.has_sent_request or found.wait_ms > patience_ms:
                return RobotsFetch(
                    captures=tuple(captures),
                    decision=RobotsRetry(retry_after_ms=found.wait_ms, is_failure=False),
                )
            patience_ms -= found.wait_ms
            await asyncio.sleep(found.wait_ms / 1000)
            lease = replace(
                lease, held_until_ms=max(lease.held_until_ms, 1)
            )  # it has a place in the line now
            continue
        if isinstance(found, FetchFailure):
            return RobotsFetch(captures=tuple(captures), decision=decide_failure(found, lease))
        captures.append(found)
        further = await _next_hop(captures, url, lease, read)
        if isinstance(further, RobotsFetch):
            return further
        url = further
        if url.host == lease.url.host:
            # The lease holds the host, and lasts for this as well.
            await asyncio.sleep(address_limiter.host_delay_ms / 1000)
            continue
        wait = await address_limiter.reserve_turn(url.host, max_wait_ms=patience_ms)
        if wait > patience_ms:
            return RobotsFetch(
                captures=tuple(captures), decision=RobotsRetry(retry_after_ms=wait, is_failure=False)
            )
        patience_ms -= wait
        await asyncio.sleep(wait / 1000)


async def _next_hop(captures: list[Capture], url: Url, lease: Lease, read: Reader) -> Url | RobotsFetch:
    """Where the last answer of a chain, that of `url`, redirects to; or what the chain came to."""
    try:
        with failure_boundary(READING_STEP):
            found = await read(lease, captures[-1], url.text, len(captures) <= MAX_REDIRECTS)
            further = found.further or found.event(captures)
            assert further is not None
            return further
    except ReadingFailure as failure:
        return RobotsFetch(captures=tuple(captures), decision=UNREADABLE, reading_failure=failure)


def redirect_target(status: int, location: str | None, base: str) -> Url | None:
    """Where a robots.txt redirects to; None where it does not."""
    if status not in REDIRECT_STATUSES or not location:
        return None
    try:
        return canonicalize(decode_location(location), base)
    except InvalidUrl:
        return None


def decide_failure(failure: FetchFailure, lease: Lease) -> RobotsRuling | RobotsRetry:
    """What no answer means."""
    if failure.reason in BLOCK_REASONS:
        return RobotsRuling(rule="disallow", body=failure.reason.encode(), ttl_ms=UNREACHABLE_MS)
    return _unreachable(lease, None, FAULT_BY_REASON.get(failure.reason), failure.reason)


def decide_response(
    lease: Lease, *, status: int, body: bytes, truncated: str | None, retry_after: int | None, now_ms: int
) -> RobotsRuling | RobotsRetry:
    """What the last answer of a chain means, which came at `now_ms`; `body` without its content encoding."""
    if status == 429 or status >= 500:
        return _unreachable(lease, retry_after, fault_of(status))
    if truncated not in {None, "length"} and 200 <= status < 300:
        return _unreachable(lease, retry_after, Fault.TIMEOUT if truncated == "time" else Fault.RESET)
    if 200 <= status < 300:
        rules = parse_rules(whole_lines(body, cut=truncated is not None), PRODUCT_TOKEN)
        # What is said to others, and comments, may be half a megabyte, and are kept in the archive alone.
        return RobotsRuling(
            rule="rules", body=with_timestamp(rules.body(PRODUCT_TOKEN), now_ms), delay_ms=delay_ms(rules)
        )
    return RobotsRuling(rule="allow")


def use_stale_rules(
    answer: RobotsRetry, record: RobotsRecord | None, now_ms: int
) -> RobotsRuling | RobotsRetry:
    """What it means that a robots.txt could not be had whose newest record is at hand (rule 3)."""
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
    """Rules with the time at which they were read, as the frontier keeps them."""
    return _STAMP.pack(_STAMPED, read_ms) + body


def split_timestamp(body: bytes) -> tuple[bytes, int]:
    """Rules and their time, in milliseconds since the epoch; 0 where they say none."""
    if len(body) < _STAMP.size or not body.startswith(_STAMPED):
        return body, 0
    return body[_STAMP.size :], _STAMP.unpack_from(body)[1]


def delay_ms(rules: ParsedRobots) -> int | None:
    """Milliseconds between two requests that the rules ask us for; None where they do not."""
    return round(min(rules.delay_s, LONGEST_DELAY_S) * 1000) if rules.delay_s else None


class RobotsCache:
    """Answers whether a page may be fetched, by the newest rules of its origin. Keeps those of a few hundred origins."""

    def __init__(
        self,
        read_record: Callable[[str], Awaitable[RobotsRecord | None]],
        restarts: Callable[[], int] = lambda: 0,
    ) -> None:
        """`read` gives the newest record of an origin (`Frontier.robots`). `restarts` counts what may have made other records of the
        same versions (`Frontier.restarts`).
        """
        self._read_record, self._restarts = read_record, restarts
        self._entries: OrderedDict[tuple[str, int, int], _CacheEntry] = OrderedDict()
        self._size = 0

    async def refusal(self, lease: Lease) -> Judgement | None:
        """Why the page of a lease may not be fetched; None where it may."""
        page = await self._entry(lease)
        return None if page.allows(lease.url) else page.refusal()

    async def delay_ms(self, lease: Lease) -> int:
        """Milliseconds between two requests that the rules for a page ask for; 0 where they do not."""
        page = await self._entry(lease)
        return 0 if page.rules is None else delay_ms(page.rules) or 0

    async def sitemaps(self, lease: Lease) -> tuple[str, ...]:
        """The sitemaps that the rules for a page name, as written there; once for each origin."""
        page = await self._entry(lease)
        if page.has_reported_sitemaps or page.rules is None:
            return ()
        page.has_reported_sitemaps = True
        return page.rules.sitemaps

    async def _entry(self, lease: Lease) -> "_CacheEntry":
        key = (lease.url.origin, lease.robots_version, self._restarts())
        page = self._entries.pop(key, None)
        if page is None:
            record = await self._read_record(lease.url.origin)
            rules = None
            if record is not None and record.rule == "rules" and record.body:
                rules = parse_rules(split_timestamp(record.body)[0], PRODUCT_TOKEN)
            page = _CacheEntry(record=record, rules=rules)
            self._size += page.size
        self._entries[key] = page
        while len(self._entries) > _KEPT_AT_MOST or (self._size > _SIZE_AT_MOST and len(self._entries) > 1):
            self._size -= self._entries.popitem(last=False)[1].size
        return page

    def __repr__(self) -> str:
        return f"<rulebook of {len(self._entries)} origins>"


@dataclass(slots=True, kw_only=True)
class _CacheEntry:
    record: RobotsRecord | None
    rules: ParsedRobots | None
    has_reported_sitemaps: bool = False
    """Somebody was told of its sitemaps."""

    @property
    def size(self) -> int:
        return 0 if self.rules is None else self.rules.size

    def allows(self, url: Url) -> bool:
        if self.rules is not None:
            return self.rules.allows(request_path(url.wire))
        return self.record is not None and self.record.rule == "allow"

    def refusal(self) -> Judgement:
        """`robots` is the site's own wish. Otherwise there was no robots.txt to be had, and nothing is asked."""
        if self.rules is not None:
            return Judgement(outcome=Outcome.REFUSED, reason="robots")
        if (
            self.record is not None and self.record.body
        ):  # the guard's reason, or what the frontier says that the origin died of
            reason = self.record.body.decode()
            return Judgement(
                outcome=Outcome.REFUSED if reason in BLOCK_REASONS else Outcome.FAILED, reason=reason
            )
        return Judgement(outcome=Outcome.FAILED, reason="robots_unreachable")


def _of_capture(found: Capture, lease: Lease) -> RobotsRuling | RobotsRetry:
    now_ms = found.started_ms + found.elapsed_ms
    return decide_response(
        lease,
        status=found.status,
        body=decode_content(found.payload, header_value(found.headers, "content-encoding"), MAX_ROBOTS_BYTES)[
            0
        ],
        truncated=found.truncated,
        retry_after=retry_after_ms(found.header("retry-after"), now_ms),
        now_ms=now_ms,
    )


def _unreachable(
    lease: Lease, wait: int | None, fault: Fault | None, reason: str = ""
) -> RobotsRuling | RobotsRetry:
    # A host that never answers is given up by the frontier, with all that waits there, and not for an hour.
    if lease.attempt + 1 < ATTEMPTS or fault in FAULT_BY_REASON.values():
        after_ms = None if wait is None else max(wait, SHORTEST_WAIT_MS)
        return RobotsRetry(retry_after_ms=after_ms, fault=fault, reason=reason)
    return RobotsRuling(rule="disallow", ttl_ms=UNREACHABLE_MS)
