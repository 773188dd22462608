"""The gate between a crawl and its follower: shut for everybody, opened by room, gone with the last report."""

import asyncio
import multiprocessing
import os
import signal
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import few_examples
from tests.expect import expect
from thresher.frontier import Frontier, Kind, Outcome, Settlement
from thresher.frontier.gate_state import GateState
from thresher.frontier.link.connect import connect

SPAWN = multiprocessing.get_context("spawn")
_serial = count()


async def gate(frontier: Frontier) -> GateState:
    return expect(GateState, await frontier.backlog.gate_state())


async def test_nobody_follows_a_crawl_at_first(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/1")])
    await frontier.settle([], archived=10**15)
    assert await frontier.backlog.gate_state() is None
    assert len(await grants(frontier).pages()) == 1


async def test_a_report_tells_how_far_the_crawl_is_ahead(frontier: Frontier):
    told = await frontier.backlog.report(follower="p", backlog=70, limit=100)
    assert (told.follower, told.backlog, told.limit, told.estimate, told.shut) == ("p", 70, 100, 70, False)
    await frontier.settle([], archived=25)
    flow = await gate(frontier)
    assert (flow.backlog, flow.estimate, flow.shut, flow.reported_ms) == (70, 95, False, told.reported_ms)


async def test_what_is_archived_shuts_the_gate_beyond_the_limit_and_no_sooner(frontier: Frontier):
    await frontier.backlog.report(follower="p", backlog=0, limit=100)
    await frontier.settle([], archived=100)
    assert not (await gate(frontier)).shut
    await frontier.settle([], archived=1)
    assert (await gate(frontier)).shut


async def test_a_shut_gate_opens_at_four_fifths_of_the_limit(frontier: Frontier):
    assert (await frontier.backlog.report(follower="p", backlog=101, limit=100)).shut
    assert (await frontier.backlog.report(follower="p", backlog=81, limit=100)).shut
    assert not (await frontier.backlog.report(follower="p", backlog=80, limit=100)).shut
    assert not (await frontier.backlog.report(follower="p", backlog=100, limit=100)).shut


async def test_while_it_is_shut_neither_pages_nor_robots_are_leased(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/1"), found("http://b.test/1")])
    worker = grants(frontier)
    (robots, *_) = await worker.take(1)
    await worker.allow(robots)
    await frontier.backlog.report(follower="p", backlog=1, limit=0)
    assert await worker.take() == []
    stats = await frontier.stats()
    assert (stats.waiting, stats.is_drained) == (2, False)
    await frontier.backlog.report(follower="p", backlog=0, limit=0)
    assert {lease.kind for lease in await worker.take()} == {Kind.PAGE, Kind.ROBOTS}


async def test_what_is_leased_already_is_settled_as_ever(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/1")])
    (lease,) = await grants(frontier).pages()
    await frontier.backlog.report(follower="p", backlog=1, limit=0)
    settled = [Settlement(lease=lease, outcome=Outcome.FETCHED)]
    assert await frontier.settle(settled, archived=5) == 1
    assert (await frontier.stats()).is_drained
    assert (await gate(frontier)).estimate == 6


async def test_a_stale_settlement_counts_its_bytes_all_the_same(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/1")])
    (lease,) = await grants(frontier).pages()
    await frontier.workers.reclaim("w")
    await frontier.backlog.report(follower="p", backlog=0, limit=9)
    assert await frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED)], archived=5) == 0
    assert (await gate(frontier)).estimate == 5


async def test_a_follower_takes_back_its_own_report_and_no_other(frontier: Frontier):
    await frontier.backlog.report(follower="p", backlog=1, limit=0)
    await frontier.backlog.withdraw("q")
    assert (await gate(frontier)).shut
    await frontier.backlog.withdraw("p")
    assert await frontier.backlog.gate_state() is None
    await frontier.backlog.withdraw("p")


async def test_the_newest_report_counts_whoever_makes_it(frontier: Frontier):
    await frontier.backlog.report(follower="killed", backlog=500, limit=100)
    flow = await frontier.backlog.report(follower="next", backlog=10, limit=100)
    assert (flow.follower, flow.shut) == ("next", False)


async def test_the_bytes_outlive_the_reports(frontier: Frontier):
    await frontier.settle([], archived=1000)
    await frontier.backlog.report(follower="p", backlog=0, limit=100)
    await frontier.backlog.withdraw("p")
    await frontier.settle([], archived=1000)
    assert (await frontier.backlog.report(follower="p", backlog=7, limit=100)).estimate == 7


async def test_a_dropped_crawl_has_no_gate(frontier: Frontier):
    await frontier.backlog.report(follower="p", backlog=1, limit=0)
    await frontier.crawl.forget()
    await frontier.open()
    assert await frontier.backlog.gate_state() is None


async def test_the_gate_holds_for_a_whole_fleet_at_once(frontier: Frontier, address, found, grants):
    await frontier.add([found(f"http://{n}.test/{page}") for n in range(40) for page in range(5)])
    await frontier.backlog.report(follower="p", backlog=0, limit=1000)
    late = []

    async def work(name):
        link = await connect(address)
        try:
            mine = await Frontier(link, frontier.crawl.name).open()
            worker = grants(mine, name)
            for _ in range(100):
                shut = (await gate(mine)).shut
                leases = await worker.take(4)
                late.extend(leases if shut else [])
                for lease in leases:
                    if lease.kind is Kind.ROBOTS:
                        await worker.allow(lease)
                pages = [lease for lease in leases if lease.kind is Kind.PAGE]
                done = [Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in pages]
                await mine.settle(done, archived=30 * len(pages))
        finally:
            await link.aclose()

    await asyncio.gather(*(work(f"w{n}") for n in range(5)))
    assert late == []
    stats = await frontier.stats()
    flow = await gate(frontier)
    assert flow.shut
    assert flow.estimate == 30 * stats.outcomes["fetched"]
    # Beyond the limit by no more than what was leased when it was reached.
    assert 1000 < flow.estimate <= 1000 + 5 * 4 * 30


def follower(address, crawl, ttl_ms, said):
    """A process that finds everything processed, again and again."""

    async def report():
        link = await connect(address)
        frontier = Frontier(link, crawl)
        while True:
            await frontier.backlog.report(follower="p", backlog=0, limit=100, ttl_ms=ttl_ms)
            said.set()
            await asyncio.sleep(0.02)

    asyncio.run(report())


@pytest.fixture
def following(address, frontier: Frontier):
    running = []

    async def start(ttl_ms):
        said = SPAWN.Event()
        process = SPAWN.Process(
            target=follower, args=(address, frontier.crawl.name, ttl_ms, said), daemon=True
        )
        process.start()
        running.append(process)
        assert await asyncio.to_thread(said.wait, 60)
        return process

    yield start
    for process in running:
        process.kill()
        process.join()


async def opened(frontier):
    async with asyncio.timeout(30):
        while (flow := await frontier.backlog.gate_state()) is not None and flow.shut:  # noqa: ASYNC110 - the server says when
            await asyncio.sleep(0.01)
    return flow


async def test_a_follower_that_is_stopped_leaves_the_gate_shut_until_it_goes_on(
    frontier: Frontier, found, grants, following
):
    await frontier.add([found("http://a.test/1")])
    process = await following(600_000)
    os.kill(process.pid, signal.SIGSTOP)
    await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED)
    await frontier.settle([], archived=1000)
    for _ in range(20):
        assert await grants(frontier).take() == []
        await asyncio.sleep(0.01)
    os.kill(process.pid, signal.SIGCONT)
    assert (await opened(frontier)).estimate == 0
    assert len(await grants(frontier).pages()) == 1


async def test_a_follower_that_is_dead_frees_the_crawl_when_its_time_is_over(
    frontier: Frontier, found, grants, following
):
    await frontier.add([found("http://a.test/1")])
    process = await following(1_500)
    process.kill()
    process.join()
    await frontier.settle([], archived=1000)
    assert (await gate(frontier)).shut
    assert await grants(frontier).take() == []
    assert await opened(frontier) is None
    assert len(await grants(frontier).pages()) == 1


BYTES = st.integers(0, 2**50) | st.integers(0, 20)
STEPS = st.one_of(
    st.tuples(st.just("follow"), st.sampled_from("pq"), BYTES, BYTES, st.booleans()),
    st.tuples(st.just("archive"), BYTES),
    st.tuples(st.just("unfollow"), st.sampled_from("pq")),
)


class Model:
    """The rules of `frontier.gate_state`, as plainly as they can be said."""

    def __init__(self):
        self.report = None
        self.shut = False

    def follow(self, who, backlog, limit):
        if self.report is None:
            self.shut = False
        self.report = [who, limit, backlog]
        self.shut = backlog > limit or (self.shut and 5 * backlog > 4 * limit)

    def archive(self, size):
        if self.report is not None:
            self.report[2] += size
            self.shut = self.shut or self.report[2] > self.report[1]

    def end(self):
        self.report = None


@settings(max_examples=few_examples(50, of=150), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, max_size=25))
def test_the_gate_is_what_the_rules_say_after_any_reports_and_bytes(address, steps):
    async def run():
        link = await connect(address)
        frontier = Frontier(link, f"flow-{next(_serial)}")
        model = Model()
        try:
            await frontier.open()
            for verb, *args in steps:
                if verb == "follow":
                    who, backlog, limit, brief = args
                    model.follow(who, backlog, limit)
                    ttl_ms = 1 if brief else 600_000
                    await frontier.backlog.report(follower=who, backlog=backlog, limit=limit, ttl_ms=ttl_ms)
                    if brief:
                        await asyncio.sleep(0.003)
                        model.end()
                elif verb == "archive":
                    model.archive(*args)
                    await frontier.settle([], archived=args[0])
                else:
                    if model.report is not None and model.report[0] == args[0]:
                        model.end()
                    await frontier.backlog.withdraw(*args)
                flow = await frontier.backlog.gate_state()
                if model.report is None:
                    assert flow is None
                else:
                    assert flow
                    told = [flow.follower, flow.limit, flow.estimate, flow.shut]
                    assert told == [*model.report, model.shut]
        finally:
            await frontier.crawl.forget()
            await link.aclose()

    asyncio.run(run())
