"""robots.txt as RFC 9309 has it: from the answers to a rule that is kept, and from the rule to yes or no.

1. 2xx: the first 500 KiB are the rules (section 2.5). 4xx: there are none, all is allowed (2.3.1.3), but 429
   means that we are too fast, and is taken as a server error.
2. 5xx, no answer, and an answer that broke off: all is disallowed for now, and it is asked again (2.3.1.4). At
   the third time the host is left alone for an hour.
3. Redirects are followed for five hops, to other hosts too (2.3.1.2); beyond that there are no rules. They
   are hops of one event: the same lease, the same guarded client, each hop a record of its own.
4. A crawl-delay beyond five minutes is five minutes.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

from protego import Protego

from core import Capture, Url
from crawler.identity import PRODUCT
from crawler.outcome import REDIRECTS, wait_ms
from crawler.wire import Client, Failure
from frontier import Lease, NotAUrl, RobotsRecord, canonical
from storage.payload import content_decoded

LONGEST = 500 << 10
"""Bytes of rules that are read (RFC 9309, section 2.5)."""
HOPS = 5
ATTEMPTS = 3
LONGEST_DELAY_S = 300
KEPT_MS = 24 * 3_600_000
"""How long rules are kept (RFC 9309, section 2.4)."""
UNREACHABLE_MS = 3_600_000
UNREACHABLE = "unreachable"
BLOCKED = "address_blocked"

_PARSED_AT_MOST = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What one robots.txt came to, to be kept for `ttl_ms`."""

    rule: Literal["allow", "disallow", "rules"]
    body: bytes = b""
    """The rules; for `disallow` the reason code, where it is not the site's own wish."""
    ttl_ms: int = KEPT_MS
    delay_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgain:
    """Nothing was learnt; the host is asked nothing for so long (None: as the attempts say)."""

    after_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fetch of a robots.txt: every hop's exchange, and what it came to."""

    captures: tuple[Capture, ...]
    answer: Ruling | AskAgain


async def ask(client: Client, lease: Lease) -> Event:
    """Fetch the robots.txt of a lease, redirects included."""
    captures: list[Capture] = []
    url: Url | None = lease.url
    while url is not None and len(captures) <= HOPS:
        found = await client.get(url)
        if isinstance(found, Failure):
            return Event(captures=tuple(captures), answer=of_failure(found, lease))
        captures.append(found)
        url = target(found.status, found.header("location"), url.text)
    encodings = ",".join(value for name, value in found.headers if name.lower() == "content-encoding")
    answer = ruling(
        lease,
        status=found.status,
        body=content_decoded(found.payload, encodings, LONGEST)[0],
        truncated=found.truncated,
        wait=wait_ms(found.header("retry-after"), found.started_ms + found.elapsed_ms),
    )
    return Event(captures=tuple(captures), answer=answer)


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
        return Ruling(rule="disallow", body=BLOCKED.encode(), ttl_ms=UNREACHABLE_MS)
    return _unreachable(lease, None)


def ruling(
    lease: Lease, *, status: int, body: bytes, truncated: str | None, wait: int | None
) -> Ruling | AskAgain:
    """What the last answer of a chain means; `body` without its content encoding."""
    broken_off = truncated is not None and truncated != "length"
    if status == 429 or status >= 500 or (broken_off and 200 <= status < 300):
        return _unreachable(lease, wait)
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

    def __init__(self) -> None:
        self._parsed: OrderedDict[tuple[str, int], Protego] = OrderedDict()

    def allowed(self, record: RobotsRecord, url: Url) -> bool:
        """Whether the record lets us fetch the page."""
        if record.rule != "rules":
            return record.rule == "allow"
        key = (record.origin, record.version)
        rules = self._parsed.pop(key, None)
        if rules is None:
            rules = parse(record.body)
        self._parsed[key] = rules
        if len(self._parsed) > _PARSED_AT_MOST:
            self._parsed.popitem(last=False)
        return bool(rules.can_fetch(url.wire, PRODUCT))

    def __repr__(self) -> str:
        return f"<rulebook of {len(self._parsed)} origins>"


def refusal(record: RobotsRecord) -> str:
    """Why a page that the record does not allow is refused: `robots`, or that there was no robots.txt to be had."""
    if record.rule == "disallow":
        return record.body.decode("ascii", "replace") or UNREACHABLE
    return "robots"


def _unreachable(lease: Lease, wait: int | None) -> Ruling | AskAgain:
    if lease.attempt + 1 < ATTEMPTS:
        return AskAgain(after_ms=wait)
    return Ruling(rule="disallow", body=UNREACHABLE.encode(), ttl_ms=UNREACHABLE_MS)
