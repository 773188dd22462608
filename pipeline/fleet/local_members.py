"""`LocalMembers`: the members of a fleet as processes of this machine. `Members` is what a controller needs of a place
where members run; `pipeline.fleet.ray_members` is the other one.
"""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Collection
from typing import Protocol

from thresher.frontier.verbs.fleet import Fleet
from thresher.pipeline.fleet.member_host import MemberHost, MemberTask

LOGGER = logging.getLogger(__name__)


class Members(Protocol):
    """Where members run."""

    async def start(self, task: MemberTask) -> None:
        """Start a member, or ask for room for it."""

    async def waiting(self, names: Collection[str]) -> set[str]:
        """Return which of some members that have no machine yet still wait for room. The others never run."""

    async def cancel(self, name: str) -> None:
        """Take back a member that waits for room."""

    async def capacity(self) -> int | None:
        """Return how many members the machines have CPUs for; None if it is unknown. Raise `Unavailable` if this
        machine can start no more.
        """

    def drain(self) -> None:
        """Ask every member that ends with this process to end, whether the frontier answers or not."""

    def end_now(self) -> None:
        """End at once every member that ends with this process. Only open leases are lost."""

    async def close(self) -> None:
        """Wait until every member that ends with this process has ended."""


class LocalMembers:
    """Processes of this machine. If this process dies, they drain and end."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._hosts: dict[str, tuple[MemberHost, asyncio.Task[None]]] = {}

    async def start(self, task: MemberTask) -> None:
        """Start a process."""
        host = MemberHost(task, socket.gethostname())
        running = asyncio.create_task(host.run(self._fleet))
        self._hosts[task.name] = host, running
        running.add_done_callback(lambda done: self._remove(task.name, done))

    async def waiting(self, names: Collection[str]) -> set[str]:
        """Return the members whose process is about to start."""
        return {name for name in names if name in self._hosts}

    async def cancel(self, name: str) -> None:
        """Let the process not start."""
        if name in self._hosts:
            self._hosts[name][0].drain()

    async def capacity(self) -> int | None:
        """Return the number of cores that this process may use."""
        return len(os.sched_getaffinity(0))

    def drain(self) -> None:
        """Ask all processes to end."""
        for host, _ in self._hosts.values():
            host.drain()

    def end_now(self) -> None:
        """End all processes."""
        for host, _ in self._hosts.values():
            host.signal(signal.SIGKILL)

    async def close(self) -> None:
        """Wait until all processes have ended."""
        await asyncio.gather(*(running for _, running in self._hosts.values()), return_exceptions=True)

    def _remove(self, name: str, done: asyncio.Task[None]) -> None:
        del self._hosts[name]
        if not done.cancelled() and (error := done.exception()) is not None:
            LOGGER.error("%s cannot be run: %s: %s", name, type(error).__name__, error)

    def __repr__(self) -> str:
        return f"<{len(self._hosts)} members on this machine>"
