"""The frontier knows which workers are alive by their heartbeats, and refuses workers whose names were taken over."""

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis

from thresher.frontier import Frontier, HostRelease, Kind, Outcome, Settlement, TakeoverError


async def test_a_worker_is_alive_from_its_first_heartbeat_for_as_long_as_the_last_one_says(frontier):
    assert await frontier.workers.alive(["w", "v"]) == set()
    await frontier.workers.send_heartbeat("w")
    await frontier.workers.send_heartbeat("v")
    assert await frontier.workers.alive(["w", "v", "u"]) == {"w", "v"}
    await frontier.workers.send_heartbeat("w", 1)
    await asyncio.sleep(0.005)
    assert await frontier.workers.alive(["w", "v"]) == {"v"}
    await frontier.workers.send_heartbeat("w")
    assert await frontier.workers.alive(["w", "v"]) == {"w", "v"}


async def test_a_worker_that_has_left_does_not_live(frontier: Frontier):
    await frontier.workers.send_heartbeat("w")
    await frontier.workers.deregister("w")
    await frontier.workers.deregister("never heard of")
    assert await frontier.workers.alive(["w"]) == set()


async def test_a_worker_that_waits_for_its_storage_says_so_while_it_lives(frontier: Frontier):
    assert await frontier.workers.stalls() == []
    await frontier.workers.send_heartbeat("w", stalled_ms=5_000)
    await frontier.workers.send_heartbeat("v")
    (waited,) = await frontier.workers.stalls()
    assert 5_000 <= waited < 60_000
    await frontier.workers.send_heartbeat("w")
    assert await frontier.workers.stalls() == []
    await frontier.workers.send_heartbeat("w", 1, stalled_ms=0)
    await asyncio.sleep(0.005)
    assert await frontier.workers.stalls() == []
    await frontier.workers.send_heartbeat("v", stalled_ms=0)
    await frontier.workers.deregister("v")
    assert await frontier.workers.stalls() == []


async def test_nobody_is_asked_after_and_nobody_answers(frontier: Frontier):
    assert await frontier.workers.alive([]) == set()


async def test_the_dead_are_not_remembered(frontier: Frontier, redis: Redis):
    for number in range(5):
        await frontier.workers.send_heartbeat(f"w{number}", 1)
    await asyncio.sleep(0.005)
    await frontier.workers.send_heartbeat("w")
    assert await redis.zcard(f"thresher:{{{frontier.crawl.name}}}:beats") == 1


async def test_who_holds_a_lease_is_known_whether_it_lives_or_not(frontier: Frontier, found, grants):
    assert await frontier.workers.holders() == set()
    await frontier.add([found(f"http://{host}.test/{page}") for host in "abc" for page in range(3)])
    for robots in await grants(frontier).take():
        await grants(frontier).allow(robots)
    await grants(frontier, "one").take(2)
    await grants(frontier, "two").take(1)
    assert await frontier.workers.holders() == {"one", "two"}
    await frontier.workers.reclaim("one")
    assert await frontier.workers.holders() == {"two"}


async def test_what_a_worker_settles_that_was_given_up_changes_nothing(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/1")])
    await frontier.workers.send_heartbeat("slow", 1)
    (lease,) = await grants(frontier, "slow").pages()
    await asyncio.sleep(0.005)
    assert await frontier.workers.alive(await frontier.workers.holders()) == set()
    await frontier.workers.reclaim("slow")
    (again,) = await grants(frontier, "next").pages()
    assert again.token > lease.token
    late = Settlement(lease=lease, outcome=Outcome.FAILED)
    assert await frontier.settle([late]) == 0
    stats = await frontier.stats()
    assert (stats.seen, stats.leased, stats.outcomes["failed"]) == (1, 1, 0)
    assert await frontier.settle([Settlement(lease=again, outcome=Outcome.FETCHED)]) == 1


@pytest.mark.parametrize("crashed", [False, True])
async def test_a_name_that_was_taken_over_is_dead_for_ever(frontier: Frontier, found, grants, crashed):
    await frontier.add([found(f"http://{host}.test/") for host in "abcd"])
    await frontier.workers.send_heartbeat("asleep")
    pages = await grants(frontier, "asleep").pages()
    await frontier.workers.take_over({"asleep", "never heard of"})
    assert await frontier.workers.alive(["asleep"]) == set()
    settlements = [Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in pages]
    for refused in (
        lambda: frontier.workers.send_heartbeat("asleep"),
        lambda: frontier.lease(1, worker="asleep", lease_ms=60_000),
        lambda: frontier.release([HostRelease(lease=pages[0])]),
        lambda: frontier.politeness.acquire_address(pages[0], "192.0.2.1"),
        lambda: frontier.postpone(pages[0], 0),
        lambda: frontier.settle(settlements),
        lambda: frontier.workers.reclaim("asleep"),
    ):
        with pytest.raises(TakeoverError, match="worker asleep was not heard of and its name was taken over"):
            await refused()
    assert {lease.token for lease in await frontier.workers.leases("asleep")} == {
        lease.token for lease in pages
    }
    assert await frontier.settle(settlements[:1], is_worker_dead=True) == 1
    assert await frontier.workers.reclaim("asleep", is_worker_dead=True, has_crashed=crashed) == 3
    assert await frontier.settle(settlements) == 0
    await frontier.workers.send_heartbeat("next")
    assert len(await grants(frontier, "next").pages()) == 3
    await frontier.crawl.forget()
    await frontier.open()
    await frontier.workers.send_heartbeat("asleep")


async def test_a_robots_txt_of_a_worker_that_was_taken_over_is_settled_by_who_took_over(
    frontier: Frontier, found, grants
):
    await frontier.add([found("http://a.test/"), found("http://b.test/")])
    first, second = await grants(frontier, "asleep").take()
    assert {first.kind, second.kind} == {Kind.ROBOTS}
    await frontier.workers.take_over(["asleep"])
    said: dict[str, Any] = {"rule": "allow", "body": b"", "ttl_ms": 60_000, "delay_ms": None}
    with pytest.raises(TakeoverError):
        await frontier.origins.settle_robots(first, **said)
    with pytest.raises(TakeoverError):
        await frontier.origins.retry_robots(second, after_ms=0)
    await frontier.origins.settle_robots(first, **said, is_worker_dead=True)
    await frontier.origins.retry_robots(second, after_ms=0, is_worker_dead=True)
    assert await frontier.workers.holders() == set()


async def test_nobody_is_taken_over(frontier):
    await frontier.workers.take_over([])
    await frontier.workers.send_heartbeat("w")
