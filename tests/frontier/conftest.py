"""A real server for each module, and a crawl of its own for each test."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.frontier.fixed_clock import Clock, Crawl, paced, server_crawl
from tests.frontier.power_loss import PowerLossServer
from tests.frontier.valkey_cluster import ValkeyCluster, valkey_cluster
from thresher.frontier import Discovery, Frontier, HostRelease, Kind, Lease, Scope, canonicalize
from thresher.frontier.link.call import Link
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server

_serial = count()


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyCluster]:
    """Three masters with a replica each."""
    with valkey_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def cluster(unbroken: ValkeyCluster) -> Iterator[ValkeyCluster]:
    """The same, healed after each test that broke it."""
    yield unbroken
    unbroken.heal()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with embedded_server(tmp_path_factory.mktemp("frontier")) as found:
        yield found


@pytest.fixture
def powerless(tmp_path: Path) -> Iterator[PowerLossServer]:
    with ExitStack() as stack:
        yield PowerLossServer(tmp_path, stack)


@pytest.fixture
async def redis(address: str) -> AsyncIterator[Redis]:
    """A client to look behind the frontier."""
    client = Redis.from_url(address)
    yield client
    await client.aclose()


@pytest.fixture
async def link(address: str) -> AsyncIterator[Link]:
    link = await connect(address)
    yield link
    await link.aclose()


@pytest.fixture(params=[1, 4], ids=["one partition", "four partitions"])
async def frontier(request: pytest.FixtureRequest, link: Link) -> Frontier:
    return await Frontier(link, f"crawl-{next(_serial)}").open(partitions=request.param)


@pytest.fixture
async def one(link: Link) -> Frontier:
    """The frontier of a crawl that has one partition."""
    return await Frontier(link, f"crawl-{next(_serial)}").open(partitions=1)


@pytest.fixture(params=[1, 4], ids=["one partition", "four partitions"])
async def crawl(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Crawl]:
    """A crawl whose time stands until a test lets it pass, however busy the machine is."""
    made = await server_crawl(
        address, f"crawl-{next(_serial)}", Clock(int(time.time() * 1000)), partitions=request.param
    )
    yield made
    await made.aclose()


@pytest.fixture
def found():
    return discovery


@pytest.fixture
def grants():
    return Grants


def discovery(text: str, **fields: Any) -> Discovery:
    url = canonicalize(text)
    return Discovery(url=url, scope=Scope.of("host", url), **fields)


class Grants:
    """A worker that answers every robots.txt with `allow`, and remembers when the server granted what."""

    def __init__(self, frontier: Frontier, worker: str = "w", *, lease_ms: int = 60_000, delay_ms: int = 0):
        self.frontier = frontier
        self.worker = worker
        self.lease_ms = lease_ms
        self.delay_ms = delay_ms

    async def take(self, n: int = 100, max_pages: int | None = None) -> list[Lease]:
        """Whatever is granted now, of either kind."""
        await paced(self.frontier, self.delay_ms)
        return await self.frontier.lease(n, worker=self.worker, lease_ms=self.lease_ms, max_pages=max_pages)

    async def first(self) -> Lease:
        """The next lease, whenever it comes."""
        while True:
            if granted := await self.take(1):
                return granted[0]
            await asyncio.sleep(0.005)

    async def allow(self, lease: Lease, delay_ms: int | None = None, ttl_ms: int = 3_600_000) -> None:
        await self.frontier.release([HostRelease(lease=lease)])
        await self.frontier.origins.settle_robots(
            lease, rule="allow", body=b"", ttl_ms=ttl_ms, delay_ms=delay_ms
        )

    async def pages(self, n: int = 100, max_pages: int | None = None) -> list[Lease]:
        """Pages granted now, after every robots.txt that stands before them."""
        taken: list[Lease] = []
        while granted := await self.take(n - len(taken), max_pages):
            taken += [lease for lease in granted if lease.kind is Kind.PAGE]
            for lease in granted:
                if lease.kind is Kind.ROBOTS:
                    await self.allow(lease)
        return taken
