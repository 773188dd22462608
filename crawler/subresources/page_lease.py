"""`PageLease`: whether and when a page's subresources may be requested under the page's lease.

1. The lease holds the page's own host, which serves the page's subresources in one burst: `BURST` turns ahead of their
   time, one after the other. The time of all these turns passes before the host is leased again
   (`Politeness.reserve_turn`). If the host's rules ask for a delay, that delay applies between two requests, the page's
   own request included.
2. Another host is requested in its turn: meanwhile the frontier grants no lease of it, and no other page requests it.
3. A host that answers that it is too busy (429, 503) rests as after such a response to a page.
4. Every address has its own delay besides (`crawler.connectivity.address_limiter`).
"""

from collections.abc import Callable
from dataclasses import replace

from thresher.core import Url
from thresher.crawler.connectivity.address_limiter import AddressLimiter
from thresher.crawler.connectivity.uplink import Fetcher
from thresher.crawler.reading.outcome import Judgement
from thresher.crawler.robots.robots_txt import RobotsCache, RobotsFetch, fetch_robots
from thresher.crawler.subresources.subresource_robots import Permission, RobotsFetcher, SubresourceRobots
from thresher.crawler.wire import Acquire, Postponement
from thresher.frontier import Kind, Lease

BURST = 64
"""Requests of one page to its own host that need not wait for a delay. They cover the scripts, stylesheets and data of
nearly every page (decision 40).
"""


class PageLease:
    """The lease of a page that is rendered."""

    def __init__(
        self,
        lease: Lease,
        *,
        address_limiter: AddressLimiter,
        robots_cache: RobotsCache,
        subresource_robots: SubresourceRobots,
        clock: Callable[[], float],
    ) -> None:
        """Create it when the page has arrived: `clock`, in seconds, measures from then on."""
        self._lease, self._address_limiter = lease, address_limiter
        self._robots_cache, self._subresource_robots = robots_cache, subresource_robots
        self._clock, self._arrived_at = clock, clock()

    def acquire(self, *, has_waited: bool) -> Acquire:
        """Return the function that acquires an address; `has_waited` says that the subresource has waited for
        its turn.
        """
        # A subresource has a place in an address's queue only after it had to wait.
        return self._address_limiter.acquire_for(self._request_lease(has_waited=has_waited))

    async def permission(self, url: Url, fetch: RobotsFetcher) -> Permission:
        """Return whether robots.txt permits a subresource; call `fetch` for a robots.txt that is not cached."""
        if url.origin != self._lease.url.origin:
            return await self._subresource_robots.permission(url, fetch)
        rules = await self._robots_cache.rules(self._lease)
        return (
            Permission(delay_ms=rules.delay_ms)
            if rules.refusal(url) is None
            else Permission(refusal="robots")
        )

    async def reserve_turn(self, host: str, *, delay_ms: int, max_wait_ms: int, may_burst: bool) -> int:
        """Return in how many milliseconds it is the page's turn at a host whose rules ask for a delay; more than
        `max_wait_ms` if it has no turn.

        With `may_burst` the page's own host may be requested ahead of time.
        """
        if not self.holds(host):
            return await self._address_limiter.reserve_turn(host, max_wait_ms=max_wait_ms, delay_ms=delay_ms)
        since_ms = round(1000 * (self._clock() - self._arrived_at))
        ahead = BURST if may_burst else 0
        return await self._address_limiter.reserve_turn(
            host, max_wait_ms=max_wait_ms, delay_ms=delay_ms, since_ms=since_ms, ahead=ahead
        )

    async def end_turn(self, host: str, *, delay_ms: int, answer: Judgement | None = None) -> None:
        """Report the end of an exchange that had its turn; `answer` as for `AddressLimiter.end_turn`."""
        await self._address_limiter.end_turn(
            host, delay_ms=delay_ms, has_lease=self.holds(host), answer=answer
        )

    async def fetch_robots(
        self, url: Url, client: Fetcher, *, has_waited: bool
    ) -> RobotsFetch | Postponement:
        """Fetch a robots.txt whose host has its turn."""
        lease = replace(self._request_lease(has_waited=has_waited), url=url, kind=Kind.ROBOTS, attempt=0)
        return await fetch_robots(client, lease, self._address_limiter)

    def holds(self, host: str) -> bool:
        """Return whether the lease holds a host, which is the page's own one."""
        return host == self._lease.url.host

    def _request_lease(self, *, has_waited: bool) -> Lease:
        return replace(self._lease, held_until_ms=int(has_waited))

    def __repr__(self) -> str:
        return f"<page lease: {self._lease.url}>"
