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
from crawler.decode_budget import DecodeBudget
from crawler.reading.outcome import Judgement, too_busy
from crawler.reading.rendered_page import Subresource
from crawler.render import request_rules
from crawler.render.page_lease import PageLease
from crawler.render.same_site import allows_credentialed_read, site
from crawler.render.subresource_cache import SHARED_KINDS, SubresourceCache
from crawler.robots.robots_txt import RobotsFetch, RobotsRuling
from crawler.wire import Acquire, Client, FetchFailure, Postponement, acquire_at_once, is_public
from crawler.wire.http.request import HeaderList
from frontier import InvalidUrl, canonicalize

MOST_PARTS = 200
"""Exchanges that one page may ask for."""
MAX_SAME_URL = 3
"""How often a page may ask for one URL: who asks oftener waits for news, and those are not ours."""
MAX_SAME_PATH = 32
"""The same for URLs that differ in their query alone."""
MOST_BYTES = 32 << 20
"""Bytes of responses, all parts of a page together."""
BURST_BYTES = 8 << 20
"""Bytes of responses after which the page's own host, too, is asked no sooner than its delay allows."""
MAX_REDIRECTS = 5
"""Redirects of one part."""
MAX_TURN_WAIT_S = 5.0
"""How long one part waits for the turns of its addresses."""
RESERVED_TIME_SHARE = 0.2
"""Of the time of a page; nothing is asked within it, for the page has to make something of what comes."""
ROBOTS_KIND = "other"
"""What a robots.txt is to the page: there is no resource type for it."""

T = TypeVar("T")
_Ask = Callable[[bool], Awaitable[T | Postponement]]
"""Asks for something; is told whether the turn of the address was waited for."""
HostLocks = WeakValueDictionary[str, asyncio.Lock]
"""Whoever asks a host something holds its lock. Whoever waits for a turn at a host without a lease of it holds that of `WAITING` before."""
WAITING = "waiting "
"""Before the name of a host: a lock of its own, so that nobody waits within the page whose host that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubresourceRequest:
    """One request of a page, as its browser would send it."""

    url: str
    method: str
    headers: Mapping[str, str]
    kind: str
    """What the browser wants it for: `script`, `stylesheet`, `xhr`."""
    hops: int = 0
    """Redirects that led here."""
    has_left_site: bool = False
    """Whether one of them left the site of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RobotsClient:
    """A client that asks for robots.txt files on behalf of a page."""

    client: Client
    page_address: str

    async def get(
        self,
        url: Url,
        acquire: Acquire = acquire_at_once,
        *,
        headers: HeaderList = (),
        max_body: int | None = None,
    ) -> Capture | FetchFailure | Postponement:
        return await self.client.get(
            url,
            acquire,
            headers=headers,
            max_body=max_body,
            with_credentials=False,
            page_address=self.page_address,
        )


class SubresourceFetcher:
    """The parts of one page."""

    def __init__(
        self,
        client: Client,
        *,
        page: Capture,
        lease: PageLease,
        host_locks: HostLocks,
        cache: SubresourceCache,
        decode_budget: DecodeBudget,
        deadline: float,
    ) -> None:
        """`deadline` is the page's deadline, by the event loop's clock."""
        self._client, self._origin, self._site, self._address = (
            client,
            page.url.origin,
            site(page.url),
            page.peer,
        )
        self._lease, self._hosts, self._cache, self._until = lease, host_locks, cache, deadline
        self._last_request_at = deadline - RESERVED_TIME_SHARE * self._left_s()
        self._exchanges = self._bytes = 0
        self._own = asyncio.Lock()
        self._request_counts: Counter[str] = Counter()
        self.subresources: list[Subresource] = []
        self.decode_budget = decode_budget
        """What the bodies that the browser is given are taken from."""

    def leaves_site(self, request: SubresourceRequest) -> bool:
        """Whether a request goes to another site than that of the page, or was led over one."""
        try:
            return request.has_left_site or site(canonicalize(request.url)) != self._site
        except InvalidUrl:
            return True

    async def fetch(self, request: SubresourceRequest) -> Capture | str:
        """What was answered, or the reason for which there is no answer."""
        try:
            url = canonicalize(request.url)
        except InvalidUrl:
            return "bad_url"
        same_site = not self.leaves_site(request)
        headers = request_rules.request_headers(request.headers, with_cookies=same_site)
        may_carry = same_site and request.method != request_rules.PREFLIGHT
        carries = may_carry and self._client.has_credentials(url)
        # What a page has a say in, by its headers or by who it is, is kept for its own site.
        is_for_all = request.kind in SHARED_KINDS and not carries and is_public(self._address)
        partition = "" if is_for_all else self._site
        if request.method == "GET" and (kept := self._cache.get(request.url, headers, partition)) is not None:
            return kept
        if request.hops > MAX_REDIRECTS:
            return "too_many_hops"
        if not request.hops and self._is_repeated(request):
            return "repeated"
        found = await self._exchange(url, request, headers, with_credentials=may_carry)
        if carries and isinstance(found, Capture) and not _is_readable(found, headers):
            # Its script may have asked without: then the answer to that is what a browser would show it.
            found = await self._exchange(url, request, headers, with_credentials=False)
        if request.method == "GET" and isinstance(found, Capture):
            self._cache.put(request.url, headers, found, request.kind, partition)
        return found

    def _is_repeated(self, wanted: SubresourceRequest) -> bool:
        # A preflight is no second request for the same.
        preflight = f"{request_rules.PREFLIGHT} " if wanted.method == request_rules.PREFLIGHT else ""
        place = f"{preflight}{wanted.url.partition('?')[0]}?"
        same = preflight + wanted.url
        self._request_counts.update((same, place))
        return self._request_counts[same] > MAX_SAME_URL or self._request_counts[place] > MAX_SAME_PATH

    async def _exchange(
        self, url: Url, wanted: SubresourceRequest, headers: HeaderList, *, with_credentials: bool
    ) -> Capture | str:
        async def ask(waited: bool) -> Capture | FetchFailure | Postponement:
            return await self._client.get(
                url,
                self._lease.acquire(has_waited=waited),
                headers=headers,
                method=wanted.method,
                max_body=MOST_BYTES - self._bytes,
                timeout_s=self._left_s(),
                with_credentials=with_credentials,
                page_address=self._address,
            )

        async with self._line(url.host):
            permission = await self._lease.permission(url, self._fetch_robots)
            if permission.refusal:
                return permission.refusal
            if self._exchanges >= MOST_PARTS:
                return "too_many"
            if self._bytes >= MOST_BYTES:
                return "too_large"
            self._exchanges += 1
            found: Capture | FetchFailure | str = await self._in_turn(url.host, permission.delay_ms, ask)
        if isinstance(found, FetchFailure):
            return found.reason if found.reason.endswith("_blocked") else "unreachable"
        if isinstance(found, Capture):
            self._record_exchange(found, _kind(wanted))
        return found

    async def _fetch_robots(self, url: Url) -> RobotsFetch | str:
        """Fetch the robots.txt of another origin."""
        client = _RobotsClient(client=self._client, page_address=self._address)

        async def ask(waited: bool) -> RobotsFetch | Postponement:
            return await self._lease.fetch_robots(url, client, has_waited=waited)

        found = await self._in_turn(url.host, 0, ask)
        if isinstance(found, RobotsFetch):
            for capture in found.captures:
                self._record_exchange(capture, ROBOTS_KIND)
            if isinstance(found.decision, RobotsRuling) and found.decision.delay_ms:
                await self._lease.end_turn(url.host, delay_ms=found.decision.delay_ms)  # as is known only now
        return found

    def _line(self, host: str) -> asyncio.Lock:
        """Those who wait for a turn at a host, one behind the other."""
        return (
            self._own if self._lease.holds(host) else self._hosts.setdefault(WAITING + host, asyncio.Lock())
        )

    async def _in_turn(self, host: str, delay_ms: int, ask: _Ask[T]) -> T | str:
        """Ask a host when it is its turn, and each address when it is that one's."""
        most_ms = round(1000 * (self._last_request_at - asyncio.get_running_loop().time()))
        if most_ms < 0:
            return "late"
        wait_ms = await self._lease.reserve_turn(
            host, delay_ms=delay_ms, max_wait_ms=most_ms, may_burst=self._bytes < BURST_BYTES
        )
        if wait_ms > most_ms:
            return "not_its_turn"
        await asyncio.sleep(wait_ms / 1000)
        async with self._hosts.setdefault(host, asyncio.Lock()):
            found = await self._ask_until_turn(ask)
            await self._lease.end_turn(host, delay_ms=delay_ms, answer=_too_busy(found, host))
        return found

    async def _ask_until_turn(self, ask: _Ask[T]) -> T | str:
        patience_s, waited = MAX_TURN_WAIT_S, False
        while self._left_s() > 0:
            found = await ask(waited)
            if not isinstance(found, Postponement):
                return found
            wait_s = found.wait_ms / 1000
            if wait_s > min(patience_s, self._left_s()):
                return "not_its_turn"
            patience_s -= wait_s
            await asyncio.sleep(wait_s)
            waited = True
        return "late"

    def _record_exchange(self, capture: Capture, kind: str) -> None:
        self._bytes += len(capture.response)
        self.subresources.append(Subresource(capture=capture, kind=kind))

    def _left_s(self) -> float:
        return self._until - asyncio.get_running_loop().time()

    def __repr__(self) -> str:
        return f"<parts: {self._exchanges} exchanges, {self._bytes} bytes>"


def _is_readable(found: Capture, headers: HeaderList) -> bool:
    """Whether the page may read what came with credentials. Only requests to other origins that are to be read say who asks (`Origin`)."""
    origin = next((value for name, value in headers if name.lower() == "origin"), None)
    return origin is None or origin == found.url.origin or allows_credentialed_read(found.headers, origin)


def _too_busy(found: object, host: str) -> Judgement | None:
    """What the last answer means, where it means that the host is asked too much. A redirect of a robots.txt ends at another host, whose
    answer is known there.
    """
    last = found.captures[-1] if isinstance(found, RobotsFetch) and found.captures else found
    return too_busy(last) if isinstance(last, Capture) and last.url.host == host else None


def _kind(wanted: SubresourceRequest) -> str:
    return "preflight" if wanted.method == request_rules.PREFLIGHT else wanted.kind
