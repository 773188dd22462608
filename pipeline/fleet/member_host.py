"""`MemberHost`: runs one member of a fleet: its process, its heartbeats and its orders.

1. It runs beside the process: in the controller on one machine, in an actor on a Ray cluster. All orders come in the
   replies to its heartbeats, so any controller can give them.
2. `drain` and `gone` send the process one SIGTERM. The process ends when it has finished what it has begun.
3. How the process ended is the last thing that the host says. A frontier that does not answer changes nothing: the host
   goes on, and if that takes too long the member is lost, and replaced.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from thresher.core import ThresherError
from thresher.crawler.worker_config import STOPPED_AT_ONCE
from thresher.frontier.fleet_state import Member, MemberEnd, MemberKind, MemberState, Order
from thresher.frontier.verbs.fleet import Fleet
from thresher.isolation.process_usage import usage
from thresher.pipeline.engine.local.crawl_worker import LocalCrawlWorker, WorkerExit
from thresher.pipeline.fleet.crawl_call import EXIT_PRESUMED_DEAD, EXIT_SPIDER_CLOSED

LOGGER = logging.getLogger(__name__)
POLL_S = 0.25
SPIDER_CLOSED = "its spider has closed the crawl"
"""Reason of an end after which the whole fleet stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTask:
    """What a member is to do. Can be pickled."""

    crawl: str
    redis: str = field(repr=False)
    """Address of the frontier's server."""
    name: str
    kind: MemberKind
    restarts: int
    version: str
    call: bytes = field(repr=False)
    """The call of its process (`pickle_call`)."""
    heartbeat_s: float
    ttl_ms: int

    def member(self, node: str, state: MemberState, started_at_ms: int) -> Member:
        """Return the member as it says about itself, before it has used anything."""
        return Member(
            name=self.name,
            kind=self.kind,
            node=node,
            state=state,
            started_at_ms=started_at_ms,
            seen_at_ms=0,
            restarts=self.restarts,
            cpu_seconds=0.0,
            rss_bytes=0,
            version=self.version,
        )


class MemberHost:
    """Hosts one member."""

    def __init__(
        self, task: MemberTask, node: str, start: Callable[[bytes], LocalCrawlWorker] = LocalCrawlWorker
    ) -> None:
        """`node` names the machine. `start` starts the process."""
        self._task, self._node, self._start = task, node, start
        self._worker: LocalCrawlWorker | None = None
        self._order: Order = "run"
        self._started_at_ms = time.time_ns() // 1_000_000
        self._is_draining = False

    def drain(self) -> None:
        """Ask the process to end, once. A process that has not started never starts."""
        if not self._is_draining:
            self._is_draining = True
            self.signal(signal.SIGTERM)

    def signal(self, signum: signal.Signals) -> None:
        """Send the process a signal."""
        if self._worker is not None:
            self._worker.signal(signum)

    async def run(self, fleet: Fleet) -> None:
        """Run the member to its end."""
        await self._send_heartbeat(fleet, "starting")
        if self._is_draining:
            await self._end(fleet, WorkerExit(exitcode=0, error=None))
            return
        self._worker = self._start(self._task.call)
        heartbeats = asyncio.create_task(self._send_heartbeats(fleet))
        try:
            worker_exit = await self._wait(self._worker)
        finally:
            heartbeats.cancel()
            with suppress(asyncio.CancelledError):
                await heartbeats
        await self._end(fleet, worker_exit)

    async def _wait(self, worker: LocalCrawlWorker) -> WorkerExit:
        while True:
            if (worker_exit := worker.poll()) is not None:
                return worker_exit
            await asyncio.sleep(POLL_S)

    async def _send_heartbeats(self, fleet: Fleet) -> None:
        while True:
            state: MemberState = (
                "draining" if self._is_draining else "paused" if self._order == "pause" else "running"
            )
            await self._send_heartbeat(fleet, state)
            await asyncio.sleep(self._task.heartbeat_s)

    async def _send_heartbeat(self, fleet: Fleet, state: MemberState) -> None:
        used = usage(self._worker.pid) if self._worker is not None else None
        said = self._task.member(self._node, state, self._started_at_ms)
        if used is not None:
            said = replace(said, cpu_seconds=used.cpu_seconds, rss_bytes=used.rss_bytes)
        try:
            self._order = await fleet.send_heartbeat(said, ttl_ms=self._task.ttl_ms)
        except ThresherError as error:
            LOGGER.warning("%s: no heartbeat: %s", self._task.name, error)
            return
        if self._order in {"drain", "gone"}:
            self.drain()

    async def _end(self, fleet: Fleet, worker_exit: WorkerExit) -> None:
        has_crashed, reason = describe_exit(worker_exit, was_drained=self._is_draining)
        ended = MemberEnd(
            name=self._task.name,
            kind=self._task.kind,
            restarts=self._task.restarts,
            has_crashed=has_crashed,
            reason=reason,
        )
        try:
            await fleet.end(ended)
        except ThresherError as error:
            LOGGER.warning("%s has ended, and its end is not recorded: %s", self._task.name, error)

    def __repr__(self) -> str:
        return f"<host of {self._task.kind} {self._task.name}: {self._worker or 'not started'}>"


def describe_exit(worker_exit: WorkerExit, *, was_drained: bool) -> tuple[bool, str]:
    """Return whether a member crashed, and why it ended; "" if it ended as it should."""
    if worker_exit.error is not None:
        return True, " ".join(str(worker_exit.error).split())
    if worker_exit.stalled_s is not None:
        return True, f"its event loop was stalled for {worker_exit.stalled_s:.0f} s"
    if worker_exit.exitcode == EXIT_PRESUMED_DEAD:
        return False, "it was not heard of and its work was given to others"
    if worker_exit.exitcode == EXIT_SPIDER_CLOSED:
        return False, SPIDER_CLOSED
    # SIGTERM itself ends a process that has not come to handle it.
    if not worker_exit.exitcode or (
        was_drained and worker_exit.exitcode in {STOPPED_AT_ONCE, -signal.SIGTERM}
    ):
        return False, ""
    return True, f"exit code {worker_exit.exitcode}"
