"""A server whose clock stands where a test wants it.

Before every call the partition's steady clock is set to the test's time, and the moment of its last call is put into
the future, so that the call advances it by nothing. What runs on the server's TIME (visits) is brought nearer instead.
"""

from collections.abc import Callable, Sequence

from frontier import Frontier
from frontier.connect import connect
from frontier.link import Call

FAR = 1 << 48
FIRST_TOKEN = 10**8  # all tokens of a test have as many digits: their order as text is their order as numbers


class Clock:
    """Milliseconds since the epoch, as many as it is told."""

    def __init__(self, now: int):
        self.now = now

    def __call__(self) -> int:
        return self.now


class Standing:
    """A link that tells the partitions what time it is before it calls them."""

    clustered = False

    def __init__(self, link, clock: Callable[[], int]):
        self._link = link
        self._clock = clock
        self.redis = link._redis

    async def call(self, calls: Sequence[Call]):
        pipeline = self.redis.pipeline(transaction=False)
        for key in {key for call in calls for key in call.keys if key.endswith("count")}:
            pipeline.hset(key, mapping={"steady": self._clock(), "wall": FAR})
            pipeline.hsetnx(key, "token", FIRST_TOKEN)
        await pipeline.execute()
        return await self._link.call(calls)

    def __getattr__(self, name):
        return getattr(self._link, name)


class Crawl:
    """A crawl on a real server, and the time that it believes in."""

    def __init__(self, link: Standing, clock: Clock, frontier: Frontier):
        self.link = link
        self.clock = clock
        self.frontier = frontier

    async def skip(self, ms: int) -> None:
        """Time passes."""
        self.clock.now += ms
        for key in self.frontier._partitions.calls("", key="visits"):
            for member in await self.link.redis.zrange(key.keys[0], 0, -1):
                await self.link.redis.zincrby(key.keys[0], -ms, member)

    async def aclose(self) -> None:
        await self.frontier.forget()
        await self.link.aclose()


async def standing(address: str, name: str, clock: Clock, *, partitions: int = 1, budget=None) -> Crawl:
    """Open a crawl of that name."""
    link = Standing(await connect(address), clock)
    frontier = Frontier(link, name, budget=budget)
    await frontier.open(partitions=partitions)
    return Crawl(link, clock, frontier)
