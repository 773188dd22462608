"""What every frontier does: in memory, on a server, and on a server in four partitions."""

import inspect

import pytest

from tests.frontier.contract import numbered
from thresher.frontier import Fault, Frontier, HostRelease, Kind, Outcome, Scope
from thresher.frontier.testing import MemoryFrontier
from thresher.frontier.testing.memory_backlog import MemoryBacklog
from thresher.frontier.testing.memory_crawl import MemoryCrawl
from thresher.frontier.testing.memory_fleet import MemoryFleet
from thresher.frontier.testing.memory_inspection import MemoryInspection
from thresher.frontier.testing.memory_operator import MemoryOperator
from thresher.frontier.testing.memory_origins import MemoryOrigins
from thresher.frontier.testing.memory_politeness import MemoryPoliteness
from thresher.frontier.testing.memory_rebuild import MemoryRebuild
from thresher.frontier.testing.memory_workers import MemoryWorkers
from thresher.frontier.verbs.backlog import Backlog
from thresher.frontier.verbs.crawl import Crawl
from thresher.frontier.verbs.fleet import Fleet
from thresher.frontier.verbs.inspection import Inspection
from thresher.frontier.verbs.operator import Operator
from thresher.frontier.verbs.origins import Origins
from thresher.frontier.verbs.politeness import Politeness
from thresher.frontier.verbs.rebuild import Rebuild
from thresher.frontier.verbs.workers import Workers

NOT_IN_MEMORY = {"tail", "has_lost_partition", "sync", "register", "is_gate_open", "call", "one"}
"""A single process has no storage for queues, no parts to lose, no disk to wait for and no calls of a server."""


@pytest.mark.parametrize(
    ("server", "memory"),
    [
        (Frontier, MemoryFrontier),
        (Crawl, MemoryCrawl),
        (Workers, MemoryWorkers),
        (Backlog, MemoryBacklog),
        (Rebuild, MemoryRebuild),
        (Politeness, MemoryPoliteness),
        (Origins, MemoryOrigins),
        (Operator, MemoryOperator),
        (Inspection, MemoryInspection),
        (Fleet, MemoryFleet),
    ],
)
def test_each_client_in_memory_has_the_verbs_of_the_client_of_a_server(server, memory):
    def verbs(of):
        return {
            name: inspect.signature(verb)
            for name, verb in inspect.getmembers(of, inspect.isfunction)
            if not name.startswith("_")
        }

    promised = verbs(server)
    assert verbs(memory) == {name: promised[name] for name in promised.keys() - NOT_IN_MEMORY}


async def test_time_stands_while_calls_are_made_together(worker, found):
    hosts = ("a.test", "b.test", "c.test")
    await worker.frontier.add([known for host in hosts for known in numbered(found, host, 1_000)])
    assert {lease.url.host for lease in await worker.take()} == set(hosts)


# The crawl


async def test_no_page_is_granted_beyond_the_limit(worker, found):
    await worker.frontier.add([found(f"http://{host}.test/{i}") for host in "ab" for i in range(5)])
    leases = await worker.pages(max_pages=3)
    assert len(leases) == 3
    await worker.settle(leases[:1])
    await worker.settle(leases[1:], Outcome.REFUSED)
    assert len(await worker.pages(max_pages=3)) == 2
    assert await worker.take(max_pages=0) == []


async def test_every_exchange_that_is_begun_counts_as_a_request_whatever_comes(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 6))
    gone, failed, unasked, put_off, refused, held = await worker.pages()  # behind a robots.txt
    await worker.settle([gone], Outcome.GONE)
    await worker.settle([failed], Outcome.RETRY, fault=Fault.SERVER)
    await worker.frontier.release([HostRelease(lease=unasked, has_sent_request=False)])
    await worker.settle([unasked], Outcome.REFUSED)
    await worker.frontier.postpone(put_off, 0)
    await worker.settle([refused], Outcome.REFUSED, has_sent_request=False)
    assert (await worker.stats()).requests == 1 + 3
    await worker.frontier.workers.reclaim("w")  # what was granted and never begun
    assert await worker.frontier.postpone(held, 0) is False
    assert (await worker.stats()).requests == 1 + 2


async def test_no_more_is_granted_once_so_many_requests_were_begun(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 9))
    (robots,) = await worker.take(max_requests=3)
    await worker.allow(robots)
    first = await worker.take(max_requests=3)
    assert (robots.kind, len(first)) == (Kind.ROBOTS, 2)
    await worker.settle(first, Outcome.GONE)
    assert await worker.take(max_requests=3) == []
    assert len(await worker.take(max_requests=5)) == 2


async def test_a_worker_that_died_has_made_its_requests(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.pages()
    await worker.frontier.workers.reclaim("w", is_worker_dead=True)
    assert (await worker.stats()).requests == 4


async def test_nothing_is_granted_while_the_gate_is_shut(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    await worker.frontier.backlog.report(follower="p", backlog=0, limit=10)
    await worker.frontier.settle([], archived=11)
    assert (await worker.frontier.backlog.gate_state()).shut
    assert await worker.take() == []
    await worker.frontier.backlog.withdraw("p")
    assert len(await worker.pages()) == 1


async def test_a_forgotten_crawl_knows_nothing(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.settle((await worker.pages())[:1], sketch=1)
    await worker.frontier.operator.drop(Scope.parse("host:b.test"))
    await worker.frontier.crawl.forget()
    await worker.frontier.open()
    assert (await worker.stats()).seen == 0
    assert await worker.frontier.workers.leases("w") == []
    assert await worker.frontier.origins.robots("http://a.test") is None
    assert (await worker.frontier.add([*numbered(found, "a.test", 3), found("http://b.test/")])).added == 4
