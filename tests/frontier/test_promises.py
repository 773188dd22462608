"""The promises of the frontier hold if servers restart without their last writes and if clocks jump by an hour.

A test moves a server's clock by moving what a partition remembers of it the other way. A crash is simulated: the keys
go back to what they were when they were last saved, and the library finds that it was born anew.
"""

import asyncio
import time
from collections import defaultdict
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from tests.examples import few_examples
from tests.expect import expect
from thresher.frontier import CrawlSettings, Frontier, HostRelease, Kind, Outcome, Settlement
from thresher.frontier.link.connect import connect

_serial = count()

SECOND, HOUR = 1_000, 3_600_000
PACE, ADDRESS_DELAY = 2 * SECOND, 1_500
HOSTS = [f"{name}.test" for name in "abcd"]
ADDRESSES = {host: f"192.0.2.{i % 2}" for i, host in enumerate(HOSTS)}

WAITS = st.sampled_from([300, ADDRESS_DELAY - 100, ADDRESS_DELAY, PACE - 100, PACE, PACE, 14 * SECOND])
STEPS = st.one_of(
    st.tuples(st.just("work"), st.integers(1, 5)),
    st.tuples(st.just("work"), st.integers(1, 5)),
    st.tuples(st.just("finish"), st.integers(0, 5)),
    st.tuples(st.just("wait"), WAITS),
    st.tuples(st.just("wait"), WAITS),
    st.tuples(st.just("jump"), st.sampled_from([-HOUR, HOUR, -20 * SECOND, 20 * SECOND])),
    st.tuples(st.just("save")),
    st.tuples(st.just("crash")),
    st.tuples(st.just("lose"), st.integers(1, 5), WAITS),
    st.tuples(st.just("restart")),
)


class Servers:
    """The servers of a crawl, and what befalls them."""

    def __init__(self, redis: Redis, frontier: Frontier):
        self.redis = redis
        self.frontier = frontier
        self.skipped = 0
        self.saved: dict[bytes, bytes] = {}
        self.saved_at = 0

    def now(self) -> float:
        """Milliseconds that have really passed, in the world of the test."""
        return time.monotonic() * 1000 + self.skipped

    async def _partitions(self) -> list[str]:
        keys = [key for call in self.frontier.crawl.partitions.calls("") for key in call.keys]
        return [key for key in keys if await self.redis.hexists(key, "wall")]

    async def jump(self, ms: int) -> None:
        """The clocks are set."""
        for key in await self._partitions():
            await self.redis.hincrby(key, "wall", -ms)

    async def wait(self, ms: int) -> None:
        """Time passes."""
        self.skipped += ms
        await self.jump(ms)

    async def restart(self) -> None:
        for key in await self._partitions():
            await self.redis.hset(key, "born", "another")

    async def save(self) -> None:
        self.saved_at = self.skipped
        self.saved = {key: expect(bytes, await self.redis.dump(key)) for key in await self._keys()}

    async def crash(self) -> None:
        """What was written since the last save is lost."""
        if not self.saved:
            return
        await self.redis.delete(*await self._keys())
        for key, value in self.saved.items():
            await self.redis.restore(key, 0, value)
        await self.jump(self.skipped - self.saved_at)
        await self.restart()

    async def _keys(self) -> list[bytes]:
        return [key async for key in self.redis.scan_iter(f"thresher:{{{self.frontier.crawl.name}*")]


class Fleet:
    """Workers that do as the frontier says, and remember when they did it."""

    def __init__(self, frontier: Frontier, servers: Servers):
        self.frontier = frontier
        self.servers = servers
        self.open = []
        self.tokens = set()
        self.asked = defaultdict(list)
        self.entered = defaultdict(list)

    async def work(self, n: int) -> None:
        before = self.servers.now()
        leases = await self.frontier.lease(n, worker="w", lease_ms=8 * SECOND)
        for lease in leases:
            assert lease.token not in self.tokens
            self.tokens.add(lease.token)
            address, entered = ADDRESSES[lease.url.host], self.servers.now()
            if wait := await self.frontier.politeness.acquire_address(lease, address):
                await self.frontier.postpone(lease, wait)
            else:
                self._apart(self.asked[lease.url.host], before, PACE)
                self._apart(self.entered[address], entered, ADDRESS_DELAY)
                self.open.append(lease)

    def _apart(self, moments: list[float], before: float, delay: int) -> None:
        """It happened between `before` and now; the last time it did was a delay ago."""
        assert not moments or self.servers.now() - moments[-1] >= delay
        moments.append(before)

    async def lose(self, n: int, ms: int) -> None:
        """What is granted now is forgotten by the servers a moment later."""
        await self.servers.save()
        await self.work(n)
        await self.servers.wait(ms)
        await self.servers.crash()

    async def finish(self, at: int) -> None:
        for lease in self.open[at : at + 1]:
            self.open.remove(lease)
            await self.frontier.release([HostRelease(lease=lease, elapsed_ms=1)])
            if lease.kind is Kind.ROBOTS:
                await self.frontier.origins.settle_robots(
                    lease, rule="allow", body=b"", ttl_ms=HOUR, delay_ms=None
                )
            else:
                await self.frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED)])


@settings(max_examples=few_examples(20, of=80), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=20, max_size=100), partitions=st.sampled_from([1, 3]))
def test_no_restart_and_no_clock_makes_a_grant_early_or_a_token_return(address, found, steps, partitions):
    async def run():
        link, redis = await connect(address), Redis.from_url(address)
        frontier = await Frontier(link, f"promises-{next(_serial)}").open(
            CrawlSettings(min_delay_ms=PACE, min_ip_delay_ms=ADDRESS_DELAY), partitions=partitions
        )
        servers = Servers(redis, frontier)
        fleet = Fleet(frontier, servers)
        try:
            await frontier.add([found(f"http://{host}/{page}") for host in HOSTS for page in range(20)])
            for verb, *args in steps:
                await getattr(fleet if verb in {"work", "finish", "lose"} else servers, verb)(*args)
        finally:
            await frontier.crawl.forget()
            await redis.aclose()
            await link.aclose()

    asyncio.run(run())
