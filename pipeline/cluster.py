"""`RayCrew`: the hands of a Ray cluster, and the berths of crawl workers on it.

Rules
1. A hand is an actor with one CPU of some node, and works in a cell of its own: what crashes there ends as it does on
   one machine. The death of an actor or of its node is somebody else's doing, and costs the part one attempt.
2. As many hands are asked for as tasks are under way, up to what was asked for; those that have no room yet wait in
   the cluster, where an autoscaler sees them. Hands that were idle for `IDLE_S` are given back.
3. A cluster that has no room for a single one for a while ends the run, in one line.
4. What a node has sealed counts when it is seen here: a directory that is not shared is an error, not a loss.
5. Nothing outlives the driver: actors are its own, and end with it.
"""

import logging
import os
import pickle
import signal
import socket
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from core import InputError, ThresherError, Unavailable
from pipeline.berth import Left, Place
from pipeline.node import Hand, Seat, Terms, build, machine
from pipeline.work import Died, Ended, Raised, Sealed, Task
from storage.files import Files
from storage.manifest import manifest_name
from storage.store import Store

IDLE_S = 10.0
"""Long enough for what the driver does between two steps, short beside what others wait for."""
PATIENCE_S = 300.0
"""An autoscaler starts a machine in less."""
POLL_S = 1.0
STILLBORN = 5
"""Actors in a row that may die before they can begin; nodes die, but not all of them."""
VISIBLE_S = 90.0
"""For how long a network file system may keep an old view of a directory (60 s, nfs(5) `acdirmax`), and some."""
PROBE_S = 10.0
CLIENT = "ray://"


class RayCrew:
    """Actors on a cluster, one for each hand. For one thread."""

    def __init__(self, ray: ModuleType, hands: int | None, patience_s: float = PATIENCE_S) -> None:
        """`ray` is connected; `hands` is how many may be asked for, or None for one for each CPU there is."""
        self._ray = ray
        self._limit = hands
        self._patience_s = patience_s
        self._terms = Terms(build=build())
        self._memory = 0
        self._waiting: deque[Task] = deque()
        self._idle: list[_Hand] = []
        self._coming: dict[Any, _Hand] = {}
        self._busy: dict[Any, tuple[_Hand, Task]] = {}
        self._stillborn = 0
        self._last_placed = time.monotonic()
        self._cpus = _Gauge(lambda: int(ray.cluster_resources().get("CPU", 0)))

    @property
    def hands(self) -> int:
        """How many the cluster has room for, other jobs apart, up to what was asked for; at least 1."""
        room = self._cpus.read()
        return max(1, room if self._limit is None else min(room, self._limit))

    def begin(self, task: Task) -> None:
        """Take a task. Hands that have too little memory for its step are given back."""
        if task.step.memory != self._memory:
            self._memory = task.step.memory
            for hand in [hand for hand in self._idle if hand.memory < self._memory]:
                self._give_back(hand)
        self._waiting.append(task)

    def ended(self) -> tuple[Task, Ended]:
        """Wait until some task has ended. Raises `Unavailable` and `InputError` where the cluster will not do."""
        while True:
            self._assign()
            self._staff()
            ready, _ = self._ray.wait([*self._busy, *self._coming], num_returns=1, timeout=POLL_S)
            for ref in ready:
                if ref in self._busy:
                    return self._finished(ref)
                self._arrived(ref)
            self._lose_patience()

    def close(self) -> None:
        """End all hands, at once: what was being made is made again some day."""
        for hand in (*self._idle, *self._coming.values(), *(hand for hand, _ in self._busy.values())):
            self._kill(hand)
        for hands in (self._idle, self._coming, self._busy, self._waiting):
            hands.clear()

    def _assign(self) -> None:
        while self._waiting and self._idle:
            hand, task = self._idle.pop(), self._waiting.popleft()
            self._busy[hand.actor.make.remote(pickle.dumps(task))] = hand, task

    def _staff(self) -> None:
        """Ask for the hands that are missing, give back those that nothing waits for."""
        most = self.hands if self._limit is None else self._limit
        missing = min(len(self._waiting), most - len(self._busy)) - len(self._coming)
        for _ in range(missing):
            self._ask()
        for ref in list(self._coming)[: max(0, -missing)]:
            self._kill(self._coming.pop(ref))
        for hand in [hand for hand in self._idle if time.monotonic() - hand.idle_since > IDLE_S]:
            self._give_back(hand)

    def _ask(self) -> None:
        actor = (
            self._ray.remote(Hand)
            .options(num_cpus=1, memory=self._memory or None, max_restarts=0, scheduling_strategy="SPREAD")
            .remote(self._memory)
        )
        self._coming[actor.hello.remote(self._terms)] = _Hand(actor=actor, memory=self._memory)

    def _arrived(self, ref: Any) -> None:
        hand = self._coming.pop(ref)
        try:
            unmet = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._kill(hand)
            self._stillborn += 1
            if self._stillborn >= STILLBORN or getattr(error, "actor_init_failed", False):
                raise _cannot_begin(error) from None
            return
        if unmet:
            raise InputError(f"project.engine: {unmet}")
        self._stillborn = 0
        self._take_back(hand)

    def _finished(self, ref: Any) -> tuple[Task, Ended]:
        hand, task = self._busy.pop(ref)
        try:
            ended: Ended = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:  # a defect of ours; the actor lives
            self._take_back(hand)
            return task, Raised(error=ThresherError(_line(error)), detail=str(error))
        except self._ray.exceptions.RayError:
            self._kill(hand)  # it may only be out of reach
            return task, Died(exitcode=None, item=None)
        self._take_back(hand)
        if isinstance(ended, Sealed):
            _require_visible(task)
        return task, ended

    def _take_back(self, hand: "_Hand") -> None:
        if hand.memory < self._memory:
            self._kill(hand)
            return
        hand.idle_since = self._last_placed = time.monotonic()
        self._idle.append(hand)

    def _give_back(self, hand: "_Hand") -> None:
        self._idle.remove(hand)
        self._kill(hand)

    def _kill(self, hand: "_Hand") -> None:
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(hand.actor)

    def _lose_patience(self) -> None:
        if self._busy or self._idle:
            self._last_placed = time.monotonic()
        if time.monotonic() - self._last_placed > self._patience_s:
            raise _no_room(self._ray, self._memory, self._patience_s)

    def __repr__(self) -> str:
        return f"<crew on Ray: {len(self._busy)} busy, {len(self._idle)} idle, {len(self._coming)} asked for>"


@dataclass(slots=True, kw_only=True, eq=False)
class _Hand:
    actor: Any
    memory: int
    idle_since: float = 0.0


@dataclass(slots=True)
class _Gauge:
    """A number that is read anew when it is older than `POLL_S`."""

    measure: Any
    _value: int = 0
    _at: float = field(default=float("-inf"))

    def read(self) -> int:
        if time.monotonic() - self._at > POLL_S:
            self._value, self._at = self.measure(), time.monotonic()
        return self._value


class RayBerth:
    """One crawl worker, in a process beside an actor with one CPU of some node."""

    def __init__(self, ray: ModuleType, terms: Terms, told: bytes, patience_s: float = PATIENCE_S) -> None:
        """Ask for the actor; the worker begins where and when there is room."""
        self._ray = ray
        self._actor = (
            ray.remote(Seat)
            .options(num_cpus=1, max_restarts=0, max_concurrency=2, scheduling_strategy="SPREAD")
            .remote()
        )
        self._taken = self._actor.taken.remote()
        self._stay = self._actor.stay.remote(terms, told)
        self._waits = True
        self._left: Left | None = None
        self._until = time.monotonic() + patience_s
        self._patience_s = patience_s

    def left(self) -> Left | None:
        """How it ended, or None while it lives or waits for room."""
        return self._look(timeout_s=0)

    def wait(self) -> Left:
        """Wait until it has ended."""
        while (left := self._look(timeout_s=POLL_S)) is None:
            pass
        return left

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal. A worker that has no room yet never begins."""
        if self._look(timeout_s=0) is not None:
            return
        if self._waits:
            self._leave(Left(exitcode=0, said=None))
        else:
            self._actor.signal.remote(int(signum))

    def _look(self, timeout_s: float) -> Left | None:
        """Bring what is known up to date, waiting for news no longer than that."""
        if self._left is None and self._ready(self._stay, timeout_s):
            try:
                self._leave(self._ray.get(self._stay))
            except self._ray.exceptions.RayError as error:
                said = _cannot_begin(error) if getattr(error, "actor_init_failed", False) else None
                self._leave(Left(exitcode=None, said=said))
        if self._waits and self._left is None:
            self._waits = not self._ready(self._taken, 0)
            if self._waits and time.monotonic() > self._until:
                self._leave(Left(exitcode=None, said=_no_room(self._ray, 0, self._patience_s)))
        return self._left

    def _ready(self, ref: Any, timeout_s: float) -> bool:
        ready, _ = self._ray.wait([ref], timeout=timeout_s)
        return bool(ready)

    def _leave(self, left: Left) -> None:
        self._left = left
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actor)

    def __repr__(self) -> str:
        state = "left" if self._left else "waits for room" if self._waits else "works"
        return f"<berth on Ray: {state}>"


@contextmanager
def ray_crew(address: str, hands: int | None) -> Iterator[RayCrew]:
    """A crew for the time of the context. `address` is `HOST:PORT`, or empty for RAY_ADDRESS or this machine's."""
    with connected(address) as ray:
        crew = RayCrew(ray, hands)
        try:
            yield crew
        finally:
            crew.close()


@contextmanager
def ray_berths(address: str, store: Store, *, one_machine: bool) -> Iterator[Place]:
    """A place for crawl workers on the cluster, for the time of the context. `one_machine`: they must all be on the
    driver's, for what they talk to is reached from there alone.
    """
    with connected(address) as ray, _witness(store) as witness:
        terms = Terms(build=build(), sees=witness, machine=machine() if one_machine else None)
        yield lambda told: RayBerth(ray, terms, told)


@contextmanager
def connected(address: str) -> Iterator[ModuleType]:
    """Ray, connected to a cluster that runs. Never starts one."""
    try:
        import ray  # noqa: PLC0415 - an extra, and half a second
    except ImportError:
        raise InputError(
            'project.engine = "ray" needs another package: pip install "thresher[ray]"'
        ) from None
    where = address or os.environ.get("RAY_ADDRESS", "")
    _probe(where)
    handler = signal.getsignal(signal.SIGTERM)
    # Ray prints what its nodes complain of to our stdout, and has no setting against it.
    ray._private.worker.listen_error_messages = lambda *_: None  # noqa: SLF001
    try:
        ray.init(address=where or "auto", log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        raise Unavailable(
            f"no Ray cluster at {where or 'this machine'}: {_line(error)}; start one (`ray start --head`), or set "
            'project.engine = "local"'
        ) from None
    finally:
        if signal.getsignal(signal.SIGTERM) is not handler:  # what SIGTERM means is not Ray's to say
            signal.signal(signal.SIGTERM, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _probe(where: str) -> None:
    """Ray itself waits for minutes where nobody listens."""
    if where.startswith(CLIENT):
        raise InputError(
            f"RAY_ADDRESS={where}: Thresher does not go through Ray's client; run it on a machine of the cluster, "
            "with HOST:PORT of its head"
        )
    if where in {"", "auto"}:
        return
    host, _, port = where.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"RAY_ADDRESS={where}: give HOST:PORT of the cluster's head")
    try:
        socket.create_connection((host, int(port)), timeout=PROBE_S).close()
    except OSError as error:
        raise Unavailable(
            f"no Ray cluster answers at {where} ({error.strerror or error}); start one (`ray start --head`), or "
            'set project.engine = "local"'
        ) from None


@contextmanager
def _witness(store: Store) -> Iterator[Any]:
    """A file that whoever shares the storage must see; None where the storage is no directory."""
    if not isinstance(store, Files):
        yield None
        return
    with store.stage("witness") as staged:
        yield staged.path


def _require_visible(task: Task) -> None:
    name = manifest_name(task.step.name, task.part.name)
    until = time.monotonic() + VISIBLE_S
    while not task.store.exists(name):
        if time.monotonic() > until:
            raise InputError(
                f"{name} was sealed on a node and is not in {task.store.uri} here; share that directory among the "
                "machines of the cluster, or use s3:"
            )
        time.sleep(POLL_S)


def _no_room(ray: ModuleType, memory: int, patience_s: float) -> Unavailable:
    has, free = ray.cluster_resources(), ray.available_resources()
    wanted = f"1 CPU and {memory >> 20:,} MiB of memory" if memory else "1 CPU"
    return Unavailable(
        f"the Ray cluster had no room for a worker ({wanted} on one node) for {patience_s:.0f} s: "
        f"{free.get('CPU', 0):.0f} of {has.get('CPU', 0):.0f} CPUs and {int(free.get('memory', 0)) >> 20:,} of "
        f"{int(has.get('memory', 0)) >> 20:,} MiB are free on {len(ray.nodes())} nodes; add nodes, or end other jobs"
    )


def _cannot_begin(error: Exception) -> ThresherError:
    text = str(error)
    if "failed to be imported" in text or "failed to import" in text or "ModuleNotFoundError" in text:
        return InputError(
            "project.engine: a node of the Ray cluster has no Thresher; install the same version there"
        )
    return Unavailable(f"workers on the Ray cluster die before they begin: {_line(error)}")


def _line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
