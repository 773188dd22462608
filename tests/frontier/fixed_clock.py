"""A server whose clock stands where a test wants it.

Before every call the partition's steady clock is set to the test's time, and the moment of its last call is put into
the future, so that the call advances it by nothing. Calls that are made together go one by one here: the first of them
writes down when it was, and a later one of the same partition would find that time has passed, and the next call that
it has gone back. What runs on the server's TIME (visits, robots records) is brought nearer instead.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from redis.asyncio import Redis

from tests.expect import expect
from thresher.frontier import Budget, CrawlSettings, Frontier, UrlPolicy
from thresher.frontier.codec.entries import decode_entry
from thresher.frontier.link.call import Call, Link
from thresher.frontier.link.connect import connect
from thresher.frontier.link.partition import Partitions
from thresher.frontier.testing import MemoryFrontier

FAR = 1 << 48
FIRST_TOKEN = 10**8  # all tokens of a test have as many digits: their order as text is their order as numbers


class Clock:
    """Milliseconds since the epoch, as many as it is told."""

    def __init__(self, now: int):
        self.now = now

    def __call__(self) -> int:
        return self.now


class FixedClockLink:
    """A link that tells the partitions what time it is before it calls them."""

    is_cluster = False

    def __init__(self, link: Link, address: str, clock: Callable[[], int]):
        self._link = link
        self._clock = clock
        self.redis = Redis.from_url(address)

    async def call(self, calls: Sequence[Call]):
        return [await self._call(call) for call in calls]

    async def _call(self, call: Call):
        pipeline = self.redis.pipeline(transaction=False)
        for key in call.keys:
            if key.endswith("count"):
                pipeline.hset(key, mapping={"steady": self._clock(), "wall": FAR})
                pipeline.hsetnx(key, "token", FIRST_TOKEN)
        await pipeline.execute()
        (reply,) = await self._link.call([call])
        return reply

    async def aclose(self) -> None:
        await self.redis.aclose()
        await self._link.aclose()

    def __getattr__(self, name):
        return getattr(self._link, name)


class Crawl:
    """A crawl, and the time that it believes in."""

    def __init__(self, clock: Clock, frontier: Frontier | MemoryFrontier, link: FixedClockLink | None = None):
        self.clock = clock
        self.frontier = frontier
        self.link = link
        self._skipped = 0

    @property
    def wall_ms(self) -> int:
        """What visits fall due by: the server's TIME, which does not stand."""
        return self.clock.now - (self._skipped if self.link is not None else 0)

    async def skip(self, ms: int) -> None:
        """Time passes."""
        self.clock.now += ms
        self._skipped += ms
        if self.link is not None:
            redis: Any = self.link.redis
            calls = [self._partitions.calls("", key=key) for key in ("visits", "kept")]
            for call in chain(*calls):
                (visits,) = call.keys
                for member in await redis.zrange(visits, 0, -1):
                    await redis.zincrby(visits, -ms, member)
            for call in self._partitions.calls("", key="robots"):
                (robots,) = call.keys
                for origin, state in (await redis.hgetall(robots)).items():
                    expires = max(int.from_bytes(state[4:10], "big") - ms, 0).to_bytes(6, "big")
                    await redis.hset(robots, origin, state[:4] + expires + state[10:])

    async def places(self) -> dict[str, list[tuple[int, str]]]:
        """Where the server keeps URLs that are not settled for good, by generation, text, and the
        lease that led back.
        """
        found = defaultdict(list)
        redis: Any = expect(FixedClockLink, self.link).redis
        partitions = self._partitions
        for partition in range(partitions.number):
            for host in await redis.hkeys(partitions.key(partition, "hosts")):
                entries = await redis.lrange(partitions.key(partition, f"q:{host.decode()}"), 0, -1)
                found["waiting"] += [_url(host, entry) for entry in entries]
            for place in ("later", "visits"):
                for member in await redis.zrange(partitions.key(partition, place), 0, -1):
                    host, _, entry = member.partition(b"\0")
                    found[place].append(_url(host, entry))
            for lease in await redis.hvals(partitions.key(partition, "leases")):
                kind, _, worker, host = lease[:4]
                if kind == 1:
                    at = 10 + worker
                    found["leased"].append(_url(lease[at : at + host], lease[at + host :]))
        return found

    @property
    def _partitions(self) -> Partitions:
        return expect(Frontier, self.frontier).crawl.partitions

    async def aclose(self) -> None:
        await self.frontier.crawl.forget()
        if self.link is not None:
            await self.link.aclose()


def _url(host: bytes, entry: bytes) -> tuple[int, str, int]:
    discovery, _ = decode_entry(host.decode(), entry)
    return discovery.generation, discovery.url.text, discovery.again


async def paced(frontier: Frontier | MemoryFrontier, delay_ms: int) -> None:
    """The crawl's delay is this from now on."""
    if frontier.crawl.settings.min_delay_ms != delay_ms:
        await frontier.crawl.update_settings(replace(frontier.crawl.settings, min_delay_ms=delay_ms))


async def memory_crawl(clock: Clock, budget: Budget | None = None, policy: UrlPolicy | None = None) -> Crawl:
    """A crawl in memory, without a delay."""
    return Crawl(clock, await MemoryFrontier(clock=clock).open(unpaced(budget, policy)))


def unpaced(budget: Budget | None = None, policy: UrlPolicy | None = None) -> CrawlSettings:
    """Settings of a crawl that asks as soon as it may."""
    return CrawlSettings(
        min_delay_ms=0, min_ip_delay_ms=0, budget=budget or Budget(), policy=policy or UrlPolicy()
    )


async def server_crawl(
    address: str,
    name: str,
    clock: Clock,
    *,
    partitions: int = 1,
    budget: Budget | None = None,
    policy: UrlPolicy | None = None,
) -> Crawl:
    """A crawl of that name on a server, without a delay."""
    link = FixedClockLink(await connect(address), address, clock)
    frontier = await Frontier(link, name).open(unpaced(budget, policy), partitions=partitions)
    return Crawl(clock, frontier, link)
