"""Hosts that are held, ranked, resumed or dropped, in every frontier."""

import pytest

from tests.frontier.contract import HOUR, MINUTE, Worker, numbered
from thresher.frontier import Frontier, Rank, Scope


async def test_a_held_host_is_asked_nothing_until_it_is_resumed(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    assert await worker.frontier.operator.hold("a.test", 2 * HOUR)
    assert await worker.frontier.operator.hold("a.test", HOUR)
    await worker.crawl.skip(2 * HOUR - 1)
    assert await worker.take() == []
    assert await worker.frontier.operator.resume("a.test")
    assert len(await worker.pages()) == 3


@pytest.mark.parametrize("reason", ["operator", "login_ended"])
async def test_a_held_host_says_why(worker, found, reason):
    await worker.frontier.add(numbered(found, "a.test", 1))
    assert await worker.frontier.operator.hold("a.test", HOUR, reason)
    (held,) = [host async for host in worker.frontier.inspection.hosts(is_held=True)]
    assert held.rest.reason == reason


async def test_a_host_that_nobody_found_is_neither_held_nor_resumed(worker):
    assert not await worker.frontier.operator.hold("a.test", HOUR)
    assert not await worker.frontier.operator.resume("a.test")
    assert (await worker.stats()).hosts == 0


async def test_a_resumed_host_still_waits_its_delay(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.settle(await worker.pages(1, delay=MINUTE), hold_ms=HOUR)
    await worker.frontier.operator.resume("a.test")
    await worker.crawl.skip(MINUTE - 1)
    assert await worker.take(delay=MINUTE) == []
    await worker.crawl.skip(2)
    assert len(await worker.take(delay=MINUTE)) == 1


async def test_hosts_of_a_higher_rank_are_asked_before_all_others(worker, found):
    await worker.frontier.add([found(f"http://{host}.a.test/") for host in "xyz"])
    await worker.frontier.operator.prefer({"a.test": Rank.LAST})
    await worker.frontier.operator.prefer({"a.test": Rank.USUAL})
    await worker.frontier.operator.hold("y.a.test", 1)
    await worker.crawl.skip(2)
    (first, *_) = await worker.take(2)
    assert first.url.host == "x.a.test"


async def test_a_rank_is_that_of_the_whole_domain_and_of_hosts_to_come(crawl, found):
    if isinstance(crawl.frontier, Frontier) and crawl.frontier.crawl.partitions.number > 1:
        pytest.skip("hosts of two partitions have no order between them")
    worker = Worker(crawl)
    await worker.frontier.add([found(f"http://{host}/") for host in ("a.test", "b.test", "www.b.test")])
    await worker.frontier.operator.prefer({"b.test": Rank.FIRST, "c.test": Rank.RICH, "a.test": Rank.LAST})
    await worker.frontier.add([found(f"http://{host}/") for host in ("c.test", "d.test", "x.b.test")])
    hosts = [lease.url.host for lease in await worker.take()]
    assert hosts == ["b.test", "www.b.test", "x.b.test", "c.test", "d.test", "a.test"]


@pytest.mark.parametrize(
    ("scope", "at_once", "left"),
    [
        ("host:a.test", 2, {"www.a.test", "b.test"}),
        ("domain:a.test", 4, {"b.test"}),
        ("prefix:http://a.test/x/", 0, {"a.test", "www.a.test", "b.test"}),
        ("any", 6, set()),
    ],
)
async def test_what_is_dropped_is_neither_granted_nor_let_in(worker, found, scope, at_once, left):
    scope = Scope.parse(scope)
    everything = [
        found(f"http://{host}/{path}") for host in ("a.test", "www.a.test", "b.test") for path in ("x/1", "y")
    ]
    await worker.frontier.add(everything)
    assert await worker.frontier.operator.drop(scope) == at_once
    leases = await worker.pages()
    assert {lease.url.host for lease in leases} == left
    assert not any(scope.admits(lease.url) for lease in leases)
    dropped = sum(scope.admits(known.url) for known in everything)
    assert (await worker.stats()).reasons == {"refused:dropped": dropped}
    new = await worker.frontier.add([found("http://a.test/x/new")])
    assert (new.added, new.discarded) == (0, {"dropped": 1})
    assert await worker.frontier.operator.barred_scopes() == [scope]
    await worker.frontier.operator.undrop(scope)
    assert await worker.frontier.operator.barred_scopes() == []
    assert (await worker.frontier.add([found("http://a.test/x/new")])).added == 1
