"""`SubresourceFetchers`: make the fetcher of each page of a worker, with what all of them share."""

import time
from collections.abc import Iterable

from thresher.core import Capture
from thresher.crawler.connectivity.address_limiter import AddressLimiter
from thresher.crawler.decode_budget import DecodeBudget
from thresher.crawler.robots.robots_txt import RobotsCache
from thresher.crawler.subresources.page_lease import PageLease
from thresher.crawler.subresources.subresource_cache import SubresourceCache
from thresher.crawler.subresources.subresource_fetcher import HostLocks, SubresourceFetcher
from thresher.crawler.subresources.subresource_robots import SubresourceRobots
from thresher.crawler.wire import WireSettings, utc_ms
from thresher.crawler.wire.client import Client
from thresher.crawler.wire.session import Session
from thresher.frontier import Frontier, Lease


class SubresourceFetchers:
    """The fetchers of one worker."""

    def __init__(
        self,
        frontier: Frontier,
        client: Client,
        address_limiter: AddressLimiter,
        *,
        decode_budget: DecodeBudget,
        wire: WireSettings,
    ) -> None:
        """Fetch with `client`, under the robots rules that `frontier` has, within the limits of `wire`."""
        self._wire = wire
        self._client, self._address_limiter, self._decode_budget = client, address_limiter, decode_budget
        self._robots_cache = RobotsCache(frontier)
        self._subresource_robots = SubresourceRobots(frontier.origins.robots, utc_ms)
        self._host_locks = HostLocks()
        self._cache = SubresourceCache(utc_ms)

    def fetcher(
        self, lease: Lease, page: Capture, *, deadline: float, session: Session | None = None
    ) -> SubresourceFetcher:
        """Return the fetcher of a page that has just arrived. `deadline` is the page's, by the event loop's clock.
        `session` is the login that the page was fetched under.
        """
        return SubresourceFetcher(
            self._client,
            page=page,
            lease=PageLease(
                lease,
                address_limiter=self._address_limiter,
                robots_cache=self._robots_cache,
                subresource_robots=self._subresource_robots,
                clock=time.monotonic,
            ),
            host_locks=self._host_locks,
            cache=self._cache,
            decode_budget=self._decode_budget,
            deadline=deadline,
            session=session,
            wire=self._wire,
        )

    def forget(self, urls: Iterable[str]) -> None:
        """Answer no request for these from the cache."""
        self._cache.forget(set(urls))

    def __repr__(self) -> str:
        return f"<subresource fetchers: {self._cache}>"
