"""Who lives, as far as the frontier has heard, and what the promises to the dead are worth."""

import asyncio

from frontier import Outcome, Settlement


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
