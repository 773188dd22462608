"""Whatever happens in whatever order, the server and the model in memory tell the same story.

The server's clock stands where the machine wants it: before every call the partition's steady clock is set to the
machine's time, and the moment of the last call is put into the future, so that the call advances it by nothing.
"""

import asyncio
import sys
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from frontier import Discovery, Frontier, Kind, Outcome, Scope, Settlement, canonical
from frontier.connect import connect
from frontier.memory import MemoryFrontier

_serial = count()

START = 1_800_000_000_000
SECOND, HOUR, DAY = 1_000, 3_600_000, 86_400_000
ALL = 1_000  # more than can be ready at once
WORKERS = ("v", "w")
HOSTS = ("a.test", "b.test", "c.test", "www.c.test")
ORIGINS = [f"{scheme}://{host}" for host in HOSTS for scheme in ("http", "https")]

pages = st.lists(
    st.builds(
        lambda origin, page, depth, priority: Discovery(
            url=(url := canonical(f"{origin}/{page}")),
            scope=Scope.of("host", url),
            depth=depth,
            priority=priority,
        ),
        st.sampled_from(ORIGINS),
        st.integers(0, 12),
        st.integers(0, 3),
        st.integers(0, 1),
    ),
    max_size=6,
)
workers = st.sampled_from(WORKERS)
spans = st.sampled_from([0, SECOND, 7 * SECOND, 30 * SECOND, 61 * SECOND])


class Standing:
    """A client whose server's clock stands."""

    def __init__(self, redis, clock):
        self._redis = redis
        self._clock = clock

    async def fcall(self, name, n, *args):
        await self._redis.hset(args[9], "test_now", self._clock())
        return await self._redis.fcall(name, n, *args)

    def __getattr__(self, name):
        return getattr(self._redis, name)


def plain(leases):
    """Leases without what differs between two frontiers: tokens, and the order between hosts."""
    return sorted((replace(lease, token=0) for lease in leases), key=lambda lease: lease.url.host)


class Machine(RuleBasedStateMachine):
    """One crawl on a server and one in memory, which are told the same."""

    address = ""
    partitions = 1
    leases = Bundle("leases")

    def __init__(self):
        super().__init__()
        self.now = START
        self.run = asyncio.Runner().run
        self.tokens = set()
        self.redis = self.run(connect(self.address))
        self.crawl = Frontier(Standing(self.redis, lambda: self.now), f"model-{next(_serial)}")
        self.model = MemoryFrontier(clock=lambda: self.now)
        self.run(self.crawl.open())

    def teardown(self):
        try:
            if sys.exc_info()[0] is None:
                self.drain()
        finally:
            self.run(self.crawl.drop())
            self.run(self.redis.aclose())

    def both(self, verb, *args, **named):
        """Tell both; what each answers."""
        return (
            self.run(getattr(self.crawl, verb)(*args, **named)),
            self.run(getattr(self.model, verb)(*args, **named)),
        )

    def same(self, verb, *args, **named):
        """Tell both; they answer the same."""
        real, model = self.both(verb, *args, **named)
        assert real == model
        return real

    @initialize(found=pages)
    def seed(self, found):
        self.same("add", found)

    @rule(found=pages)
    def add(self, found):
        self.same("add", found)

    @rule(
        target=leases,
        n=st.sampled_from([1, 2, ALL]),
        worker=workers,
        lease_ms=st.sampled_from([SECOND, 60 * SECOND]),
        min_delay_ms=st.sampled_from([0, SECOND, 5 * SECOND]),
        limit=st.sampled_from([None, None, 3]),
    )
    def lease(self, n, worker, lease_ms, min_delay_ms, limit):
        real, model = self.both(
            "lease", n if self.partitions == 1 else ALL, worker=worker, lease_ms=lease_ms,
            min_delay_ms=min_delay_ms, limit=limit,
        )
        if self.partitions == 1:
            assert [replace(lease, token=0) for lease in real] == [replace(lease, token=0) for lease in model]
        assert plain(real) == plain(model)
        new = {lease.token for lease in real}
        assert len(new) == len(real)
        assert self.tokens.isdisjoint(new)
        self.tokens |= new
        by_url = {(lease.url.text, lease.kind): lease for lease in model}
        return multiple(*((lease, by_url[lease.url.text, lease.kind]) for lease in real))

    @rule(lease=leases, lease_ms=spans)
    def renew(self, lease, lease_ms):
        for crawl, held in zip((self.crawl, self.model), lease, strict=True):
            self.run(crawl.renew([held], lease_ms))

    @rule(lease=leases)
    def release(self, lease):
        for crawl, held in zip((self.crawl, self.model), lease, strict=True):
            self.run(crawl.release([held]))

    @rule(
        lease=leases,
        outcome=st.sampled_from(Outcome),
        reason=st.sampled_from(["", "r"]),
        found=pages,
        wait=st.none() | spans,
        hold=spans,
    )
    def settle(self, lease, outcome, reason, found, wait, hold):
        accepted = [
            self.run(
                crawl.settle(
                    [
                        Settlement(
                            lease=held, outcome=outcome, reason=reason, discoveries=tuple(found),
                            retry_after_ms=wait, hold_ms=hold,
                        )
                    ]
                )
            )
            for crawl, held in zip((self.crawl, self.model), lease, strict=True)
        ]
        assert accepted[0] == accepted[1]

    @rule(lease=leases, ttl_ms=st.sampled_from([0, DAY * 1000]), delay_ms=st.sampled_from([None, 0, 2 * SECOND]))
    def settle_robots(self, lease, ttl_ms, delay_ms):
        for crawl, held in zip((self.crawl, self.model), lease, strict=True):
            self.run(crawl.settle_robots(held, rule="rules", body=b"x", ttl_ms=ttl_ms, delay_ms=delay_ms))

    @rule(lease=leases, after_ms=spans)
    def retry_robots(self, lease, after_ms):
        for crawl, held in zip((self.crawl, self.model), lease, strict=True):
            self.run(crawl.retry_robots(held, after_ms=after_ms))

    @rule(worker=workers)
    def reclaim(self, worker):
        self.same("reclaim", worker)

    @rule(ms=st.sampled_from([1, SECOND, 5 * SECOND, 61 * SECOND, HOUR]))
    def pass_time(self, ms):
        self.now += ms

    @invariant()
    def they_agree(self):
        self.same("stats")
        self.same("holders")
        for worker in WORKERS:
            real, model = self.both("leases", worker)
            assert plain(real) == plain(model)
        for origin in ORIGINS[:2]:
            self.same("robots", origin)

    def drain(self):
        """Nothing is ever stuck: an honest worker brings every URL to an end."""
        for worker in WORKERS:
            self.reclaim(worker)
        while not self.run(self.model.stats()).drained:
            self.now += HOUR
            real, model = self.both("lease", ALL, worker="w", lease_ms=HOUR, min_delay_ms=0)
            assert plain(real) == plain(model)
            for crawl, granted in ((self.crawl, real), (self.model, model)):
                for lease in granted:
                    if lease.kind is Kind.ROBOTS:
                        self.run(
                            crawl.settle_robots(lease, rule="allow", body=b"", ttl_ms=DAY * 1000, delay_ms=0)
                        )
                    else:
                        done = Settlement(lease=lease, outcome=Outcome.FETCHED)
                        assert self.run(crawl.settle([done])) == 1
            self.they_agree()


@pytest.mark.parametrize("partitions", [1])
def test_the_server_and_the_model_agree_after_every_step(address, partitions):
    class Here(Machine):
        pass

    Here.address, Here.partitions = address, partitions
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
