"""`Parts`: what one page asks for while it is rendered, fetched by our own client.

1. A part is fetched like a page: by the same client, past the same guard, and its exchange is archived byte for byte.
2. All happens under the lease of the page, whose host is held as long. One host is asked one thing at a time, whichever
   tab wants it: the page's own host in one burst of a bounded number of requests and bytes, every other host and every address in its
   turn (`crawler.render.page_lease`). A turn is waited for if it comes within the page's time; what has none is left out.
3. robots.txt is obeyed, that of the part's own origin (`crawler.render.subresource_robots`).
4. Redirects are followed by the browser, each hop a request of its own.
5. Credentials (`crawler.auth`) and cookies go to the page's own site alone, and no further once a redirect has left it
   (`crawler.render.same_site`). An answer that came with them and is not for the page's origin is asked for again without.
6. A private network (`crawler.allow_networks`) is for pages that came from that network (`crawler.wire.network.address`).
7. A page has so many parts, bytes, hops and seconds, and no more.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakValueDictionary

from core import Capture, Url
from crawler.decode_budget import DecodedBytes
from crawler.reading.outcome import Judgement, too_busy
from crawler.reading.rendered_page import Part
from crawler.render import request_rules
from crawler.render.page_lease import PageLease
from crawler.render.same_site import lets_read, site
from crawler.render.subresource_cache import SAME_FOR_ALL, Kept
from crawler.robots.robots_txt import Event, Ruling
from crawler.wire import Client, Enter, Failure, Wait, at_once, is_public
from crawler.wire.http.request import HeaderList
from frontier import NotAUrl, canonical

MOST_PARTS = 200
"""Exchanges that one page may ask for."""
MOST_SAME = 3
"""How often a page may ask for one URL: who asks oftener waits for news, and those are not ours."""
MOST_ALIKE = 32
"""The same for URLs that differ in their query alone."""
MOST_BYTES = 32 << 20
"""Bytes of responses, all parts of a page together."""
BURST_BYTES = 8 << 20
"""Bytes of responses after which the page's own host, too, is asked no sooner than its delay allows."""
HOPS = 5
"""Redirects of one part."""
PATIENCE_S = 5.0
"""How long one part waits for the turns of its addresses."""
LAST = 0.2
"""Of the time of a page; nothing is asked within it, for the page has to make something of what comes."""
ROBOTS = "other"
"""What a robots.txt is to the page: there is no resource type for it."""

T = TypeVar("T")
_Ask = Callable[[bool], Awaitable[T | Wait]]
"""Asks for something; is told whether the turn of the address was waited for."""
Hosts = WeakValueDictionary[str, asyncio.Lock]
"""Whoever asks a host something holds its lock. Whoever waits for a turn at a host without a lease of it holds that of `WAITING` before."""
WAITING = "waiting "
"""Before the name of a host: a lock of its own, so that nobody waits within the page whose host that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One request of a page, as its browser would send it."""

    url: str
    method: str
    headers: Mapping[str, str]
    kind: str
    """What the browser wants it for: `script`, `stylesheet`, `xhr`."""
    hops: int = 0
    """Redirects that led here."""
    left_site: bool = False
    """Whether one of them left the site of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnBehalf:
    """A client that asks for robots.txt files on behalf of a page."""

    client: Client
    asker: str

    async def get(
        self, url: Url, enter: Enter = at_once, *, headers: HeaderList = (), max_body: int | None = None
    ) -> Capture | Failure | Wait:
        return await self.client.get(
            url, enter, headers=headers, max_body=max_body, credentials=False, asker=self.asker
        )


class Parts:
    """The parts of one page."""

    def __init__(
        self,
        client: Client,
        *,
        page: Capture,
        lease: PageLease,
        hosts: Hosts,
        kept: Kept,
        decoded: DecodedBytes,
        until: float,
    ) -> None:
        """`until` is the page's deadline, by the event loop's clock."""
        self._client, self._origin, self._site, self._address = (
            client,
            page.url.origin,
            site(page.url),
            page.peer,
        )
        self._lease, self._hosts, self._kept, self._until = lease, hosts, kept, until
        self._last = until - LAST * self._left_s()
        self._exchanges = self._bytes = 0
        self._own = asyncio.Lock()
        self._wanted: Counter[str] = Counter()
        self.fetched: list[Part] = []
        self.decoded = decoded
        """What the bodies that the browser is given are taken from."""

    def leaves_site(self, wanted: Wanted) -> bool:
        """Whether a request goes to another site than that of the page, or was led over one."""
        try:
            return wanted.left_site or site(canonical(wanted.url)) != self._site
        except NotAUrl:
            return True

    async def fetch(self, wanted: Wanted) -> Capture | str:
        """What was answered, or the reason for which there is no answer."""
        try:
            url = canonical(wanted.url)
        except NotAUrl:
            return "bad_url"
        same_site = not self.leaves_site(wanted)
        headers = request_rules.sent(wanted.headers, cookies=same_site)
        may_carry = same_site and wanted.method != request_rules.PREFLIGHT
        carries = may_carry and self._client.has_credentials(url)
        # What a page has a say in, by its headers or by who it is, is kept for its own site.
        is_for_all = wanted.kind in SAME_FOR_ALL and not carries and is_public(self._address)
        partition = "" if is_for_all else self._site
        if wanted.method == "GET" and (kept := self._kept.get(wanted.url, headers, partition)) is not None:
            return kept
        if wanted.hops > HOPS:
            return "too_many_hops"
        if not wanted.hops and self._is_repeated(wanted):
            return "repeated"
        found = await self._exchange(url, wanted, headers, credentials=may_carry)
        if carries and isinstance(found, Capture) and not _is_readable(found, headers):
            # Its script may have asked without: then the answer to that is what a browser would show it.
            found = await self._exchange(url, wanted, headers, credentials=False)
        if wanted.method == "GET" and isinstance(found, Capture):
            self._kept.put(wanted.url, headers, found, wanted.kind, partition)
        return found

    def _is_repeated(self, wanted: Wanted) -> bool:
        # A preflight is no second request for the same.
        preflight = f"{request_rules.PREFLIGHT} " if wanted.method == request_rules.PREFLIGHT else ""
        place = f"{preflight}{wanted.url.partition('?')[0]}?"
        same = preflight + wanted.url
        self._wanted.update((same, place))
        return self._wanted[same] > MOST_SAME or self._wanted[place] > MOST_ALIKE

    async def _exchange(
        self, url: Url, wanted: Wanted, headers: HeaderList, *, credentials: bool
    ) -> Capture | str:
        async def ask(waited: bool) -> Capture | Failure | Wait:
            return await self._client.get(
                url,
                self._lease.enter(waited=waited),
                headers=headers,
                method=wanted.method,
                max_body=MOST_BYTES - self._bytes,
                timeout_s=self._left_s(),
                credentials=credentials,
                asker=self._address,
            )

        async with self._line(url.host):
            permission = await self._lease.permission(url, self._rules)
            if permission.refusal:
                return permission.refusal
            if self._exchanges >= MOST_PARTS:
                return "too_many"
            if self._bytes >= MOST_BYTES:
                return "too_large"
            self._exchanges += 1
            found: Capture | Failure | str = await self._in_turn(url.host, permission.delay_ms, ask)
        if isinstance(found, Failure):
            return found.reason if found.reason.endswith("_blocked") else "unreachable"
        if isinstance(found, Capture):
            self._note(found, _kind(wanted))
        return found

    async def _rules(self, url: Url) -> Event | str:
        """Fetch the robots.txt of another origin."""
        client = _OnBehalf(client=self._client, asker=self._address)

        async def ask(waited: bool) -> Event | Wait:
            return await self._lease.robots(url, client, waited=waited)

        found = await self._in_turn(url.host, 0, ask)
        if isinstance(found, Event):
            for capture in found.captures:
                self._note(capture, ROBOTS)
            if isinstance(found.answer, Ruling) and found.answer.delay_ms:
                await self._lease.left(url.host, delay_ms=found.answer.delay_ms)  # as is known only now
        return found

    def _line(self, host: str) -> asyncio.Lock:
        """Those who wait for a turn at a host, one behind the other."""
        return (
            self._own if self._lease.holds(host) else self._hosts.setdefault(WAITING + host, asyncio.Lock())
        )

    async def _in_turn(self, host: str, delay_ms: int, ask: _Ask[T]) -> T | str:
        """Ask a host when it is its turn, and each address when it is that one's."""
        most_ms = round(1000 * (self._last - asyncio.get_running_loop().time()))
        if most_ms < 0:
            return "late"
        wait_ms = await self._lease.turn(
            host, delay_ms=delay_ms, most_ms=most_ms, may_burst=self._bytes < BURST_BYTES
        )
        if wait_ms > most_ms:
            return "not_its_turn"
        await asyncio.sleep(wait_ms / 1000)
        async with self._hosts.setdefault(host, asyncio.Lock()):
            found = await self._patiently(ask)
            await self._lease.left(host, delay_ms=delay_ms, answer=_too_busy(found, host))
        return found

    async def _patiently(self, ask: _Ask[T]) -> T | str:
        patience_s, waited = PATIENCE_S, False
        while self._left_s() > 0:
            found = await ask(waited)
            if not isinstance(found, Wait):
                return found
            wait_s = found.ms / 1000
            if wait_s > min(patience_s, self._left_s()):
                return "not_its_turn"
            patience_s -= wait_s
            await asyncio.sleep(wait_s)
            waited = True
        return "late"

    def _note(self, capture: Capture, kind: str) -> None:
        self._bytes += len(capture.response)
        self.fetched.append(Part(capture=capture, kind=kind))

    def _left_s(self) -> float:
        return self._until - asyncio.get_running_loop().time()

    def __repr__(self) -> str:
        return f"<parts: {self._exchanges} exchanges, {self._bytes} bytes>"


def _is_readable(found: Capture, headers: HeaderList) -> bool:
    """Whether the page may read what came with credentials. Only requests to other origins that are to be read say who asks (`Origin`)."""
    origin = next((value for name, value in headers if name.lower() == "origin"), None)
    return origin is None or origin == found.url.origin or lets_read(found.headers, origin)


def _too_busy(found: object, host: str) -> Judgement | None:
    """What the last answer means, where it means that the host is asked too much. A redirect of a robots.txt ends at another host, whose
    answer is known there.
    """
    last = found.captures[-1] if isinstance(found, Event) and found.captures else found
    return too_busy(last) if isinstance(last, Capture) and last.url.host == host else None


def _kind(wanted: Wanted) -> str:
    return "preflight" if wanted.method == request_rules.PREFLIGHT else wanted.kind
