"""The counters of a crawl are what is there, whatever a fleet does."""

import asyncio
import random
from itertools import count

import pytest
from redis.asyncio import Redis

from tests.frontier.counters import checked, restarted
from tests.frontier.fixed_clock import paced
from tests.frontier.shelf import Shelf
from thresher.frontier import Fault, Frontier, HostRelease, Kind, Outcome, Rank, Scope, Settlement
from thresher.frontier.link.call import Link

_serial = count()
HOUR = 3_600_000


class Chaos:
    """A fleet that does whatever it likes, and a keeper."""

    NAMES = (*(f"h{i}.test" for i in range(5)), "[::1]", "x.h0.test")
    ACTS = (
        *("add", "lease", "settle", "robots") * 3,
        *("release", "postpone", "reclaim", "hold", "drop", "spill", "refill", "sweep", "restart", "prefer"),
    )

    def __init__(self, frontier, found, redis, seed):
        self.frontier, self.found, self.redis, self.chance = frontier, found, redis, random.Random(seed)
        self.tail, self.serial = frontier.tail(Shelf(age=HOUR), max_in_memory=0), count()
        self.pages, self.asked = [], []

    async def act(self):
        self.chance.shuffle(self.pages)
        await getattr(self, self.chance.choice(self.ACTS))()

    async def add(self):
        origin = f"http://{self.chance.choice(self.NAMES)}{self.chance.choice(['', '', ':81'])}"
        fields = {"depth": self.chance.randrange(4), "interval_s": self.chance.choice([0, 3600])}
        number = self.chance.choice([1, 5, 200])
        await self.frontier.add(
            [self.found(f"{origin}/{next(self.serial)}", **fields) for _ in range(number)]
        )

    async def lease(self):
        worker, lease_ms = self.chance.choice("vw"), self.chance.choice([1, 60_000])
        await paced(self.frontier, self.chance.choice([0, 0, 1]))
        for lease in await self.frontier.lease(
            self.chance.choice([1, 10, 60]), worker=worker, lease_ms=lease_ms
        ):
            (self.pages if lease.kind is Kind.PAGE else self.asked).append(lease)

    async def settle(self):
        some, self.pages = self.pages[:20], self.pages[20:]
        settlements = [
            Settlement(
                lease=lease,
                outcome=self.chance.choice(list(Outcome)),
                fault=self.chance.choice([None, None, *Fault]),
                hold_ms=self.chance.choice([0, 0, 3]),
                retry_after_ms=self.chance.choice([None, 0, 5]),
                sketch=self.chance.choice([None, 1, 2]),
                reason="r",
            )
            for lease in some
        ]
        await self.frontier.settle(settlements)

    async def robots(self):
        some, self.asked = self.asked, []
        for lease in some:
            if self.chance.random() < 0.6:
                rule, ttl_ms = (
                    self.chance.choice(["allow", "disallow", "rules"]),
                    self.chance.choice([0, HOUR]),
                )
                await self.frontier.origins.settle_robots(
                    lease, rule=rule, body=b"x", ttl_ms=ttl_ms, delay_ms=self.chance.choice([None, 1])
                )
            else:
                fault = self.chance.choice([None, *Fault])
                await self.frontier.origins.retry_robots(lease, after_ms=1, fault=fault)

    async def release(self):
        some = self.pages[:10] + self.asked[:1]
        await self.frontier.release([HostRelease(lease=lease, elapsed_ms=1) for lease in some])

    async def postpone(self):
        await self.frontier.postpone_all(
            [
                (HostRelease(lease=lease, has_sent_request=lease.kind is Kind.ROBOTS), 2)
                for lease in self.pages[:3] + self.asked[:1]
            ]
        )

    async def reclaim(self):
        await self.frontier.workers.reclaim(self.chance.choice("vw"))

    async def hold(self):
        await self.frontier.operator.hold(self.chance.choice(self.NAMES), 3)
        await self.frontier.operator.resume(self.chance.choice(self.NAMES))

    async def drop(self):
        if self.chance.random() < 0.2:
            scope = self.chance.choice(["host:h1.test", "prefix:http://h2.test/1", "domain:h0.test"])
            await self.frontier.operator.drop(Scope.parse(scope))

    async def spill(self):
        await self.tail.spill()

    async def refill(self):
        await self.tail.refill()
        if self.chance.random() < 0.3:
            await self.tail.refill_outbox()

    async def sweep(self):
        await self.tail.sweep()
        await asyncio.sleep(0.003)

    async def restart(self):
        await restarted(self.frontier, self.redis)

    async def prefer(self):
        await self.frontier.operator.prefer({"h0.test": self.chance.choice(list(Rank))})


@pytest.mark.parametrize("seed", range(4))
async def test_the_counters_are_what_is_there_whatever_happens(link: Link, found, redis: Redis, seed):
    frontier = await Frontier(link, f"counters-{next(_serial)}").open(partitions=1 + seed % 2)
    chaos = Chaos(frontier, found, redis, seed)
    for _ in range(120):
        await chaos.act()
        await checked(frontier, redis)
    await frontier.crawl.forget()
