"""Real Valkey servers on loopback, one or a cluster with a replica of each master: started, broken and stopped by
tests.

Only the server is there (no cli), so what `valkey-cli --cluster` does is done here with the commands themselves.
"""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from tests.storage.s3server import free_ports
from thresher.frontier.link.embedded import _binary

HOST = "127.0.0.1"
SLOTS = 16_384
NODE_TIMEOUT_MS = 1_000
_PATIENCE_S = 180


class ValkeyServer:
    """One server, which may be of a cluster."""

    def __init__(self, directory: Path, port: int, **options: str | int) -> None:
        self.port = port
        self.paused = False
        self._options = {
            "bind": HOST,
            "port": port,
            "dir": str(directory),
            "logfile": str(directory / "server.log"),
            "appendonly": "yes",
            "save": "",
            "repl-diskless-sync-delay": 0,
            **{name.replace("_", "-"): value for name, value in options.items()},
        }
        self.client = Redis(
            host=HOST,
            port=port,
            socket_timeout=5,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            protocol=2,
        )
        directory.mkdir(parents=True)
        self.start()

    @property
    def address(self) -> str:
        return f"redis://{HOST}:{self.port}"

    @property
    def id(self) -> str:
        return str(self.run("CLUSTER", "MYID"))

    def start(self) -> None:
        """Start it, or start it again with what it had."""
        words = [str(word) for name, value in self._options.items() for word in (f"--{name}", value)]
        self.process = subprocess.Popen(
            [str(_binary()), *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        try:
            wait_until(self._answers, f"the server on port {self.port}")
        except BaseException:
            self.kill()
            raise

    def run(self, *command: str | int) -> Any:
        return self.client.execute_command(*command)

    def info(self, section: str) -> dict[str, Any]:
        return self.client.info(section)

    def kill(self) -> None:
        """As a machine that loses its power does: at once, with nothing said."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """As a machine that swaps, or a hypervisor that moves it: it is silent and knows nothing of it."""
        os.kill(self.process.pid, signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)
        self.paused = False

    def stop(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.kill()

    def _answers(self) -> bool:
        with suppress(RedisError):
            return bool(self.client.ping())
        return False


class ValkeyCluster:
    """Members by port; who of them is master is asked of the cluster itself."""

    def __init__(self, directory: Path, masters: int, replicas: int) -> None:
        self.members: list[ValkeyServer] = []
        try:
            count = masters * (1 + replicas)
            ports = free_ports(2 * count)
            for number, (port, bus) in enumerate(zip(ports[:count], ports[count:], strict=True)):
                self.members.append(
                    ValkeyServer(
                        directory / str(number),
                        port,
                        cluster_enabled="yes",
                        cluster_port=bus,
                        cluster_node_timeout=NODE_TIMEOUT_MS,
                    )
                )
            self._form(masters, ports[count])
        except BaseException:
            self.stop()
            raise

    @property
    def addresses(self) -> list[str]:
        return [member.address for member in self.members]

    def master_of(self, slot: int) -> ValkeyServer:
        """The member that has a slot, by what the living members say of themselves."""
        for member in self._living():
            with suppress(RedisError):
                for first, last, (_, port, *_), *_ in member.run("CLUSTER", "SLOTS"):
                    if first <= slot <= last:
                        return next(each for each in self.members if each.port == port)
        raise LookupError(slot)

    def replicas_of(self, master: ValkeyServer) -> list[ValkeyServer]:
        """The living replicas of a master that are in step with it."""
        found = []
        for member in self._living():
            with suppress(RedisError):
                told = member.info("replication")
                if (told["role"], told.get("master_port")) == ("slave", master.port):
                    found += [member] if told["master_link_status"] == "up" else []
        return found

    def settled(self) -> bool:
        """Whether all living members see all slots served, by the same masters, and all replicas are in step."""
        living = self._living()
        with suppress(RedisError, LookupError):
            states = [
                dict(line.split(":", 1) for line in each.run("CLUSTER", "INFO").split()) for each in living
            ]
            if any(
                (state["cluster_state"], state["cluster_slots_ok"]) != ("ok", str(SLOTS)) for state in states
            ):
                return False
            maps = {
                tuple((a, b, node[1]) for a, b, node, *_ in sorted(each.run("CLUSTER", "SLOTS")))
                for each in living
            }
            if len(maps) > 1:
                return False
            told = [each.info("replication") for each in living]
            return all(each["role"] == "master" or each["master_link_status"] == "up" for each in told)
        return False

    def wait_settled(self) -> None:
        """Return once the cluster is whole and each master has a replica in step, so that the next kill is survived."""
        wait_until(self.settled, "the cluster to be whole")
        for master in self._masters():
            if not self.replicas_of(master):
                self._give_replica(master)

    def heal(self) -> None:
        """Start who is dead, wake who is paused."""
        for member in self.members:
            if member.paused:
                member.resume()
            elif member.process.poll() is not None:
                member.start()
        self.wait_settled()

    async def fail_over(self, slot: int) -> ValkeyServer:
        """Kill the master of a slot; returns the one that takes its place, once it does."""
        dead = await asyncio.to_thread(self.master_of, slot)
        dead.kill()
        await asyncio.to_thread(wait_until, lambda: self.master_of(slot) is not dead, "a promotion")
        return dead

    async def move(self, slot: int, target: ValkeyServer) -> None:
        """Move a slot key by key, as every server can."""
        await asyncio.to_thread(self._move, slot, target)

    async def move_whole(self, slot: int, target: ValkeyServer) -> None:
        """Move a slot as a whole, as Valkey 9 can."""
        await asyncio.to_thread(self._move_whole, slot, target)

    def stop(self) -> None:
        for member in self.members:
            member.stop()

    def _living(self) -> list[ValkeyServer]:
        return [member for member in self.members if member.process.poll() is None and not member.paused]

    def _masters(self) -> list[ValkeyServer]:
        """The living members that have slots."""
        ports = {port for _, _, (_, port, *_), *_ in self._living()[0].run("CLUSTER", "SLOTS")}
        return [member for member in self._living() if member.port in ports]

    def _give_replica(self, master: ValkeyServer) -> None:
        """Let a member that no master needs follow `master`.

        A master that comes back follows whoever has its last slot, so a master whose slots moved may be left alone.
        """
        masters = self._masters()
        needed = {*masters, *(found[0] for each in masters if (found := self.replicas_of(each)))}
        spare = next(member for member in self._living() if member not in needed)

        def follows() -> bool:
            with suppress(RedisError):  # one that came back a moment ago has not given up its slots yet
                if spare.info("replication").get("master_port") != master.port:
                    spare.run("CLUSTER", "REPLICATE", master.id)
            return bool(self.replicas_of(master))

        wait_until(follows, f"a replica of the server on port {master.port}")
        wait_until(self.settled, "the cluster to be whole")

    def _form(self, masters: int, bus: int) -> None:
        share = SLOTS / masters
        for number, member in enumerate(self.members[:masters]):
            member.run("CLUSTER", "ADDSLOTSRANGE", round(share * number), round(share * (number + 1)) - 1)
            member.run("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for member in self.members[1:]:
            member.run("CLUSTER", "MEET", HOST, self.members[0].port, bus)
        for number, member in enumerate(self.members[masters:]):
            master = self.members[number % masters]
            wait_until(lambda: master.id in member.run("CLUSTER", "NODES"), "members to meet")  # noqa: B023
            member.run("CLUSTER", "REPLICATE", master.id)
        self.wait_settled()
        wait_until(lambda: all(self.replicas_of(each) for each in self.members[:masters]), "replicas")

    def _move(self, slot: int, target: ValkeyServer) -> None:
        source = self.master_of(slot)
        if source is target:
            return
        target.run("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source.run("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        while keys := source.run("CLUSTER", "GETKEYSINSLOT", slot, 10):
            source.run("MIGRATE", HOST, target.port, "", 0, 5_000, "KEYS", *keys)
        for member in (target, source):
            member.run("CLUSTER", "SETSLOT", slot, "NODE", target.id)

    def _move_whole(self, slot: int, target: ValkeyServer) -> None:
        source = self.master_of(slot)
        if source is target:
            return
        source.run("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target.id)
        wait_until(lambda: self.master_of(slot) is target, f"slot {slot} to move")


@contextmanager
def valkey_cluster(directory: Path, *, masters: int = 3, replicas: int = 1) -> Iterator[ValkeyCluster]:
    cluster = ValkeyCluster(directory, masters, replicas)
    try:
        yield cluster
    finally:
        cluster.stop()


def wait_until(true: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not true():
        if time.monotonic() > until:
            raise TimeoutError(f"waited {_PATIENCE_S} s for {what}")
        time.sleep(0.02)


@contextmanager
def valkey(directory: Path, **options: str | int) -> Iterator[ValkeyServer]:
    """One server with options of its own. Its port for a cluster is a free one too: the default may be in use."""
    port, bus = free_ports(2)
    member = ValkeyServer(directory, port, cluster_port=bus, **options)
    try:
        yield member
    finally:
        member.stop()
