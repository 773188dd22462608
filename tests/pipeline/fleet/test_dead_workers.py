"""Locks decide which workers of this machine are dead, and heartbeats which others are; two supervisors share a crawl."""

import asyncio
import multiprocessing
import os
import re
import signal
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.crawler.crawls.test_crawl import web
from tests.crawler.server import Server
from tests.storage.reading import read
from thresher.frontier import Discovery, Frontier, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.fleet import liveness
from thresher.pipeline.fleet.crawl_call import CrawlLimits
from thresher.pipeline.fleet.crawl_command import crawl
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.archive.archive_writer import NAME_PATTERN
from thresher.storage.archive.open_files import writer_and_serial

SPAWN = multiprocessing.get_context("spawn")


class Heard:
    """A frontier that heard of some workers, and remembers of whom it was asked."""

    def __init__(self, *workers):
        self.heard, self.asked, self.workers = set(workers), set(), self

    async def alive(self, workers):
        self.asked |= set(workers)
        return self.heard & set(workers)


def dead_workers(heard: Any, *arguments):
    return liveness.dead_workers(heard, *arguments)


def test_a_name_says_where_its_worker_is_at_home(tmp_path):
    one, other = liveness.new_worker_id(tmp_path / "a"), liveness.new_worker_id(tmp_path / "a")
    away = liveness.new_worker_id(tmp_path / "b")
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{8}", one)
    assert NAME_PATTERN.fullmatch(one)
    assert one[:9] == other[:9] != away[:9]
    assert one != other
    assert writer_and_serial("main", f"main-{one}-00012.warc.gz") == (one, 12)


async def test_a_worker_of_this_machine_lives_as_long_as_it_holds_its_lock_whatever_its_heartbeats(tmp_path):
    worker = liveness.new_worker_id(tmp_path)
    heard = Heard(worker)
    with liveness.hold_worker_lock(tmp_path, "main", worker):
        assert await dead_workers(Heard(), tmp_path, "main", {worker}) == set()
    assert await dead_workers(heard, tmp_path, "main", {worker}) == {worker}
    assert heard.asked == set()


def test_a_worker_that_died_without_a_word_has_left_its_lock(tmp_path):
    worker, other = liveness.new_worker_id(tmp_path), liveness.new_worker_id(tmp_path)
    with (
        liveness.hold_worker_lock(tmp_path, "main", worker),
        liveness.hold_worker_lock(tmp_path, "main", other),
    ):
        assert liveness.crashed_workers(tmp_path, "main") == set()
        lock = tmp_path / "workers" / "main" / f"{worker}.lock"
        lock.rename(lock.with_suffix(".held"))
        lock.touch()
        assert liveness.crashed_workers(tmp_path, "main") == {worker}
    assert liveness.crashed_workers(tmp_path, "main") == set()


async def test_a_worker_elsewhere_lives_as_long_as_it_sends_heartbeats(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    one, other = liveness.new_worker_id(there), liveness.new_worker_id(there)
    with liveness.hold_worker_lock(there, "main", one), liveness.hold_worker_lock(there, "main", other):
        assert await dead_workers(Heard(one), here, "main", {one, other}) == {other}


async def test_names_of_before_are_of_elsewhere(tmp_path):
    assert await dead_workers(Heard("1a2b3c4d"), tmp_path, "main", {"1a2b3c4d", "w"}) == {"w"}


async def test_a_worker_that_was_seen_to_end_is_dead_whatever_its_heartbeats(tmp_path):
    worker = liveness.new_worker_id(tmp_path / "there")
    assert await dead_workers(Heard(worker), tmp_path, "main", {worker}, {worker, "another"}) == {worker}


def test_the_locks_of_the_dead_are_removed_and_no_others(tmp_path):
    worker = liveness.new_worker_id(tmp_path)
    left = tmp_path / "workers" / "main" / "left.lock"
    with liveness.hold_worker_lock(tmp_path, "main", worker):
        left.touch()
        liveness.remove_stale_locks(tmp_path, "main")
        assert [path.stem for path in left.parent.glob("*")] == [worker]


def supervise(directory, ttl_s):
    """One machine's `thresher crawl`, with a shorter patience."""
    os.setsid()
    liveness.WORKER_TTL_S = ttl_s
    crawl(OpenProject.at(Path(directory)), "main", CrawlLimits(workers=1), LineProgress())


@pytest.fixture
def machines(tmp_path):
    """Two project directories with one frontier and one storage."""
    with embedded_server(tmp_path / "redis") as address:
        directories = [tmp_path / "one", tmp_path / "two"]
        for directory in directories:
            directory.mkdir()
            (directory / "thresher.toml").write_text(
                f'[project]\ncontact = "mailto:t@example.org"\nstorage = "file:{tmp_path / "data"}"\n'
                f'redis = "{address}"\n[crawler]\nmin_delay = 0.0\nallow_networks = ["127.0.0.0/8"]\n'
            )
        yield directories, address, tmp_path / "data"


def ask(address, question):
    async def run():
        redis = await connect(address)
        try:
            frontier = Frontier(redis, "main")
            await frontier.open()
            return await question(frontier)
        finally:
            await redis.aclose()

    return asyncio.run(run())


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def slow_until(hurry, fallback):
    """Half a second for every page, until there is a hurry."""

    def answer(path):
        async def later(_, writer):
            await asyncio.sleep(0.01 if hurry else 0.5)
            writer.write(fallback(path))

        return later

    return answer


def writing(data):
    """Archive files that are open and hold something."""
    return [path for path in (data / "warc" / "main" / ".open").glob("*.warc.gz") if path.stat().st_size]


@pytest.mark.slow
def test_two_supervisors_leave_the_living_alone_and_take_up_the_dead(machines):
    (one, two), address, data = machines
    hurry = []
    # More hosts than one worker can fill.
    sites = [Server(address=f"127.0.1.{host}") for host in range(1, 9)]
    with ExitStack() as serving:
        for site in sites:
            serving.enter_context(site.in_thread())
            site.fallback = slow_until(hurry, web(60))
        urls = [canonicalize(f"{site.url}/0") for site in sites]
        seeds = [Discovery(url=url, scope=Scope.of("host", url)) for url in urls]
        ask(address, lambda frontier: frontier.add(seeds))
        supervisors = {
            directory: SPAWN.Process(target=supervise, args=(directory, 3.0)) for directory in (one, two)
        }
        for supervisor in supervisors.values():
            supervisor.start()
        seen = set()

        def holders():
            found = ask(address, lambda frontier: frontier.workers.holders())
            seen.update(found)
            return found

        wait_for(lambda: holders() and len(seen) == len(writing(data)) == 2)
        both = set(seen)
        assert ask(address, lambda frontier: frontier.workers.alive(both)) == both
        doomed = psutil.Process(supervisors[one].pid)
        family = [doomed, *doomed.children(recursive=True)]
        killed = {
            worker for worker in both if worker.startswith(liveness.new_worker_id(one / ".thresher")[:9])
        }

        def send(signum):
            for process in family:
                process.send_signal(signum)

        def stopped_with_a_lease():
            send(signal.SIGSTOP)
            if killed & holders():
                return True
            send(signal.SIGCONT)
            return False

        # A machine burns at once: a worker that outlived its supervisor for a moment would drain.
        wait_for(stopped_with_a_lease)
        send(signal.SIGKILL)
        supervisors[one].join()
        assert killed & holders()
        hurry.append(True)
        supervisors[two].join(120)
        assert supervisors[two].exitcode == 0
    stats = ask(address, lambda frontier: frontier.stats())
    assert stats.is_drained
    archived = Counter()
    writers = set()
    for path in (data / "warc" / "main").glob("*.warc.gz"):
        writers.add(writer_and_serial("main", path.name)[0])
        archived.update(record.url for record in read(path) if record.type == "response")
    assert writers == both
    paths = ["robots.txt", *range(60)]
    assert archived == Counter(f"{site.url}/{path}" for site in sites for path in paths)
    assert not list((data / "warc" / "main" / ".open").iterdir())
