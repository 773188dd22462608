"""Whatever happens in whatever order, every URL is in exactly one place."""

import asyncio
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import few_examples
from tests.frontier.fixed_clock import paced
from thresher.frontier import Frontier, HostRelease, Kind, Outcome, Settlement
from thresher.frontier.link.connect import connect

_serial = count()

PAGES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 3)), max_size=5)
STEPS = st.one_of(
    st.tuples(st.just("add"), PAGES),
    st.tuples(st.just("lease"), st.integers(1, 8), st.sampled_from([1, 60_000]), st.sampled_from([0, 1, 3])),
    st.tuples(st.just("release"), st.integers(0, 30)),
    st.tuples(st.just("settle"), st.integers(0, 30), st.sampled_from(list(Outcome)), PAGES),
    st.tuples(
        st.just("robots"), st.integers(0, 30), st.sampled_from([0, 60_000]), st.sampled_from([None, 0, 2])
    ),
    st.tuples(st.just("retry_robots"), st.integers(0, 30)),
    st.tuples(st.just("reclaim")),
    st.tuples(st.just("pause")),
)


class Walk:
    """A crawl driven by drawn steps; settles what it does not hold any more as readily as what it does."""

    def __init__(self, frontier: Frontier, discovery):
        self.frontier = frontier
        self.discovery = discovery
        self.granted = []
        self.added = set()
        self.fetched = []

    def pages(self, drawn):
        found = [self.discovery(f"http://{host}.test/{page}", depth=depth) for host, page, depth in drawn]
        return tuple(found)

    async def step(self, verb, *args):
        await getattr(self, verb)(*args)
        await self.check()

    async def add(self, drawn):
        await self.frontier.add(self.pages(drawn))
        self.added |= {found.url.text for found in self.pages(drawn)}

    async def lease(self, n, lease_ms, delay):
        await paced(self.frontier, delay)
        self.granted += await self.frontier.lease(n, worker="w", lease_ms=lease_ms)

    async def release(self, at):
        await self.frontier.release(
            [HostRelease(lease=lease, elapsed_ms=at) for lease in self.granted[at:][:2]]
        )

    async def settle(self, at, outcome, drawn):
        for lease in self.granted[at:][:1]:
            found = self.pages(drawn)
            settlement = Settlement(
                lease=lease, outcome=outcome, reason="r", discoveries=found, retry_after_ms=1, hold_ms=1
            )
            self.added |= {discovery.url.text for discovery in found}
            if await self.frontier.settle([settlement]):
                assert lease.kind is Kind.PAGE
                self.fetched += [lease.url.text] if outcome is Outcome.FETCHED else []

    async def robots(self, at, ttl_ms, delay_ms):
        for lease in self.granted[at:][:1]:
            await self.frontier.origins.settle_robots(
                lease, rule="allow", body=b"", ttl_ms=ttl_ms, delay_ms=delay_ms
            )

    async def retry_robots(self, at):
        for lease in self.granted[at:][:1]:
            await self.frontier.origins.retry_robots(lease, after_ms=1)

    async def reclaim(self):
        await self.frontier.workers.reclaim("w")

    async def pause(self):
        await asyncio.sleep(0.003)

    async def check(self):
        stats = await self.frontier.stats()
        assert stats.seen == len(self.added)
        assert stats.waiting + stats.leased + stats.later + sum(stats.outcomes.values()) == stats.seen
        assert min(stats.waiting, stats.leased, stats.later, stats.robots) >= 0
        assert len(await self.frontier.workers.leases("w")) == stats.leased + stats.robots
        assert stats.outcomes["fetched"] == len(self.fetched) == len(set(self.fetched))

    async def drain(self):
        """Nothing is ever stuck: an honest worker brings every URL to an end."""
        await self.frontier.workers.reclaim("w")
        await paced(self.frontier, 0)
        while not (await self.frontier.stats()).is_drained:
            for lease in await self.frontier.lease(100, worker="w", lease_ms=60_000):
                if lease.kind is Kind.ROBOTS:
                    await self.frontier.origins.settle_robots(
                        lease, rule="allow", body=b"", ttl_ms=60_000, delay_ms=0
                    )
                else:
                    assert await self.frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED)]) == 1
                    self.fetched.append(lease.url.text)
        await self.check()


@settings(max_examples=few_examples(20, of=60), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=10, max_size=40), partitions=st.sampled_from([1, 3]))
def test_every_url_is_waiting_leased_later_or_settled_and_none_is_fetched_twice(
    address, found, steps, partitions
):
    async def run():
        link = await connect(address)
        frontier = Frontier(link, f"walk-{next(_serial)}")
        try:
            await frontier.open(partitions=partitions)
            walk = Walk(frontier, found)
            for step in steps:
                await walk.step(*step)
            await walk.drain()
        finally:
            await frontier.crawl.forget()
            await link.aclose()

    asyncio.run(run())
