"""A worker sleeps while another recovers its leases and files: at whatever moment it falls asleep, every settled page is readable."""

import asyncio
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from unittest.mock import patch

import pytest

from tests.crawler.crawls.test_crawl import SPAWN, slowly, wait_for, web
from tests.expect import expect
from tests.frontier.fixed_clock import Clock, memory_crawl
from tests.storage.archive.test_tails import Stepping, Watched
from tests.storage.captures import capture
from tests.storage.plain_store import PlainStore
from tests.storage.reading import read
from thresher.core import Conflict
from thresher.crawler.machine.heartbeat import Heartbeat
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.frontier import (
    Discovery,
    HostRelease,
    Kind,
    Outcome,
    Scope,
    Settlement,
    TakeoverError,
    canonicalize,
)
from thresher.frontier.testing.memory_frontier import MemoryFrontier
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.archive.record_ids import record_id
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc.compression import compression_of


def readable(store, crawl):
    """Return how often each path is in a sealed archive file."""
    names = [name for name in store.list(f"warc/{crawl}/") if compression_of(name)]
    records = (record for name in names for record in read(store.files.path(name)))
    found = (record.url for record in records if record.type in {"response", "revisit"})
    return Counter("/" + url.split("/", 3)[3] for url in found)


def work(config):
    """Run a worker whose machine sleeps with it: the clock of its heartbeat stands while the worker is stopped."""
    from thresher.crawler import worker

    try:
        with patch.object(worker, "Heartbeat", partial(Heartbeat, clock=time.process_time)):
            run_worker(config)
    except TakeoverError:
        raise SystemExit(75) from None


async def take_up(store, frontier, crawl):
    async def dead(workers):
        return workers - await frontier.workers.alive(workers)

    return await recover(store, frontier, dead, crawl=crawl)


@pytest.mark.slow
def test_a_worker_that_wakes_after_its_file_was_sealed_settles_only_readable_pages(crawl, site):
    site.fallback = slowly(web(150), 0.02)
    store = PlainStore(DirectoryStore(crawl.root))
    crawl.seed(f"{site.url}/0")
    config = crawl.config("asleep", ttl_s=2.0, concurrency=8, store=store)
    asleep = SPAWN.Process(target=work, args=(config,))
    asleep.start()
    wait_for(lambda: len(site.requests) > 40)
    assert asleep.pid
    os.kill(asleep.pid, signal.SIGSTOP)
    wait_for(lambda: not crawl.ask(lambda frontier: frontier.workers.alive(["asleep"])))
    crawl.ask(lambda frontier: take_up(store, frontier, crawl.name))
    sealed, requests = readable(store, crawl.name), len(site.requests)
    os.kill(asleep.pid, signal.SIGCONT)
    asleep.join(30)
    assert asleep.exitcode == 75
    assert len(site.requests) - requests <= 8
    crawl.ask(lambda frontier: take_up(store, frontier, crawl.name))
    assert sealed <= readable(store, crawl.name)
    run_worker(crawl.config("next", store=store))
    stats = crawl.stats
    assert stats.is_drained
    assert stats.outcomes["fetched"] == 150
    assert set(readable(store, crawl.name)) == {"/robots.txt", *(f"/{n}" for n in range(150))}
    assert list(store.list("open/")) == []


@dataclass(kw_only=True)
class Life:
    """The calls of a worker, one after another: lease, append, commit, settle, seal."""

    frontier: MemoryFrontier
    store: Stepping
    settled: list = field(default_factory=list)
    error: Exception | None = None

    def live(self):
        archive = ArchiveWriter(self.store, "main", writer="asleep", user_agent="agent")
        now(self.frontier.workers.send_heartbeat("asleep", 1_000))
        while leases := now(self.frontier.lease(1, worker="asleep", lease_ms=3_600_000)):
            (lease,) = leases
            if lease.kind is Kind.ROBOTS:
                now(
                    self.frontier.origins.settle_robots(
                        lease, rule="allow", body=b"", ttl_ms=3_600_000, delay_ms=None
                    )
                )
                continue
            page = capture(lease.url.text.encode(), wire=lease.url.wire)
            archive.append(page, record_id("main", "asleep", lease.token))
            archive.commit()
            now(self.frontier.release([HostRelease(lease=lease)]))
            self.store.watched.step("settle")
            ended = [Settlement(lease=lease, outcome=Outcome.FETCHED)]
            if now(self.frontier.settle(ended)):
                self.settled.append(lease.url)
            self.store.watched.step("settled")
            now(self.frontier.workers.send_heartbeat("asleep", 1_000))
        archive.seal()


def now(call):
    """Return the result of a call of the frontier in memory, which never waits."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


URLS = [canonicalize(f"http://{host}.test/") for host in "ab"]


def sleep(tmp_path, at, watched, *, kill=None, forgets=False):
    """Let a worker fall asleep before one of its calls. Let another recover its leases and files, and perhaps be killed at one of its own calls."""
    clock = Clock(1_767_225_600_000)
    frontier = expect(MemoryFrontier, asyncio.run(memory_crawl(clock)).frontier)
    plain = PlainStore(DirectoryStore(tmp_path / f"{at}-{kill}"))
    now(frontier.add([Discovery(url=url, scope=Scope.of("host", url)) for url in URLS]))

    def slept():
        clock.now += 2_000
        if kill is not None:
            other = Watched(at=kill, what=killed)
            with pytest.raises(Killed):
                asyncio.run(take_up(Stepping(plain.files, other), frontier, "main"))
        asyncio.run(take_up(plain, frontier, "main"))
        if forgets:  # the server has lost its last second, and with it the takeover of the name
            frontier.crawl.heartbeats.taken_over.clear()

    watched.at, watched.what = at, slept
    life = Life(frontier=frontier, store=Stepping(plain.files, watched))
    try:
        life.live()
    except (TakeoverError, Conflict) as error:
        life.error = error
    clock.now += 2_000
    asyncio.run(take_up(plain, frontier, "main"))
    return life, plain, now(frontier.stats())


class Killed(Exception):
    """The store of a killed process raises this at every call."""


def killed():
    raise Killed


def calls(tmp_path):
    """Return how many calls one worker makes."""
    life, _, stats = sleep(tmp_path, -1, counted := Watched())
    assert life.settled == URLS
    assert stats.is_drained
    assert counted.made > 10
    return counted.made


@pytest.mark.parametrize("forgets", [False, True], ids=["", "the frontier forgets that"])
def test_settled_pages_are_readable_whenever_a_worker_falls_asleep(tmp_path, forgets):
    for at in range(1, calls(tmp_path) + 1):
        life, store, stats = sleep(tmp_path, at, Watched(), forgets=forgets)
        there = readable_urls(store)
        assert stats.outcomes["fetched"] <= sum(there.values()), at
        assert set(life.settled) <= set(there), at
        assert forgets or set(there.values()) <= {1}, at
        assert list(store.list("open/")) == [], at


def test_killed_between_its_seal_and_its_last_deletion_a_recovery_loses_nothing(tmp_path):
    at = calls(tmp_path) * 2 // 3
    for kill in range(1, 12):
        _, store, stats = sleep(tmp_path, at, Watched(), kill=kill)
        assert stats.outcomes["fetched"] <= sum(readable_urls(store).values()), kill
        assert list(store.list("open/")) == [], kill


def readable_urls(store):
    names = [name for name in store.list("warc/main/") if compression_of(name)]
    records = (record for name in names for record in read(store.files.path(name)))
    return Counter(canonicalize(record.url) for record in records if record.type == "response")
