"""A worker sends heartbeats, survives a short absence of the frontier, and stops once it may have been taken over."""

import asyncio
import os
import signal
import time

import pytest

from tests.crawler.crawls.test_crawl import SPAWN, pages, slowly, wait_for, web
from tests.expect import expect
from thresher.core import Unavailable
from thresher.crawler.machine.heartbeat import Heartbeat
from thresher.crawler.replay.replay import recover
from thresher.frontier import TakeoverError
from thresher.storage.directory_store import DirectoryStore


class BeatRecorder:
    """A frontier that may be unavailable, and its clock."""

    def __init__(self):
        self.now, self.is_away, self.beats = 100.0, False, []

    def clock(self):
        return self.now

    async def beat(self):
        if self.is_away:
            raise Unavailable("away")
        self.beats.append(self.now)


@pytest.fixture
def recorder():
    return BeatRecorder()


def heartbeat_to(recorder, ttl_s=30.0):
    return Heartbeat(recorder.beat, worker="w", ttl_s=ttl_s, clock=recorder.clock)


async def test_a_worker_that_never_beat_may_do_nothing(recorder):
    with pytest.raises(TakeoverError):
        heartbeat_to(recorder).check()


async def test_a_beat_counts_until_its_time_is_over_and_no_longer(recorder):
    made = heartbeat_to(recorder)
    await made.send()
    recorder.now += 29.9
    made.check()
    recorder.now += 0.1
    with pytest.raises(TakeoverError, match=r"worker w was not heard of for 30 s"):
        made.check()


async def test_a_heartbeat_reports_when_its_time_is_over():
    made = Heartbeat(_accept, worker="w", ttl_s=0.05, period_s=0.01)
    await made.send()
    begun = time.monotonic()
    await made.wait_until_expired()
    assert time.monotonic() - begun >= 0.04
    with pytest.raises(TakeoverError):
        made.check()


async def _accept():
    """Every beat arrives."""


async def test_a_beat_counts_from_its_start(recorder):
    async def slow():
        recorder.now += 20

    made = Heartbeat(slow, worker="w", ttl_s=30.0, clock=recorder.clock)
    await made.send()
    recorder.now += 10
    with pytest.raises(TakeoverError):
        made.check()


async def test_an_extra_beat_counts_but_does_not_revive_an_expired_worker(recorder):
    made = heartbeat_to(recorder)
    await made.send()
    recorder.now += 20
    await made.send_now()
    recorder.now += 20
    made.check()
    recorder.now += 10
    await made.send_now()
    assert recorder.beats == [100.0, 120.0]
    with pytest.raises(TakeoverError):
        made.check()


async def test_it_beats_three_times_in_its_time_and_goes_on_after_a_lost_beat(recorder):
    made = heartbeat_to(recorder, ttl_s=0.03)
    await made.send()
    recorder.is_away = True
    running = asyncio.create_task(made.run())
    await asyncio.sleep(0.05)
    assert len(recorder.beats) == 1
    recorder.is_away = False
    while len(recorder.beats) < 4:  # noqa: ASYNC110 - the heartbeat has its own clock
        await asyncio.sleep(0.001)
    made.check()
    running.cancel()


async def test_a_worker_that_may_have_been_taken_over_stays_expired_and_sends_nothing(recorder):
    made = heartbeat_to(recorder, ttl_s=0.03)
    await made.send()
    recorder.now += 1
    await asyncio.wait_for(made.run(), 5)
    assert len(recorder.beats) == 1
    recorder.now -= 1
    with pytest.raises(TakeoverError):
        made.check()


def work(config):
    from thresher.crawler.worker import run_worker

    try:
        run_worker(config)
    except TakeoverError:
        raise SystemExit(75) from None


def test_a_sleeping_worker_is_taken_over_and_settles_nothing_when_it_wakes(crawl, site):
    site.fallback = slowly(web(150), 0.05)
    crawl.seed(f"{site.url}/0")
    asleep = SPAWN.Process(target=work, args=(crawl.config("asleep", ttl_s=2.0, concurrency=8),))
    asleep.start()
    pid = expect(int, asleep.pid)
    wait_for(lambda: len(site.requests) > 40)

    def sleeps_with_leases():
        os.kill(pid, signal.SIGSTOP)
        if crawl.ask(lambda frontier: frontier.workers.holders()) == {"asleep"}:
            return True
        os.kill(pid, signal.SIGCONT)  # it was between two
        return False

    wait_for(sleeps_with_leases)
    wait_for(lambda: not crawl.ask(lambda frontier: frontier.workers.alive(["asleep"])))

    async def silent(frontier):
        async def dead(workers):
            return workers - await frontier.workers.alive(workers)

        return await recover(DirectoryStore(crawl.root), frontier, dead, crawl=crawl.name)

    crawl.ask(silent)
    assert crawl.ask(lambda frontier: frontier.workers.holders()) == set()
    before = crawl.stats
    os.kill(pid, signal.SIGCONT)
    asleep.join(30)
    assert asleep.exitcode == 75
    after = crawl.stats
    assert (after.outcomes, after.seen, after.leased) == (before.outcomes, before.seen, 0)
    # Its archive file was locked while it lived. Now the file is sealed, and has the pages that the worker had settled.
    crawl.ask(silent)
    work(crawl.config("next"))
    assert crawl.stats.is_drained
    assert set(pages(crawl)) == {"/robots.txt", *(f"/{n}" for n in range(150))}
