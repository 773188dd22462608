"""A worker beats, survives a frontier that is away for a moment, and stops once it may have been taken over."""

import asyncio
import os
import signal
import time

import pytest

from core import Unavailable
from crawler.machine.heartbeat import Heartbeat
from crawler.replay.replay import recover
from frontier import TakeoverError
from storage.directory_store import DirectoryStore
from tests.crawler.crawls.test_crawl import SPAWN, pages, slowly, wait_for, web


class Hearing:
    """A frontier that may receive nothing, and the clock on its wall."""

    def __init__(self):
        self.now, self.deaf, self.beats = 100.0, False, []

    def clock(self):
        return self.now

    async def beat(self):
        if self.deaf:
            raise Unavailable("away")
        self.beats.append(self.now)


@pytest.fixture
def hearing():
    return Hearing()


def pulse(hearing, ttl_s=30.0):
    return Heartbeat(hearing.beat, worker="w", ttl_s=ttl_s, clock=hearing.clock)


async def test_a_worker_that_never_beat_may_do_nothing(hearing):
    with pytest.raises(TakeoverError):
        pulse(hearing).check()


async def test_a_beat_counts_until_its_time_is_over_and_no_longer(hearing):
    made = pulse(hearing)
    await made.send()
    hearing.now += 29.9
    made.check()
    hearing.now += 0.1
    with pytest.raises(TakeoverError, match=r"worker w was not heard of for 30 s"):
        made.check()


async def test_it_says_when_its_time_is_over():
    made = Heartbeat(_heard, worker="w", ttl_s=0.05, period_s=0.01)
    await made.send()
    begun = time.monotonic()
    await made.wait_until_expired()
    assert time.monotonic() - begun >= 0.04
    with pytest.raises(TakeoverError):
        made.check()


async def _heard():
    """Every beat arrives."""


async def test_a_beat_is_dated_by_when_it_was_begun(hearing):
    async def slow():
        hearing.now += 20

    made = Heartbeat(slow, worker="w", ttl_s=30.0, clock=hearing.clock)
    await made.send()
    hearing.now += 10
    with pytest.raises(TakeoverError):
        made.check()


async def test_a_beat_out_of_turn_counts_and_raises_nobody_from_the_dead(hearing):
    made = pulse(hearing)
    await made.send()
    hearing.now += 20
    await made.send_now()
    hearing.now += 20
    made.check()
    hearing.now += 10
    await made.send_now()
    assert hearing.beats == [100.0, 120.0]
    with pytest.raises(TakeoverError):
        made.check()


async def test_it_beats_three_times_in_the_time_and_goes_on_when_one_is_not_heard(hearing):
    made = pulse(hearing, ttl_s=0.03)
    await made.send()
    hearing.deaf = True
    running = asyncio.create_task(made.run())
    await asyncio.sleep(0.05)
    assert len(hearing.beats) == 1
    hearing.deaf = False
    while len(hearing.beats) < 4:  # noqa: ASYNC110 - the heartbeat has its own clock
        await asyncio.sleep(0.001)
    made.check()
    running.cancel()


async def test_a_worker_that_may_have_been_given_up_stays_so_and_is_silent(hearing):
    made = pulse(hearing, ttl_s=0.03)
    await made.send()
    hearing.now += 1
    await asyncio.wait_for(made.run(), 5)
    assert len(hearing.beats) == 1
    hearing.now -= 1
    with pytest.raises(TakeoverError):
        made.check()


def work(config):
    from crawler.worker import run_worker

    try:
        run_worker(config)
    except TakeoverError:
        raise SystemExit(75) from None


def test_a_worker_that_slept_is_taken_up_by_another_and_settles_nothing_when_it_wakes(crawl, site):
    site.fallback = slowly(web(150), 0.02)
    crawl.seed(f"{site.url}/0")
    asleep = SPAWN.Process(target=work, args=(crawl.config("asleep", ttl_s=2.0, concurrency=8),))
    asleep.start()
    wait_for(lambda: len(site.requests) > 40)
    held = crawl.ask(lambda frontier: frontier.workers.holders())
    os.kill(asleep.pid, signal.SIGSTOP)
    assert held == {"asleep"}
    wait_for(lambda: not crawl.ask(lambda frontier: frontier.workers.alive(["asleep"])))

    async def silent(frontier):
        async def dead(workers):
            return workers - await frontier.workers.alive(workers)

        return await recover(DirectoryStore(crawl.root), frontier, dead, crawl=crawl.name)

    crawl.ask(silent)
    assert crawl.ask(lambda frontier: frontier.workers.holders()) == set()
    before = crawl.stats
    os.kill(asleep.pid, signal.SIGCONT)
    asleep.join(30)
    assert asleep.exitcode == 75
    after = crawl.stats
    assert (after.outcomes, after.seen, after.leased) == (before.outcomes, before.seen, 0)
    # Its archive file was locked while it lived; now the file is sealed, and contains what the worker had settled.
    crawl.ask(silent)
    work(crawl.config("next"))
    assert crawl.stats.is_drained
    assert set(pages(crawl)) == {"/robots.txt", *(f"/{n}" for n in range(150))}
