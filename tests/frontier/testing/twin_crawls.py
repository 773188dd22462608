"""One crawl on a server and one in memory, which are told the same and answer the same."""

import asyncio
import sys
import time
from dataclasses import replace
from itertools import count
from operator import attrgetter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.expect import expect
from tests.frontier.contract import DAY, HOUR, MINUTE, SECOND
from tests.frontier.fixed_clock import Clock, memory_crawl, paced, server_crawl
from tests.frontier.testing.crawl_examples import (
    AT,
    BEFORE,
    ORIGINS,
    WORKERS,
    actions,
    ends,
    gaps,
    pages,
    policies,
    spans,
    workers,
)
from thresher.frontier import (
    Budget,
    Fault,
    HostRelease,
    Kind,
    Outcome,
    RestoredPage,
    Settlement,
    TakeoverError,
)
from thresher.frontier.testing.memory_frontier import MemoryFrontier

_serial = count()

ALWAYS = 1_000 * DAY
ALL = 1_000  # more than can be ready at once


async def answered(call):
    """What a call answers; where its worker's name was taken over, that."""
    try:
        return await call
    except TakeoverError as refusal:
        return str(refusal)


def plain(leases):
    """Leases without what may differ between two frontiers: tokens, and the order between hosts."""
    return sorted((replace(lease, token=0) for lease in leases), key=lambda lease: lease.url.host)


def identified(lease):
    return lease.url.text, lease.kind, lease.generation, lease.again


class Machine(RuleBasedStateMachine):
    """One crawl on a server and one in memory, which are told the same."""

    address = ""
    partitions = 1

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner()
        self.run = self.runner.run
        self.tokens = set()
        self.pairs = []
        self.has_scheduled = False
        self.real: Any = None

    @initialize(
        budget=st.none()
        | st.builds(Budget, host=st.just(5), domain=st.just(7), hosts=st.sampled_from([1, 4096])),
        policy=policies,
        found=pages,
    )
    def begin(self, budget, policy, found):
        self.clock = Clock(int(time.time() * 1000))
        name = f"model-{next(_serial)}"
        self.real = self.run(
            server_crawl(
                self.address, name, self.clock, partitions=self.partitions, budget=budget, policy=policy
            )
        )
        self.model = self.run(memory_crawl(self.clock, budget, policy))
        self.both("add", found)

    def teardown(self):
        with self.runner:
            if self.real is None:
                return
            try:
                if sys.exc_info()[0] is None:
                    self.drain()
            finally:
                self.run(self.real.aclose())

    def tell(self, verb, *told, **named):
        """Tell each of the two frontiers its own, at the same moment."""
        frontiers = (self.real.frontier, self.model.frontier)
        return [
            self.run(answered(attrgetter(verb)(frontier)(*args, **named)))
            for frontier, args in zip(frontiers, told or ((), ()), strict=True)
        ]

    def both(self, verb, *args, **named):
        """Tell both the same; they answer the same."""
        real, model = self.tell(verb, args, args, **named)
        assert real == model
        return real

    def pair(self, verb, pair, value, *args, **named):
        """Tell both the same of a lease of each; they answer the same."""
        real, model = self.tell(verb, *((value(lease), *args) for lease in pair), **named)
        assert real == model
        return real

    def lease(self, n, worker, lease_ms, min_delay_ms, limit, more=None):
        stats = self.both("stats")
        self.has_scheduled |= stats.scheduled > 0
        requests = None if more is None else stats.requests + more
        if self.partitions > 1 or self.has_scheduled:
            n, limit, requests = ALL, None, None
        self.clock.now += 1
        self.pace(min_delay_ms)
        real, model = self.tell(
            "lease",
            (n,),
            (n,),
            worker=worker,
            lease_ms=lease_ms,
            max_pages=limit,
            max_requests=requests,
        )
        if isinstance(real, str):
            assert real == model
            return []
        assert requests is None or len(real) <= expect(int, more)
        self.same_times(real.soonest_ms, model.soonest_ms, granted=len(real))
        if self.has_scheduled:
            # Visits fall due in the order of the server's TIME, which passes while the test's clock stands.
            real, model = sorted(real, key=identified), sorted(model, key=identified)
        elif self.partitions == 1:
            assert [lease.url.text for lease in real] == [lease.url.text for lease in model]
        assert plain(real) == plain(model)
        tokens = {lease.token for lease in real}
        assert len(tokens) == len(real)
        assert self.tokens.isdisjoint(tokens)
        self.tokens |= tokens
        of_model = {identified(lease): lease for lease in model}
        pairs = [(lease, of_model[identified(lease)]) for lease in real]
        pairs.sort(key=lambda pair: pair[0].url.host)
        self.pairs += pairs
        return pairs

    def pace(self, delay_ms):
        for crawl in (self.real, self.model):
            self.run(paced(crawl.frontier, delay_ms))

    def same_times(self, real, model, granted=0):
        """Both name the same time to ask again. What is due by TIME is due a little sooner on a server, and of a full
        answer, which one gives at other numbers, nothing more is said than that there may be more.
        """
        if granted < ALL and not self.both("stats").scheduled and self.partitions == 1:
            assert real == model

    def end(self, pair, end):
        lease = pair[0]
        if end.how == "leave":
            return
        if end.how == "postpone":
            self.pair(
                "postpone",
                pair,
                lambda lease: lease,
                end.wait or 0,
                has_sent_request=end.asked,
                is_worker_dead=end.died,
            )
            return
        if end.how == "enter":
            wait = self.pair("politeness.acquire_address", pair, lambda lease: lease, end.address)
            if wait:
                self.pair("postpone", pair, lambda lease: lease, 0 if isinstance(wait, str) else wait)
                return
            if end.released:
                self.both("politeness.restart_address_delays", {end.address})
        if end.released:
            asked = end.outcome is not Outcome.REFUSED
            over = [[HostRelease(lease=one, elapsed_ms=end.elapsed, has_sent_request=asked)] for one in pair]
            self.same_times(*self.tell("release", *((one,) for one in over)))
        if (lease.kind is Kind.ROBOTS) == (end.how == "other"):
            self.settle(pair, end)
        elif end.how == "retry":
            self.pair(
                "origins.retry_robots",
                pair,
                lambda lease: lease,
                after_ms=end.wait,
                fault=end.fault,
                reason=end.reason,
                is_worker_dead=end.died,
            )
        else:
            self.pair(
                "origins.settle_robots",
                pair,
                lambda lease: lease,
                rule="rules",
                body=b"x" * 20,
                ttl_ms=0 if end.stale else ALWAYS,
                delay_ms=end.delay,
                fault=end.fault if end.stale else None,
                reason=end.reason,
                hold_ms=end.hold if end.stale else 0,
                is_worker_dead=end.died,
            )

    def settle(self, pair, end):
        ended = [
            Settlement(
                lease=lease,
                outcome=Outcome.RETRY if end.how == "retry" else end.outcome,
                reason=end.reason,
                discoveries=end.found,
                retry_after_ms=end.wait,
                hold_ms=end.hold,
                fault=end.fault,
                sketch=end.sketch,
                has_sent_request=end.asked,
            )
            for lease in pair
        ]
        self.clock.now += (
            1  # no two pages are to be tried again at the same moment: their order would be of no meaning
        )
        accepted = [
            self.run(answered(crawl.frontier.settle([settlement], is_worker_dead=end.died)))
            for crawl, settlement in zip((self.real, self.model), ended, strict=True)
        ]
        assert accepted[0] == accepted[1]

    @rule(found=pages)
    def add(self, found):
        self.both("add", found)

    @rule(
        times=st.integers(1, 10),
        n=st.sampled_from([1, 2, ALL, ALL]),
        worker=workers,
        lease_ms=st.sampled_from([SECOND, MINUTE]),
        min_delay_ms=st.sampled_from([0, 200, SECOND, 5 * SECOND]),
        limit=st.sampled_from([None, None, None, 3]),
        more=st.sampled_from([None, None, None, 0, 2]),
        ends=st.lists(ends, min_size=1, max_size=2),
        gap=gaps,
    )
    def work(self, times, n, worker, lease_ms, min_delay_ms, limit, more, ends, gap):
        for _ in range(times):
            for i, pair in enumerate(self.lease(n, worker, lease_ms, min_delay_ms, limit, more)):
                self.end(pair, ends[i % len(ends)])
            self.both("stats")
            self.skip(gap)

    @rule(
        fault=st.sampled_from(Fault),
        how=st.sampled_from(["settle", "retry"]),
        end=ends,
        times=st.integers(1, 10),
        delay=st.sampled_from([0, SECOND]),
        gap=st.sampled_from([BEFORE, AT, AT, AT]),
    )
    def fail(self, fault, how, end, times, delay, gap):
        end = replace(end, fault=fault, how=how)
        self.work(times, ALL, "w", MINUTE, delay, None, None, [end], gap)

    @precondition(lambda self: self.pairs)
    @rule(ago=st.integers(0, 40), end=ends)
    def do_with_an_old_lease(self, ago, end):
        self.end(self.pairs[-1 - ago % len(self.pairs)], end)

    @precondition(lambda self: self.pairs)
    @rule(ago=st.integers(0, 40), lease_ms=spans)
    def renew(self, ago, lease_ms):
        self.pair("renew", self.pairs[-1 - ago % len(self.pairs)], lambda lease: [lease], lease_ms)

    @rule(action=actions)
    def do(self, action):
        verb, args, named = action
        real, model = self.tell(verb, args, args, **named)
        if verb == "backlog.report":
            real, model = replace(real, reported_ms=0), replace(model, reported_ms=0)
        assert real == model

    @rule(found=pages)
    def restore(self, found):
        self.clock.now += 1  # as for what is to be tried again: only one page is visited again at a time
        visited = next((page for page in found if page.interval_s), None)
        restored = [
            RestoredPage(
                discovery=page,
                outcome=Outcome.FETCHED if page.depth else Outcome.FAILED,
                reason="r" * (page.depth % 2),
                next_visit=page if page is visited else None,
                due_in_ms=page.interval_s * 1000,
            )
            for page in found
        ]
        self.both("rebuild.restore", restored)

    @rule(n=st.sampled_from([1, 3, 100]))
    def log(self, n):
        """What was settled with no worker is told by both, and forgotten once it is logged."""
        told = ([], [])
        for crawl, found in zip((self.real, self.model), told, strict=True):
            while (batch := self.run(crawl.frontier.unlogged_batch(n))).settlements:
                self.run(crawl.frontier.acknowledge_batch(batch))
                found += [replace(page, at_ms=0) for page in batch.settlements]
        real, model = (sorted(found, key=repr) for found in told)
        assert real == model

    @rule(gap=gaps)
    def skip(self, gap):
        if gap in {BEFORE, AT}:
            crawl, now = expect(MemoryFrontier, self.model.frontier).crawl.state, self.clock.now + 1
            events = [due for due, _ in crawl.later]
            events += [promise.deadline for promise in crawl.open_leases.values()]
            events += [host.turn for host in crawl.hosts.values() if host.turn is not None]
            gap = min((at for at in events if at > now), default=now) - now - (gap == BEFORE)
        self.run(self.real.skip(gap))

    @invariant()
    def they_agree(self):
        if self.real is None:
            return
        stats = self.both("stats")
        self.has_scheduled |= stats.scheduled > 0
        settled = sum(stats.outcomes.values())
        assert stats.waiting + stats.leased + stats.later + settled == stats.seen
        self.both("workers.holders")
        self.both("workers.alive", WORKERS)
        for worker in WORKERS:
            real, model = self.tell("workers.leases", (worker,), (worker,))
            assert plain(real) == plain(model)
        for origin in ORIGINS[:2]:
            self.both("origins.robots", origin)
        real, model = self.tell("workers.stalls")
        assert sorted(real) == sorted(model)
        self.both("workers.outages")
        self.both("workers.figures")
        real, model = self.tell("origins.responsive", (ALL,), (ALL,))
        assert sorted(real) == sorted(model)
        real, model = self.tell("backlog.gate_state")
        assert (real and replace(real, reported_ms=0)) == (model and replace(model, reported_ms=0))

    @invariant()
    def every_url_is_in_one_place(self):
        if self.real is None:
            return
        found = self.run(self.real.places())
        flat = [url for urls in found.values() for url in urls]
        assert len(flat) == len(set(flat))
        stats = self.both("stats")
        places = (stats.waiting, stats.leased, stats.later, stats.scheduled)
        assert tuple(len(found[place]) for place in ("waiting", "leased", "later", "visits")) == places

    def drain(self):
        """Nothing is ever stuck: an honest worker brings every URL to an end."""
        self.both("backlog.withdraw", "p")
        for worker in WORKERS:
            self.both("workers.reclaim", worker, is_worker_dead=True)
        while not self.both("stats").is_drained:
            self.skip(3 * HOUR)
            for pair in self.lease(ALL, "x", HOUR, 0, None):
                if pair[0].kind is Kind.ROBOTS:
                    rules = {"rule": "allow", "body": b"", "ttl_ms": ALWAYS, "delay_ms": 0}
                    self.pair("origins.settle_robots", pair, lambda lease: lease, **rules)
                else:
                    done = self.pair(
                        "settle", pair, lambda lease: [Settlement(lease=lease, outcome=Outcome.GONE)]
                    )
                    assert done == 1
        self.they_agree()
