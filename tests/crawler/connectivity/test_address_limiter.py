"""A request to an address is reported if it is later than the frontier assumes."""

import asyncio
from types import SimpleNamespace

from tests.crawler.leases import lease
from thresher.core import Unavailable
from thresher.crawler.connectivity import address_limiter
from thresher.crawler.connectivity.address_limiter import AddressLimiter
from thresher.frontier import CrawlSettings

ADDRESS = "192.0.2.1"


class Recorder:
    """A frontier that grants every address, and records which ones are reported as late."""

    def __init__(self, delay_ms):
        self.late, settings = [], CrawlSettings(min_ip_delay_ms=delay_ms)
        self.crawl, self.politeness = SimpleNamespace(settings=settings), self

    async def acquire_addresses(self, asked):
        return [0 for _ in asked]

    async def restart_address_delays(self, addresses):
        self.late += addresses


async def entered(delay_ms=100):
    frontier = Recorder(delay_ms)
    way = AddressLimiter(frontier)  # type: ignore[arg-type]
    assert await way.acquire_for(lease("http://a.test/"))(ADDRESS) == 0
    return way, frontier


async def told(frontier):
    await asyncio.sleep(0.01)
    return frontier.late


async def test_a_prompt_request_is_not_reported(monkeypatch):
    monkeypatch.setattr(address_limiter, "MAX_REQUEST_LAG_S", 60.0)
    way, frontier = await entered()
    way.start_request(ADDRESS)
    assert await told(frontier) == []


async def test_a_late_or_repeated_request_is_reported(monkeypatch):
    monkeypatch.setattr(address_limiter, "MAX_REQUEST_LAG_S", 60.0)
    way, frontier = await entered()
    way.start_request(ADDRESS)
    way.start_request(ADDRESS)  # again, over another connection
    assert await told(frontier) == [ADDRESS]
    monkeypatch.setattr(address_limiter, "MAX_REQUEST_LAG_S", 0.0)
    way, frontier = await entered()
    way.start_request(ADDRESS)
    assert await told(frontier) == [ADDRESS]


async def test_without_a_delay_nothing_is_reported():
    way, frontier = await entered(0)
    way.start_request(ADDRESS)
    assert await told(frontier) == []


async def test_an_unavailable_frontier_is_noticed_by_the_next_call():
    way, frontier = await entered()

    async def away(_):
        raise Unavailable("Redis does not answer")

    frontier.restart_address_delays = away
    way.start_request(ADDRESS)
    assert await told(frontier) == []
