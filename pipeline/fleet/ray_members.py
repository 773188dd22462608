"""`RayMembers`: the members of a fleet as actors on a Ray cluster.

1. A member is a detached actor with one CPU, named after the member, in a namespace of its crawl. It outlives its
   controller. The next controller finds it in the state of the fleet; its orders come with its heartbeats.
2. An actor without room waits in the cluster, where an autoscaler sees it. When a machine joins, Ray places it.
3. The actor holds a `MemberHost`, and ends with it. Ray restarts nothing: the controller does.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from thresher.core import ThresherError, Unavailable
from thresher.frontier import Frontier
from thresher.frontier.fleet_state import MemberEnd
from thresher.frontier.link.call import Link
from thresher.frontier.link.connect import connect
from thresher.pipeline.engine.ray.actors import NodeRequirements, installed_build, machine_id
from thresher.pipeline.engine.ray.ray_cluster import cpu_count, ray_connection
from thresher.pipeline.engine.ray.ray_crawl_worker import visible_file
from thresher.pipeline.fleet.member_host import MemberHost, MemberTask
from thresher.storage.store import Store

RETRY_S = 2.0


class MemberActor:
    """An actor that hosts one member."""

    def __init__(self, requirements: NodeRequirements, task: MemberTask) -> None:
        """Begin to host the member, unless this node is refused. The process of the actor ends with the member."""
        self._thread = threading.Thread(target=_host, args=(requirements, task, node_name()), daemon=True)
        self._thread.start()

    def ready(self) -> None:
        """Return once the actor has room."""


class RayMembers:
    """Actors of one fleet."""

    def __init__(self, ray: ModuleType, crawl: str, requirements: NodeRequirements) -> None:
        """`ray` is connected."""
        self._ray, self._requirements = ray, requirements
        self._namespace = f"thresher-{crawl}"
        self._ready: dict[str, Any] = {}

    async def start(self, task: MemberTask) -> None:
        """Ask for an actor."""
        await asyncio.to_thread(self._start, task)

    def _start(self, task: MemberTask) -> None:
        actor = (
            self._ray.remote(MemberActor)
            .options(
                name=task.name,
                namespace=self._namespace,
                lifetime="detached",
                num_cpus=1,
                max_restarts=0,
                scheduling_strategy="SPREAD",
            )
            .remote(self._requirements, task)
        )
        self._ready[task.name] = actor.ready.remote()

    async def waiting(self, names: Collection[str]) -> set[str]:
        """Return the actors that have no room yet, or that have just got it."""
        self._ready = {name: ref for name, ref in self._ready.items() if name in names}
        return await asyncio.to_thread(lambda: {name for name in names if self._is_waiting(name)})

    def _is_waiting(self, name: str) -> bool:
        try:
            if name not in self._ready:  # another controller asked for it
                self._ready[name] = self._ray.get_actor(name, namespace=self._namespace).ready.remote()
            ready, _ = self._ray.wait([self._ready[name]], timeout=0)
            if ready:
                self._ray.get(ready[0])
        except (ValueError, self._ray.exceptions.RayError):
            self._ready.pop(name, None)
            return False
        return True

    async def cancel(self, name: str) -> None:
        """End an actor."""

        def kill() -> None:
            with suppress(ValueError, self._ray.exceptions.RayError):
                self._ray.kill(self._ray.get_actor(name, namespace=self._namespace))

        await asyncio.to_thread(kill)

    async def capacity(self) -> int | None:
        """Return the number of CPUs of the cluster. Raise `Unavailable` if the node of this process has left it."""
        return await asyncio.to_thread(cpu_count, self._ray)

    def drain(self) -> None:
        """Do nothing: actors get their orders from the frontier."""

    def end_now(self) -> None:
        """Do nothing: actors outlive this process, and the next controller adopts them."""

    async def close(self) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return f"<members on Ray in {self._namespace}>"


@contextmanager
def ray_members(address: str, store: Store, crawl: str, *, is_single_machine: bool) -> Iterator[RayMembers]:
    """Yield the members of a crawl on the cluster at `HOST:PORT`, or at RAY_ADDRESS if that is empty.

    With `is_single_machine` all of them must run on this machine, because only it reaches the embedded Redis.
    """
    with ray_connection(address) as ray, visible_file(store) as witness:
        requirements = NodeRequirements(
            build=installed_build(),
            visible_file=witness,
            machine_id=machine_id() if is_single_machine else None,
        )
        yield RayMembers(ray, crawl, requirements)


def node_name() -> str:
    """Return the name of this machine, and the beginning of the id of its Ray node."""
    import ray  # noqa: PLC0415 - Ray may be missing except where an actor runs

    return f"{socket.gethostname()}/{ray.get_runtime_context().get_node_id()[:8]}"


def _host(requirements: NodeRequirements, task: MemberTask, node: str) -> None:
    try:
        asyncio.run(_run(requirements, task, node))
    finally:
        os._exit(0)  # no other way ends an actor from a thread of its own


async def _open_frontier(link: Link, crawl: str) -> Frontier:
    """Return the frontier of a crawl, once its server answers."""
    while True:
        try:
            return await Frontier(link, crawl).open()
        except Unavailable:
            await asyncio.sleep(RETRY_S)


async def _run(requirements: NodeRequirements, task: MemberTask, node: str) -> None:
    link = await connect(task.redis)
    try:
        fleet = (await _open_frontier(link, task.crawl)).fleet
        if reason := requirements.mismatch():
            end = MemberEnd(
                name=task.name,
                kind=task.kind,
                restarts=task.restarts,
                has_crashed=True,
                reason=f"the node {node} {reason}",
            )
            with suppress(ThresherError):
                await fleet.end(end)
            return
        await MemberHost(task, node).run(fleet)
    finally:
        await link.aclose()
