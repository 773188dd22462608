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
    CRASHED,
    FAULTS,
    READING,
    REDIRECTS,
    SHORTEST_WAIT_MS,
    Judgement,
    as_browsers_read,
    fault_of,
    too_busy,
    wait_ms,
)
from crawler.robots.robots_rules import LONGEST, Rules, parse, target, whole_lines
from crawler.uplink.address_limiter import Entrance
from crawler.uplink.uplink import Getter
from crawler.wire import Failure, Wait, field
from frontier import Fault, Lease, NotAUrl, Outcome, RobotsRecord, canonical
from storage.warc.payload import content_decoded

HOPS = 5
ATTEMPTS = 3
LONGEST_DELAY_S = 300
KEPT_MS = 24 * 3_600_000
"""How long rules are kept (RFC 9309, section 2.4)."""
STALE_MS = 7 * KEPT_MS
"""How long after they were read rules hold that cannot be had again."""
UNREACHABLE_MS = 3_600_000
PATIENCE_MS = 30_000
"""How long the redirects of a robots.txt wait for the turns of hosts and addresses, in all, beside two delays for each."""
BLOCKED = frozenset({"address_blocked", "name_blocked", "port_blocked"})
"""Reasons, and bodies of records, of origins that the guard keeps us from."""

_KEPT_AT_MOST = 512
_SIZE_AT_MOST = 32 << 20
"""Bytes of rules that are kept, roughly."""
_STAMP = struct.Struct(">4sQ")
_STAMPED = b"\0at "


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What one robots.txt came to, to be kept for `ttl_ms`."""

    rule: Literal["allow", "disallow", "rules"]
    body: bytes = b""
    """The rules, with the time at which they were read (`stamped`); one of `BLOCKED` where the guard forbids the host."""
    ttl_ms: int = KEPT_MS
    delay_ms: int | None = None
    hold_ms: int = 0
    """How long the host is asked nothing, though its rules are known."""
    fault: Fault | None = None
    """Why these are the rules of before."""
    reason: str = ""
    """Which kind of fault that was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgain:
    """Nothing was learnt; the host is asked nothing for so long, or for longer where the fault means that."""

    after_ms: int | None
    """None where nobody said: the frontier knows, and doubles it with every attempt."""
    fault: Fault | None = None
    reason: str = ""
    """Why no answer came, where none did."""
    failed: bool = True
    """False where it was only put off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fetch of a robots.txt: every hop's exchange, and what it came to."""

    captures: tuple[Capture, ...]
    answer: Ruling | AskAgain
    failure: ReadingFailure | None = None
    """What the last answer's reading raised, where it did."""


UNREADABLE = Ruling(rule="disallow", body=READING.encode(), ttl_ms=UNREACHABLE_MS)
"""Of a robots.txt whose reading raised an exception."""
DEADLY = Ruling(rule="disallow", body=CRASHED.reason.encode(), ttl_ms=UNREACHABLE_MS)
"""Of a robots.txt that its reader did not survive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What one answer of a chain means: it redirects further, or it is the last, and one of the two others is there."""

    further: Url | None = None
    ruling: Ruling | None = None
    again: AskAgain | None = None

    @classmethod
    def last(cls, answer: Ruling | AskAgain) -> "Meaning":
        """That of the last answer."""
        return cls(ruling=answer) if isinstance(answer, Ruling) else cls(again=answer)

    def event(self, captures: Sequence[Capture]) -> "Event | None":
        """What the chain came to; None where it goes on."""
        answer = self.ruling or self.again
        return None if answer is None else Event(captures=tuple(captures), answer=answer)


Reader = Callable[[Lease, Capture, str, bool], Awaitable[Meaning]]
"""What reads an answer, with the arguments of `meaning`."""


def meaning(lease: Lease, found: Capture, base: str, follows: bool) -> Meaning:
    """What the answer of `base` means; `follows` says whether a redirect may be followed."""
    further = redirect(found.status, found.header("location"), base) if follows else None
    return Meaning.last(_of_capture(found, lease)) if further is None else Meaning(further=further)


async def _here(lease: Lease, found: Capture, base: str, follows: bool) -> Meaning:
    return meaning(lease, found, base, follows)


async def ask(client: Getter, lease: Lease, entrance: Entrance, read: Reader = _here) -> Event | Wait:
    """Fetch the robots.txt of a lease, redirects included; `Wait` if no answer came and the lease goes back."""
    captures: list[Capture] = []
    # Two delays of a turn elsewhere are never too many: of who asks there, and of who has asked.
    url, patience_ms = lease.url, PATIENCE_MS + 2 * HOPS * entrance.host_delay_ms
    while True:
        found = await client.get(url, entrance.of(lease), max_body=LONGEST)
        asked = not isinstance(found, Wait) or found.asked
        if asked and url.host != lease.url.host:
            await entrance.left(url.host, answer=too_busy(found) if isinstance(found, Capture) else None)
        if isinstance(found, Wait):
            if not captures:
                return found
            if found.asked or found.ms > patience_ms:
                return Event(captures=tuple(captures), answer=AskAgain(after_ms=found.ms, failed=False))
            patience_ms -= found.ms
            await asyncio.sleep(found.ms / 1000)
            lease = replace(lease, slot_ms=max(lease.slot_ms, 1))  # it has a place in the line now
            continue
        if isinstance(found, Failure):
            return Event(captures=tuple(captures), answer=of_failure(found, lease))
        captures.append(found)
        further = await _further(captures, url, lease, read)
        if isinstance(further, Event):
            return further
        url = further
        if url.host == lease.url.host:
            # The lease holds the host, and lasts for this as well.
            await asyncio.sleep(entrance.host_delay_ms / 1000)
            continue
        wait = await entrance.turn(url.host, most_ms=patience_ms)
        if wait > patience_ms:
            return Event(captures=tuple(captures), answer=AskAgain(after_ms=wait, failed=False))
        patience_ms -= wait
        await asyncio.sleep(wait / 1000)


async def _further(captures: list[Capture], url: Url, lease: Lease, read: Reader) -> Url | Event:
    """Where the last answer of a chain, that of `url`, redirects to; or what the chain came to."""
    try:
        with failure_boundary(READING):
            found = await read(lease, captures[-1], url.text, len(captures) <= HOPS)
            further = found.further or found.event(captures)
            assert further is not None
            return further
    except ReadingFailure as failure:
        return Event(captures=tuple(captures), answer=UNREADABLE, failure=failure)


def redirect(status: int, location: str | None, base: str) -> Url | None:
    """Where a robots.txt redirects to; None where it does not."""
    if status not in REDIRECTS or not location:
        return None
    try:
        return canonical(as_browsers_read(location), base)
    except NotAUrl:
        return None


def of_failure(failure: Failure, lease: Lease) -> Ruling | AskAgain:
    """What no answer means."""
    if failure.reason in BLOCKED:
        return Ruling(rule="disallow", body=failure.reason.encode(), ttl_ms=UNREACHABLE_MS)
    return _unreachable(lease, None, FAULTS.get(failure.reason), failure.reason)


def ruling(
    lease: Lease, *, status: int, body: bytes, truncated: str | None, wait: int | None, now_ms: int
) -> Ruling | AskAgain:
    """What the last answer of a chain means, which came at `now_ms`; `body` without its content encoding."""
    if status == 429 or status >= 500:
        return _unreachable(lease, wait, fault_of(status))
    if truncated not in {None, "length"} and 200 <= status < 300:
        return _unreachable(lease, wait, Fault.TIMEOUT if truncated == "time" else Fault.RESET)
    if 200 <= status < 300:
        rules = parse(whole_lines(body, cut=truncated is not None), PRODUCT_TOKEN)
        # What is said to others, and comments, may be half a megabyte, and are kept in the archive alone.
        return Ruling(rule="rules", body=stamped(rules.body(PRODUCT_TOKEN), now_ms), delay_ms=delay_ms(rules))
    return Ruling(rule="allow")


def as_before(answer: AskAgain, record: RobotsRecord | None, now_ms: int) -> Ruling | AskAgain:
    """What it means that a robots.txt could not be had whose newest record is at hand (rule 3)."""
    if not answer.failed or record is None or record.rule != "rules":
        return answer
    body, read_ms = unstamped(record.body)
    if not now_ms - STALE_MS < read_ms <= now_ms:
        return answer
    return Ruling(
        rule="rules",
        body=record.body,
        ttl_ms=UNREACHABLE_MS,
        delay_ms=delay_ms(parse(body, PRODUCT_TOKEN)),
        hold_ms=(answer.after_ms or 0) if answer.fault is Fault.BUSY else 0,
        fault=answer.fault,
        reason=answer.reason,
    )


def stamped(body: bytes, read_ms: int) -> bytes:
    """Rules with the time at which they were read, as the frontier keeps them."""
    return _STAMP.pack(_STAMPED, read_ms) + body


def unstamped(body: bytes) -> tuple[bytes, int]:
    """Rules and their time, in milliseconds since the epoch; 0 where they say none."""
    if len(body) < _STAMP.size or not body.startswith(_STAMPED):
        return body, 0
    return body[_STAMP.size :], _STAMP.unpack_from(body)[1]


def delay_ms(rules: Rules) -> int | None:
    """Milliseconds between two requests that the rules ask us for; None where they do not."""
    return round(min(rules.delay_s, LONGEST_DELAY_S) * 1000) if rules.delay_s else None


class Rulebook:
    """Answers whether a page may be fetched, by the newest rules of its origin. Keeps those of a few hundred origins."""

    def __init__(
        self, read: Callable[[str], Awaitable[RobotsRecord | None]], restarts: Callable[[], int] = lambda: 0
    ) -> None:
        """`read` gives the newest record of an origin (`Frontier.robots`). `restarts` counts what may have made other records of the
        same versions (`Frontier.restarts`).
        """
        self._read, self._restarts = read, restarts
        self._pages: OrderedDict[tuple[str, int, int], _Page] = OrderedDict()
        self._size = 0

    async def refusal(self, lease: Lease) -> Judgement | None:
        """Why the page of a lease may not be fetched; None where it may."""
        page = await self._page(lease)
        return None if page.allow(lease.url) else page.refusal()

    async def delay_ms(self, lease: Lease) -> int:
        """Milliseconds between two requests that the rules for a page ask for; 0 where they do not."""
        page = await self._page(lease)
        return 0 if page.rules is None else delay_ms(page.rules) or 0

    async def sitemaps(self, lease: Lease) -> tuple[str, ...]:
        """The sitemaps that the rules for a page name, as written there; once for each origin."""
        page = await self._page(lease)
        if page.told or page.rules is None:
            return ()
        page.told = True
        return page.rules.sitemaps

    async def _page(self, lease: Lease) -> "_Page":
        key = (lease.url.origin, lease.robots_version, self._restarts())
        page = self._pages.pop(key, None)
        if page is None:
            record = await self._read(lease.url.origin)
            rules = None
            if record is not None and record.rule == "rules" and record.body:
                rules = parse(unstamped(record.body)[0], PRODUCT_TOKEN)
            page = _Page(record=record, rules=rules)
            self._size += page.size
        self._pages[key] = page
        while len(self._pages) > _KEPT_AT_MOST or (self._size > _SIZE_AT_MOST and len(self._pages) > 1):
            self._size -= self._pages.popitem(last=False)[1].size
        return page

    def __repr__(self) -> str:
        return f"<rulebook of {len(self._pages)} origins>"


@dataclass(slots=True, kw_only=True)
class _Page:
    record: RobotsRecord | None
    rules: Rules | None
    told: bool = False
    """Somebody was told of its sitemaps."""

    @property
    def size(self) -> int:
        return 0 if self.rules is None else self.rules.size

    def allow(self, url: Url) -> bool:
        if self.rules is not None:
            return self.rules.allow(target(url.wire))
        return self.record is not None and self.record.rule == "allow"

    def refusal(self) -> Judgement:
        """`robots` is the site's own wish. Otherwise there was no robots.txt to be had, and nothing is asked."""
        if self.rules is not None:
            return Judgement(outcome=Outcome.REFUSED, reason="robots")
        if (
            self.record is not None and self.record.body
        ):  # the guard's reason, or what the frontier says that the origin died of
            reason = self.record.body.decode()
            return Judgement(outcome=Outcome.REFUSED if reason in BLOCKED else Outcome.FAILED, reason=reason)
        return Judgement(outcome=Outcome.FAILED, reason="robots_unreachable")


def _of_capture(found: Capture, lease: Lease) -> Ruling | AskAgain:
    now_ms = found.started_ms + found.elapsed_ms
    return ruling(
        lease,
        status=found.status,
        body=content_decoded(found.payload, field(found.headers, "content-encoding"), LONGEST)[0],
        truncated=found.truncated,
        wait=wait_ms(found.header("retry-after"), now_ms),
        now_ms=now_ms,
    )


def _unreachable(lease: Lease, wait: int | None, fault: Fault | None, reason: str = "") -> Ruling | AskAgain:
    # A host that never answers is given up by the frontier, with all that waits there, and not for an hour.
    if lease.attempt + 1 < ATTEMPTS or fault in FAULTS.values():
        after_ms = None if wait is None else max(wait, SHORTEST_WAIT_MS)
        return AskAgain(after_ms=after_ms, fault=fault, reason=reason)
    return Ruling(rule="disallow", ttl_ms=UNREACHABLE_MS)
