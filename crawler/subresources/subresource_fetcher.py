"""`SubresourceFetcher`: fetch with our own client what one page requests while it is rendered.

1. A subresource is fetched like a page: by the same client, with the same guard, and its exchange is archived byte for
   byte.
2. All fetches are under the lease of the page, which holds the page's host meanwhile. A host gets one request at a
   time, whichever page sends it: the page's own host in one burst of a bounded number of requests and bytes, every
   other host and every address in its turn (`crawler.subresources.page_lease`). The fetcher waits for a turn that comes
   within the page's time; a subresource without such a turn is left out.
3. The robots.txt of the subresource's own origin is obeyed (`crawler.subresources.subresource_robots`).
4. The browser follows redirects; each hop is a request of its own.
5. Credentials (`crawler.auth`) and cookies go to the page's own site only, and no further once a redirect has left it
   (`crawler.subresources.same_site`). A session (`crawler.wire.session`) holds for its host and those under it, on
   behalf of a page under it. If the response to a request with credentials is not for the page's origin, the request is
   repeated without them.
6. A private network (`crawler.allow_networks`) is for pages that came from that network
   (`crawler.wire.network.address`).
7. A page has a limited number of subresources, bytes, hops and seconds.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakValueDictionary

from thresher.core import Capture, Url
from thresher.crawler.decode_budget import DecodeBudget
from thresher.crawler.reading.outcome import Judgement, too_busy
from thresher.crawler.reading.page_parts import Subresource
from thresher.crawler.robots.robots_txt import RobotsFetch, RobotsRuling
from thresher.crawler.subresources import request_rules
from thresher.crawler.subresources.page_lease import PageLease
from thresher.crawler.subresources.same_site import allows_credentialed_read, site
from thresher.crawler.subresources.subresource_cache import SHARED_KINDS, SubresourceCache
from thresher.crawler.wire import (
    Acquire,
    FetchFailure,
    Postponement,
    WireSettings,
    acquire_at_once,
    is_public,
)
from thresher.crawler.wire.client import Client
from thresher.crawler.wire.http.request import HeaderList
from thresher.crawler.wire.session import Session
from thresher.frontier import InvalidUrl, canonicalize

MAX_EXCHANGES = 200
"""Exchanges that one page may cause at most, those for a robots.txt included."""
MAX_SAME_URL = 3
"""Times that a page may request one URL. A page that requests it more often waits for news, which we do not need."""
MAX_SAME_PATH = 32
"""The same for URLs that differ only in their query."""
MAX_BYTES = 32 << 20
"""Bytes of responses, all subresources of a page together."""
BURST_BYTES = 8 << 20
"""Bytes of responses after which the page's own host, too, is requested only at the pace of its delay."""
MAX_REDIRECTS = 5
"""Redirects of one subresource."""
MAX_TURN_WAIT_S = 5.0
"""Seconds that one subresource may wait for the turns of its addresses."""
RESERVED_TIME_SHARE = 0.2
"""Share of a page's time in which no request is sent, because the page needs time to use what arrived."""
ROBOTS_KIND = "other"
"""The kind of a robots.txt: the browser has no resource type for it."""

T = TypeVar("T")
_Ask = Callable[[bool], Awaitable[T | Postponement]]
"""Sends a request; its argument says whether it has waited for the address's turn."""
HostLocks = WeakValueDictionary[str, asyncio.Lock]
"""Two locks for each host. A request holds the lock under the host's name. Before that, while it waits for the turn of
a host that the page has no lease of, it holds the lock under `WAITING` and the host's name.
"""
WAITING = "waiting "
"""Prefix of a host's second lock, so that a wait for a turn does not block the page that has the host's lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubresourceRequest:
    """One request of a page, as its browser would send it."""

    url: str
    method: str
    headers: Mapping[str, str]
    kind: str
    """What the browser needs it for: `script`, `stylesheet`, `xhr`."""
    hops: int = 0
    """Redirects that led here."""
    has_left_site: bool = False
    """Whether one of them left the site of the page."""
    is_in_markup: bool = False
    """Whether the page's markup asks for it: once, and not a script that asks again and again for news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RobotsClient:
    """A client that requests robots.txt files on behalf of a page."""

    client: Client
    page_address: str
    in_burst: bool

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
            in_burst=self.in_burst,
        )


class SubresourceFetcher:
    """The subresources of one page."""

    def __init__(  # noqa: PLR0913 - one page, and what all pages of a worker share
        self,
        client: Client,
        *,
        page: Capture,
        lease: PageLease,
        host_locks: HostLocks,
        cache: SubresourceCache,
        decode_budget: DecodeBudget,
        deadline: float,
        wire: WireSettings,
        session: Session | None = None,
    ) -> None:
        """`deadline` is the page's deadline, by the event loop's clock; `wire` has the limits of one response, and
        `session` is the login of the page.
        """
        self._client, self._origin, self._site, self._address = (
            client,
            page.url.origin,
            site(page.url),
            page.peer,
        )
        self._session = session
        self._lease, self._host_locks, self._cache, self._deadline = lease, host_locks, cache, deadline
        self._wire = wire
        self._last_request_at = deadline - RESERVED_TIME_SHARE * self._left_s()
        self._exchanges = self._bytes = 0
        self._leased_host_lock = asyncio.Lock()
        self._request_counts: Counter[str] = Counter()
        self.subresources: list[Subresource] = []
        self.decode_budget = decode_budget
        """The budget for decoded bodies that the browser receives."""

    def leaves_site(self, request: SubresourceRequest) -> bool:
        """Return whether a request goes to another site than the page's, or was redirected over one."""
        return request.has_left_site or self.is_other_site(request.url)

    def is_other_site(self, url: str) -> bool:
        """Return whether a URL belongs to another site than the page."""
        try:
            return site(canonicalize(url)) != self._site
        except InvalidUrl:
            return True

    async def fetch(self, request: SubresourceRequest) -> Capture | str:
        """Return the response, or the reason why there is none."""
        try:
            url = canonicalize(request.url)
        except InvalidUrl:
            return "bad_url"
        if self._session is not None and self._session.bars(url):
            return "login_address"
        same_site = not self.leaves_site(request) and self._is_within_session(url)
        headers = request_rules.request_headers(request.headers, with_cookies=same_site)
        allows_credentials = same_site and request.method != request_rules.PREFLIGHT
        has_credentials = allows_credentials and (
            self._session is not None or self._client.has_credentials(url)
        )
        # A response that the page can influence, by headers or by its own address, is cached for its own site only.
        is_for_all = request.kind in SHARED_KINDS and not has_credentials and is_public(self._address)
        # What a login shows is cached for its profile alone.
        partition = "" if is_for_all else f"{self._site} {self._session or ''}"
        if (
            request.method == "GET"
            and (cached := self._cache.get(request.url, headers, partition)) is not None
        ):
            return cached
        if request.hops > MAX_REDIRECTS:
            return "too_many_hops"
        if not request.hops and not request.is_in_markup and self._is_repeated(request):
            return "repeated"
        found = await self._exchange(url, request, headers, with_credentials=allows_credentials)
        if has_credentials and isinstance(found, Capture) and not _is_readable(found, headers):
            # The script may have requested it without credentials: a browser would show it the response to that
            # request.
            found = await self._exchange(url, request, headers, with_credentials=False)
        if request.method == "GET" and isinstance(found, Capture):
            self._cache.put(request.url, headers, found, request.kind, partition)
        return found

    def _is_within_session(self, url: Url) -> bool:
        """Return whether a request may carry credentials as far as the session of the page goes."""
        return self._session is None or self._session.covers(url.host)

    def _is_repeated(self, request: SubresourceRequest) -> bool:
        # A preflight is not a repetition of its request.
        preflight = f"{request_rules.PREFLIGHT} " if request.method == request_rules.PREFLIGHT else ""
        place = f"{preflight}{request.url.partition('?')[0]}?"
        same = preflight + request.url
        self._request_counts.update((same, place))
        return self._request_counts[same] > MAX_SAME_URL or self._request_counts[place] > MAX_SAME_PATH

    async def _exchange(
        self, url: Url, request: SubresourceRequest, headers: HeaderList, *, with_credentials: bool
    ) -> Capture | str:
        async def ask(waited: bool) -> Capture | FetchFailure | Postponement:
            return await self._client.get(
                url,
                self._lease.acquire(has_waited=waited),
                headers=headers,
                method=request.method,
                max_body=min(self._wire.max_body, MAX_BYTES - self._bytes),
                timeout_s=min(self._wire.timeout, self._left_s()),
                with_credentials=with_credentials,
                session=self._session if with_credentials else None,
                is_private=self._session is not None,
                page_address=self._address,
                in_burst=self._lease.holds(url.host),
            )

        async with self._queue_lock(url.host):
            permission = await self._lease.permission(url, self._fetch_robots)
            if refusal := permission.refusal or self._excess():
                return refusal
            self._exchanges += 1
            found: Capture | FetchFailure | str = await self._in_turn(url.host, permission.delay_ms, ask)
        if isinstance(found, FetchFailure):
            return found.reason if found.reason.endswith("_blocked") else "unreachable"
        if isinstance(found, Capture):
            self._record_exchange(found, _kind(request))
        return found

    def _excess(self) -> str:
        """Return the reason why the page may have nothing more; empty if it may."""
        if self._exchanges >= MAX_EXCHANGES:
            return "too_many"
        return "too_large" if self._bytes >= MAX_BYTES else ""

    async def _fetch_robots(self, url: Url) -> RobotsFetch | str:
        """Fetch the robots.txt of another origin."""
        if refusal := self._excess():
            return refusal
        self._exchanges += 1
        client = _RobotsClient(
            client=self._client, page_address=self._address, in_burst=self._lease.holds(url.host)
        )

        async def ask(waited: bool) -> RobotsFetch | Postponement:
            return await self._lease.fetch_robots(url, client, has_waited=waited)

        found = await self._in_turn(url.host, 0, ask)
        if isinstance(found, RobotsFetch):
            for capture in found.captures:
                self._record_exchange(capture, ROBOTS_KIND)
            if isinstance(found.decision, RobotsRuling) and found.decision.delay_ms:
                # The delay is known only now.
                await self._lease.end_turn(url.host, delay_ms=found.decision.delay_ms)
        return found

    def _queue_lock(self, host: str) -> asyncio.Lock:
        """Return the lock that is held while a request waits for its turn at a host."""
        return (
            self._leased_host_lock
            if self._lease.holds(host)
            else self._host_locks.setdefault(WAITING + host, asyncio.Lock())
        )

    async def _in_turn(self, host: str, delay_ms: int, ask: _Ask[T]) -> T | str:
        """Send a request when it is the host's turn, and each address's."""
        most_ms = round(1000 * (self._last_request_at - asyncio.get_running_loop().time()))
        if most_ms < 0:
            return "late"
        wait_ms = await self._lease.reserve_turn(
            host, delay_ms=delay_ms, max_wait_ms=most_ms, may_burst=self._bytes < BURST_BYTES
        )
        if wait_ms > most_ms:
            return "not_its_turn"
        await asyncio.sleep(wait_ms / 1000)
        async with self._host_locks.setdefault(host, asyncio.Lock()):
            found = await self._ask_until_turn(ask)
            await self._lease.end_turn(host, delay_ms=delay_ms, answer=_too_busy(found, host))
        return found

    async def _ask_until_turn(self, ask: _Ask[T]) -> T | str:
        remaining_wait_s, waited = MAX_TURN_WAIT_S, False
        while self._left_s() > 0:
            found = await ask(waited)
            if not isinstance(found, Postponement):
                return found
            wait_s = found.wait_ms / 1000
            if wait_s > min(remaining_wait_s, self._left_s()):
                return "not_its_turn"
            remaining_wait_s -= wait_s
            await asyncio.sleep(wait_s)
            waited = True
        return "late"

    def _record_exchange(self, capture: Capture, kind: str) -> None:
        self._bytes += len(capture.response)
        self.subresources.append(Subresource(capture=capture, kind=kind))

    def _left_s(self) -> float:
        return self._deadline - asyncio.get_running_loop().time()

    def __repr__(self) -> str:
        return f"<subresources: {self._exchanges} exchanges, {self._bytes} bytes>"


def _is_readable(found: Capture, headers: HeaderList) -> bool:
    """Return whether the page may read a response to a request with credentials. Only requests to other origins whose
    response a script reads have an `Origin` header.
    """
    origin = next((value for name, value in headers if name.lower() == "origin"), None)
    return origin is None or origin == found.url.origin or allows_credentialed_read(found.headers, origin)


def _too_busy(found: object, host: str) -> Judgement | None:
    """Return the judgement of the last response, if it means that the host is too busy. A redirect of a robots.txt ends
    at another host, for which that is reported there.
    """
    last = found.captures[-1] if isinstance(found, RobotsFetch) and found.captures else found
    return too_busy(last) if isinstance(last, Capture) and last.url.host == host else None


def _kind(request: SubresourceRequest) -> str:
    return "preflight" if request.method == request_rules.PREFLIGHT else request.kind
