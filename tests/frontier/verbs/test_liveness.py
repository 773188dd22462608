"""Who lives, as far as the frontier has heard, and what the promises to the dead are worth."""

import asyncio

import pytest

from frontier import HostRelease, Kind, Outcome, Settlement, TakeoverError


async def test_a_worker_lives_from_its_first_beat_for_as_long_as_the_last_one_said(frontier):
    assert await frontier.alive(["w", "v"]) == set()
    await frontier.beat("w")
    await frontier.beat("v")
    assert await frontier.alive(["w", "v", "u"]) == {"w", "v"}
    await frontier.beat("w", 1)
    await asyncio.sleep(0.005)
    assert await frontier.alive(["w", "v"]) == {"v"}
    await frontier.beat("w")
    assert await frontier.alive(["w", "v"]) == {"w", "v"}


async def test_a_worker_that_has_left_does_not_live(frontier):
    await frontier.beat("w")
    await frontier.leave("w")
    await frontier.leave("never heard of")
    assert await frontier.alive(["w"]) == set()


async def test_a_worker_that_waits_for_its_storage_says_so_while_it_lives(frontier):
    assert await frontier.stalls() == []
    await frontier.beat("w", stalled_ms=5_000)
    await frontier.beat("v")
    (waited,) = await frontier.stalls()
    assert 5_000 <= waited < 60_000
    await frontier.beat("w")
    assert await frontier.stalls() == []
    await frontier.beat("w", 1, stalled_ms=0)
    await asyncio.sleep(0.005)
    assert await frontier.stalls() == []
    await frontier.beat("v", stalled_ms=0)
    await frontier.leave("v")
    assert await frontier.stalls() == []


async def test_nobody_is_asked_after_and_nobody_answers(frontier):
    assert await frontier.alive([]) == set()


async def test_the_dead_are_not_remembered(frontier, redis):
    for number in range(5):
        await frontier.beat(f"w{number}", 1)
    await asyncio.sleep(0.005)
    await frontier.beat("w")
    assert await redis.zcard(f"thresher:{{{frontier._crawl}}}:beats") == 1


async def test_who_holds_a_lease_is_known_whether_it_lives_or_not(frontier, found, grants):
    assert await frontier.holders() == set()
    await frontier.add([found(f"http://{host}.test/{page}") for host in "abc" for page in range(3)])
    for robots in await grants(frontier).take():
        await grants(frontier).allow(robots)
    await grants(frontier, "one").take(2)
    await grants(frontier, "two").take(1)
    assert await frontier.holders() == {"one", "two"}
    await frontier.reclaim("one")
    assert await frontier.holders() == {"two"}


async def test_what_a_worker_settles_that_was_given_up_changes_nothing(frontier, found, grants):
    await frontier.add([found("http://a.test/1")])
    await frontier.beat("slow", 1)
    (lease,) = await grants(frontier, "slow").pages()
    await asyncio.sleep(0.005)
    assert await frontier.alive(await frontier.holders()) == set()
    await frontier.reclaim("slow")
    (again,) = await grants(frontier, "next").pages()
    assert again.token > lease.token
    late = Settlement(lease=lease, outcome=Outcome.FAILED)
    assert await frontier.settle([late]) == 0
    stats = await frontier.stats()
    assert (stats.seen, stats.leased, stats.outcomes["failed"]) == (1, 1, 0)
    assert await frontier.settle([Settlement(lease=again, outcome=Outcome.FETCHED)]) == 1


@pytest.mark.parametrize("crashed", [False, True])
async def test_a_name_that_was_taken_over_is_dead_for_ever(frontier, found, grants, crashed):
    await frontier.add([found(f"http://{host}.test/") for host in "abcd"])
    await frontier.beat("asleep")
    pages = await grants(frontier, "asleep").pages()
    await frontier.take_over({"asleep", "never heard of"})
    assert await frontier.alive(["asleep"]) == set()
    settlements = [Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in pages]
    for refused in (
        lambda: frontier.beat("asleep"),
        lambda: frontier.lease(1, worker="asleep", lease_ms=60_000),
        lambda: frontier.release([HostRelease(lease=pages[0])]),
        lambda: frontier.enter(pages[0], "192.0.2.1"),
        lambda: frontier.postpone(pages[0], 0),
        lambda: frontier.settle(settlements),
        lambda: frontier.reclaim("asleep"),
    ):
        with pytest.raises(TakeoverError, match="worker asleep was not heard of and its name was taken over"):
            await refused()
    assert {lease.token for lease in await frontier.leases("asleep")} == {lease.token for lease in pages}
    assert await frontier.settle(settlements[:1], died=True) == 1
    assert await frontier.reclaim("asleep", died=True, crashed=crashed) == 3
    assert await frontier.settle(settlements) == 0
    await frontier.beat("next")
    assert len(await grants(frontier, "next").pages()) == 3
    await frontier.forget()
    await frontier.open()
    await frontier.beat("asleep")


async def test_a_robots_txt_of_a_worker_that_was_taken_over_is_settled_by_who_took_over(
    frontier, found, grants
):
    await frontier.add([found("http://a.test/"), found("http://b.test/")])
    first, second = await grants(frontier, "asleep").take()
    assert {first.kind, second.kind} == {Kind.ROBOTS}
    await frontier.take_over(["asleep"])
    said = {"rule": "allow", "body": b"", "ttl_ms": 60_000, "delay_ms": None}
    with pytest.raises(TakeoverError):
        await frontier.settle_robots(first, **said)
    with pytest.raises(TakeoverError):
        await frontier.retry_robots(second, after_ms=0)
    await frontier.settle_robots(first, **said, died=True)
    await frontier.retry_robots(second, after_ms=0, died=True)
    assert await frontier.holders() == set()


async def test_nobody_is_taken_over(frontier):
    await frontier.take_over([])
    await frontier.beat("w")
