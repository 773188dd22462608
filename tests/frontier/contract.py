"""What tests of every frontier share: the three of them, a worker, and pages for it."""

import time
from itertools import count

import pytest

from tests.frontier.fixed_clock import Clock, memory_crawl, paced, server_crawl
from thresher.frontier import Kind, Outcome, Settlement

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
_serial = count()


@pytest.fixture
def budget():
    return None


@pytest.fixture
def policy():
    return None


@pytest.fixture(params=["memory", "one partition", "four partitions"])
async def crawl(request: pytest.FixtureRequest, address, budget, policy):
    clock = Clock(int(time.time() * 1000))
    if request.param == "memory":
        made = await memory_crawl(clock, budget, policy)
    else:
        number = 1 if request.param == "one partition" else 4
        made = await server_crawl(
            address, f"contract-{next(_serial)}", clock, partitions=number, budget=budget, policy=policy
        )
    yield made
    await made.aclose()


@pytest.fixture
def worker(crawl):
    return Worker(crawl)


class Worker:
    """One that reads every robots.txt as `allow`, and settles as it is told."""

    def __init__(self, crawl, name="w"):
        self.crawl = crawl
        self.frontier = crawl.frontier
        self.name = name

    async def take(self, n=100, *, delay=0, lease_ms=HOUR, max_pages=None, max_requests=None):
        await paced(self.frontier, delay)
        return await self.frontier.lease(
            n, worker=self.name, lease_ms=lease_ms, max_pages=max_pages, max_requests=max_requests
        )

    async def allow(self, lease, delay=None, ttl=1000 * DAY):
        await self.frontier.origins.settle_robots(lease, rule="allow", body=b"", ttl_ms=ttl, delay_ms=delay)

    async def pages(self, n=100, *, delay=0, lease_ms=HOUR, max_pages=None):
        """Pages granted now; what robots.txt stands before them is read."""
        taken = []
        while granted := await self.take(n - len(taken), delay=delay, lease_ms=lease_ms, max_pages=max_pages):
            for lease in granted:
                if lease.kind is Kind.ROBOTS:
                    await self.allow(lease)
                    await self.crawl.skip(delay + 1)
                else:
                    taken.append(lease)
        return taken

    async def settle(self, leases, outcome=Outcome.FETCHED, **fields):
        ended = [Settlement(lease=lease, outcome=outcome, **fields) for lease in leases]
        return await self.frontier.settle(ended)

    async def stats(self):
        return await self.frontier.stats()


def texts(leases):
    return [lease.url.text for lease in leases]


def numbered(found, host, n, **fields):
    return [found(f"http://{host}/{i}", **fields) for i in range(n)]
