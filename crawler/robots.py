"""robots.txt as RFC 9309 has it: from the answers to a rule that is kept, and from the rule to yes or no.

1. 2xx: the first 500 KiB are the rules (section 2.5). 4xx: there are none, all is allowed (2.3.1.3), but 429
   means that we are too fast, and is taken as a server error.
2. 5xx, no answer, and an answer that broke off: all is disallowed for now, and it is asked again (2.3.1.4). At
   the third 5xx the host is left alone for an hour. Where nobody answers, the frontier knows when to give it up.
3. Redirects are followed for five hops, to other hosts too (2.3.1.2); beyond that there are no rules. They
   are hops of one event: the same lease, the same guarded client, each hop a record of its own. Each address is
   entered before it is asked; behind the first hop its turn is waited for here.
4. A crawl-delay beyond five minutes is five minutes.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from protego import Protego

from core import Capture, Url
from crawler.entrance import Entrance
from crawler.identity import PRODUCT
from crawler.outcome import FAULTS, REDIRECTS, SHORTEST_WAIT_MS, Judgement, fault_of, wait_ms
from crawler.wire import Client, Failure, Wait, field
from frontier import Fault, Lease, NotAUrl, Outcome, RobotsRecord, canonical
from storage.payload import content_decoded

LONGEST = 500 << 10
"""Bytes of rules that are read (RFC 9309, section 2.5)."""
HOPS = 5
ATTEMPTS = 3
LONGEST_DELAY_S = 300
KEPT_MS = 24 * 3_600_000
"""How long rules are kept (RFC 9309, section 2.4)."""
RETRY_MS = 30_000
"""How long a host waits whose robots.txt could not be had; doubles with every attempt."""
UNREACHABLE_MS = 3_600_000
PATIENCE_MS = 30_000
"""How long the redirects of a robots.txt wait for the turns of their addresses, in all."""
BLOCKED = b"address_blocked"
"""Body of the record of an origin that the address guard keeps us from."""

_KEPT_AT_MOST = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What one robots.txt came to, to be kept for `ttl_ms`."""

    rule: Literal["allow", "disallow", "rules"]
    body: bytes = b""
    """The rules; `BLOCKED` where the guard forbids the host."""
    ttl_ms: int = KEPT_MS
    delay_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgain:
    """Nothing was learnt; the host is asked nothing for so long, or for longer where the fault means that."""

    after_ms: int
    fault: Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fetch of a robots.txt: every hop's exchange, and what it came to."""

    captures: tuple[Capture, ...]
    answer: Ruling | AskAgain


async def ask(client: Client, lease: Lease, entrance: Entrance) -> Event | Wait:
    """Fetch the robots.txt of a lease, redirects included; `Wait` where nothing was asked yet."""
    captures: list[Capture] = []
    url, patience_ms = lease.url, PATIENCE_MS
    while True:
        found = await client.get(url, entrance.of(lease))
        if isinstance(found, Wait):
            if not captures:
                return found
            if found.ms > patience_ms:
                return Event(captures=tuple(captures), answer=AskAgain(after_ms=found.ms))
            patience_ms -= found.ms
            await asyncio.sleep(found.ms / 1000)
            lease = replace(lease, slot_ms=max(lease.slot_ms, 1))  # it has a place in the line now
            continue
        if isinstance(found, Failure):
            return Event(captures=tuple(captures), answer=of_failure(found, lease))
        captures.append(found)
        further = target(found.status, found.header("location"), url.text)
        if further is None or len(captures) > HOPS:
            return Event(captures=tuple(captures), answer=_of_capture(found, lease))
        url = further


def target(status: int, location: str | None, base: str) -> Url | None:
    """Where a robots.txt redirects to; None where it does not."""
    if status not in REDIRECTS or not location:
        return None
    try:
        return canonical(location, base)
    except NotAUrl:
        return None


def of_failure(failure: Failure, lease: Lease) -> Ruling | AskAgain:
    """What no answer means."""
    if failure.reason == "address_blocked":
        return Ruling(rule="disallow", body=BLOCKED, ttl_ms=UNREACHABLE_MS)
    return _unreachable(lease, None, FAULTS.get(failure.reason))


def ruling(
    lease: Lease, *, status: int, body: bytes, truncated: str | None, wait: int | None
) -> Ruling | AskAgain:
    """What the last answer of a chain means; `body` without its content encoding."""
    if status == 429 or status >= 500:
        return _unreachable(lease, wait, fault_of(status))
    if truncated not in {None, "length"} and 200 <= status < 300:
        return _unreachable(lease, wait, Fault.TIMEOUT if truncated == "time" else Fault.RESET)
    if 200 <= status < 300:
        rules = body[:LONGEST]
        return Ruling(rule="rules", body=rules, delay_ms=crawl_delay_ms(parse(rules)))
    return Ruling(rule="allow")


def parse(body: bytes) -> Protego:
    """Return the rules of a robots.txt, whatever its bytes are."""
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\0", "")
    return Protego.parse(text)


def crawl_delay_ms(rules: Protego) -> int | None:
    """Milliseconds between two requests that the rules ask us for; None where they do not."""
    delay = rules.crawl_delay(PRODUCT)
    if delay is None or math.isnan(delay) or delay <= 0:
        return None
    return round(min(delay, LONGEST_DELAY_S) * 1000)


class Rulebook:
    """Answers whether a page may be fetched. Keeps the parsed rules of the newest few hundred origins."""

    def __init__(self, read: Callable[[str], Awaitable[RobotsRecord | None]]) -> None:
        """`read` gives the newest record of an origin (`Frontier.robots`)."""
        self._read = read
        self._pages: OrderedDict[tuple[str, int], _Rules] = OrderedDict()

    async def refusal(self, lease: Lease) -> Judgement | None:
        """Why the page of a lease may not be fetched; None where it may."""
        key = (lease.url.origin, lease.robots_version)
        rules = self._pages.pop(key, None)
        if rules is None:
            record = await self._read(lease.url.origin)
            rules = _Rules(
                record=record,
                parsed=parse(record.body) if record is not None and record.rule == "rules" else None,
            )
        self._pages[key] = rules
        if len(self._pages) > _KEPT_AT_MOST:
            self._pages.popitem(last=False)
        return None if rules.allow(lease.url) else rules.refusal()

    def __repr__(self) -> str:
        return f"<rulebook of {len(self._pages)} origins>"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    record: RobotsRecord | None
    parsed: Protego | None

    def allow(self, url: Url) -> bool:
        if self.parsed is not None:
            return bool(self.parsed.can_fetch(url.wire, PRODUCT))
        return self.record is not None and self.record.rule == "allow"

    def refusal(self) -> Judgement:
        """`robots` is the site's own wish. Otherwise there was no robots.txt to be had, and nothing is asked."""
        if self.parsed is not None:
            return Judgement(outcome=Outcome.REFUSED, reason="robots")
        if self.record is not None and self.record.body == BLOCKED:
            return Judgement(outcome=Outcome.REFUSED, reason="address_blocked")
        return Judgement(outcome=Outcome.FAILED, reason="robots_unreachable")


def _of_capture(found: Capture, lease: Lease) -> Ruling | AskAgain:
    return ruling(
        lease,
        status=found.status,
        body=content_decoded(found.payload, field(found.headers, "content-encoding"), LONGEST)[0],
        truncated=found.truncated,
        wait=wait_ms(found.header("retry-after"), found.started_ms + found.elapsed_ms),
    )


def _unreachable(lease: Lease, wait: int | None, fault: Fault | None) -> Ruling | AskAgain:
    # A host that never answers is given up by the frontier, with all that waits there, and not for an hour.
    if lease.attempt + 1 < ATTEMPTS or fault in FAULTS.values():
        doubled = min(RETRY_MS << min(lease.attempt, ATTEMPTS), UNREACHABLE_MS)
        return AskAgain(after_ms=doubled if wait is None else max(wait, SHORTEST_WAIT_MS), fault=fault)
    return Ruling(rule="disallow", ttl_ms=UNREACHABLE_MS)
