"""A member's host: heartbeats until its process ends, orders as one signal, and the end as a value."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thresher.core import ThresherError, Unavailable
from thresher.crawler.worker_config import STOPPED_AT_ONCE
from thresher.frontier.fleet_state import MemberEnd
from thresher.frontier.testing import MemoryFrontier
from thresher.isolation.process_usage import usage
from thresher.pipeline.engine.local.crawl_worker import WorkerExit
from thresher.pipeline.fleet.crawl_call import EXIT_PRESUMED_DEAD, EXIT_SPIDER_CLOSED
from thresher.pipeline.fleet.member_host import SPIDER_CLOSED, MemberHost, MemberTask, describe_exit

TTL = 10_000
TASK = MemberTask(
    crawl="main",
    redis="",
    name="m",
    kind="crawler",
    restarts=2,
    version="v1",
    call=b"",
    heartbeat_s=0.01,
    ttl_ms=TTL,
)


class Worker:
    """A process that ends when it is told to, or on a signal."""

    def __init__(self):
        self.pid, self.signals, self.worker_exit = os.getpid(), [], None

    def poll(self):
        return self.worker_exit

    def signal(self, signum):
        self.signals.append(signum)


def host(start: Any) -> Any:
    return MemberHost(TASK, "node", start)


class Away:
    """A fleet whose server does not answer."""

    async def send_heartbeat(self, *_, **__):
        raise Unavailable("gone")

    end = send_heartbeat


@pytest.fixture
async def fleet():
    frontier = await MemoryFrontier(clock=lambda: 5_000).open()
    return frontier.fleet


@pytest.fixture
async def lease(fleet):
    lease = await fleet.begin(
        "c", ttl_ms=TTL, version="v1", usual={"crawler": 1, "processor": 0, "exporter": 0}
    )
    await fleet.add_member(lease, TASK.member("", "starting", 1), ttl_ms=TTL)
    return lease


async def until(condition):
    while True:
        if await condition():
            return
        await asyncio.sleep(0.005)


def states(fleet):
    async def found():
        return [each.state for each in (await fleet.state()).members]

    return found


async def test_a_member_runs_with_its_usage_is_drained_with_one_signal_and_says_how_it_ended(fleet, lease):
    worker = Worker()
    running = asyncio.create_task(host(lambda _: worker).run(fleet))

    async def is_running():
        (member,) = (await fleet.state()).members
        return member.state == "running" and member.rss_bytes > 0 and member.node == "node"

    await until(is_running)
    await fleet.pause()

    async def is_paused():
        return await states(fleet)() == ["paused"]

    await until(is_paused)
    await fleet.drain_member(lease, "m")

    async def is_signalled():
        return bool(worker.signals)

    await until(is_signalled)
    await asyncio.sleep(0.05)
    assert worker.signals == [signal.SIGTERM]
    worker.worker_exit = WorkerExit(exitcode=0, error=None)
    await running
    (ended,) = (await fleet.state()).ended
    assert (ended.name, ended.restarts, ended.has_crashed, ended.reason) == ("m", 2, False, "")


async def test_a_member_that_was_given_up_before_it_began_never_begins(fleet, lease):
    await fleet.end(MemberEnd(name="m", kind="crawler", restarts=0, has_crashed=False, reason=""))
    await fleet.remove_members(lease, ["m"])
    started = []
    await host(lambda _: started.append(1)).run(fleet)
    assert started == []


async def test_without_a_frontier_a_member_goes_on_to_its_end():
    worker = Worker()
    running = asyncio.create_task(host(lambda _: worker).run(Away()))
    await asyncio.sleep(0.05)
    assert (running.done(), worker.signals) == (False, [])
    worker.worker_exit = WorkerExit(exitcode=0, error=None)
    await running


ENDED = WorkerExit(exitcode=0, error=None)


@pytest.mark.parametrize(
    ("worker_exit", "was_drained", "said"),
    [
        (ENDED, False, (False, "")),
        (replace(ENDED, exitcode=-9), False, (True, "exit code -9")),
        (replace(ENDED, exitcode=-9), True, (True, "exit code -9")),
        (replace(ENDED, exitcode=-15), True, (False, "")),
        (replace(ENDED, exitcode=-15), False, (True, "exit code -15")),
        (replace(ENDED, exitcode=STOPPED_AT_ONCE), True, (False, "")),
        (replace(ENDED, error=ThresherError("the disk\nis full")), False, (True, "the disk is full")),
        (replace(ENDED, exitcode=-9, stalled_s=31.5), False, (True, "its event loop was stalled for 32 s")),
        (replace(ENDED, exitcode=EXIT_SPIDER_CLOSED), False, (False, SPIDER_CLOSED)),
        (
            replace(ENDED, exitcode=EXIT_PRESUMED_DEAD),
            False,
            (False, "it was not heard of and its work was given to others"),
        ),
    ],
)
def test_how_a_member_ended(worker_exit, was_drained, said):
    assert describe_exit(worker_exit, was_drained=was_drained) == said


def test_the_usage_of_a_process_has_that_of_its_descendants():
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: sum(range(10**6))'])"
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        try:
            deadline = time.monotonic() + 60
            while usage(process.pid).cpu_seconds < 0.5:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert usage(process.pid).rss_bytes > 4 << 20
            children = [
                int(pid)
                for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            ]
        finally:
            process.kill()
        for child in children:
            os.kill(child, signal.SIGKILL)
    assert usage(process.pid) == usage(1 << 30)
