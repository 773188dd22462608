"""`RayCrew`: the hands of a Ray cluster.

Rules
1. A hand is an actor with one CPU of some node, and works in a cell of its own: what crashes there ends as it does on
   one machine. The death of an actor or of its node is somebody else's doing, and costs the part one attempt.
2. As many hands are asked for as tasks are under way, up to what was asked for; those that have no room yet wait in
   the cluster, where an autoscaler sees them. Hands that were idle for `IDLE_S` are given back.
3. A cluster that has no room for a single one for a while ends the run, in one line.
4. What a node has sealed counts when it is seen here: a directory that is not shared is an error, not a loss.
5. Nothing outlives the driver: actors are its own, and end with it.
"""

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from core import InputError, ThresherError
from pipeline.engine.ray.actors import NodeRequirements, PartActor, installed_build
from pipeline.engine.ray.ray_cluster import (
    PLACEMENT_TIMEOUT_S,
    POLL_S,
    cpu_count,
    last_line,
    no_room_error,
    ray_connection,
    start_error,
)
from pipeline.engine.task import Task, TaskFailure, TaskOutcome, TaskSuccess, WorkerDeath
from pipeline.terminal.output import warn
from storage.manifest import manifest_name

IDLE_TIMEOUT_S = 10.0
"""Long enough for what the driver does between two steps, short beside what others wait for."""
MAX_FAILED_STARTS = 5
"""Actors in a row that may die before they can begin; nodes die, but not all of them."""
VISIBILITY_TIMEOUT_S = 90.0
"""For how long a network file system may keep an old view of a directory (60 s, nfs(5) `acdirmax`), and some."""


class RayWorkerPool:
    """Actors on a cluster, one for each hand. For one thread."""

    def __init__(self, ray: ModuleType, workers: int | None, patience_s: float = PLACEMENT_TIMEOUT_S) -> None:
        """`ray` is connected; `workers` is how many may be asked for, or None for one for each CPU there is."""
        self._ray = ray
        self._limit = workers
        self._patience_s = patience_s
        self._terms = NodeRequirements(build=installed_build())
        self._memory = 0
        self._waiting: deque[Task] = deque()
        self._idle: list[_PoolWorker] = []
        self._starting: dict[Any, _PoolWorker] = {}
        self._busy: dict[Any, tuple[_PoolWorker, Task]] = {}
        self._failed_starts = 0
        self._warned: set[str] = set()
        self._last_placed = time.monotonic()
        self._cpus = _CachedValue(lambda: cpu_count(ray))

    @property
    def workers(self) -> int:
        """How many the cluster has room for, other jobs apart, up to what was asked for; at least 1."""
        room = self._cpus.read()
        return max(1, room if self._limit is None else min(room, self._limit))

    def submit(self, task: Task) -> None:
        """Take a task. Hands that have too little memory for its step are given back."""
        if task.step.memory != self._memory:
            self._memory = task.step.memory
            for hand in [hand for hand in self._idle if hand.memory < self._memory]:
                self._release_worker(hand)
        self._waiting.append(task)

    def next_outcome(self) -> tuple[Task, TaskOutcome]:
        """Wait until some task has ended. Raises `Unavailable` and `InputError` where the cluster will not do."""
        while True:
            self._assign()
            self._scale()
            ready, _ = self._ray.wait([*self._busy, *self._starting], num_returns=1, timeout=POLL_S)
            for ref in ready:
                if ref in self._busy:
                    return self._outcome(ref)
                self._on_started(ref)
            self._check_timeout()

    def close(self) -> None:
        """End all hands, at once: what was being made is made again some day."""
        for hand in (*self._idle, *self._starting.values(), *(hand for hand, _ in self._busy.values())):
            self._kill(hand)
        for each in (self._idle, self._starting, self._busy, self._waiting):
            each.clear()

    def _assign(self) -> None:
        while self._waiting and self._idle:
            hand, task = self._idle.pop(), self._waiting.popleft()
            self._busy[hand.actor.make.remote(pickle.dumps(task.assignment()))] = hand, task

    def _scale(self) -> None:
        """Ask for the hands that are missing, give back those that nothing waits for."""
        room = self._cpus.read()
        most = max(1, room) if self._limit is None else self._limit
        missing = min(len(self._waiting), most - len(self._busy)) - len(self._starting)
        for _ in range(missing):
            self._start_actor()
        for ref in list(self._starting)[: max(0, -missing)]:
            self._kill(self._starting.pop(ref))
        for hand in [hand for hand in self._idle if time.monotonic() - hand.idle_since > IDLE_TIMEOUT_S]:
            self._release_worker(hand)

    def _start_actor(self) -> None:
        actor = (
            self._ray.remote(PartActor)
            .options(num_cpus=1, memory=self._memory or None, max_restarts=0, scheduling_strategy="SPREAD")
            .remote(self._memory)
        )
        self._starting[actor.hello.remote(self._terms)] = _PoolWorker(actor=actor, memory=self._memory)

    def _on_started(self, ref: Any) -> None:
        hand = self._starting.pop(ref)
        try:
            unmet, lacks = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._kill(hand)
            self._failed_starts += 1
            if self._failed_starts >= MAX_FAILED_STARTS or getattr(error, "actor_init_failed", False):
                raise start_error(error) from None
            return
        if unmet:
            raise InputError(f"project.engine: {unmet}")
        for lack in lacks:
            if lack not in self._warned:
                warn(f"isolation: {lack}; see docs/security.md")
        self._warned.update(lacks)
        self._failed_starts = 0
        self._return_worker(hand)

    def _outcome(self, ref: Any) -> tuple[Task, TaskOutcome]:
        hand, task = self._busy.pop(ref)
        try:
            ended: TaskOutcome = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:  # a defect of ours; the actor lives
            self._return_worker(hand)
            return task, TaskFailure(error=ThresherError(last_line(error)), detail=str(error))
        except self._ray.exceptions.RayError:
            self._kill(hand)  # it may only be out of reach
            return task, WorkerDeath(exitcode=None, item=None)
        self._return_worker(hand)
        if isinstance(ended, TaskSuccess):
            _require_visible(task)
        return task, ended

    def _return_worker(self, worker: "_PoolWorker") -> None:
        if worker.memory < self._memory:
            self._kill(worker)
            return
        worker.idle_since = self._last_placed = time.monotonic()
        self._idle.append(worker)

    def _release_worker(self, worker: "_PoolWorker") -> None:
        self._idle.remove(worker)
        self._kill(worker)

    def _kill(self, worker: "_PoolWorker") -> None:
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(worker.actor)

    def _check_timeout(self) -> None:
        if self._busy or self._idle:
            self._last_placed = time.monotonic()
        if time.monotonic() - self._last_placed > self._patience_s:
            raise no_room_error(self._ray, self._memory, self._patience_s)

    def __repr__(self) -> str:
        return (
            f"<crew on Ray: {len(self._busy)} busy, {len(self._idle)} idle, {len(self._starting)} asked for>"
        )


@dataclass(slots=True, kw_only=True, eq=False)
class _PoolWorker:
    actor: Any
    memory: int
    idle_since: float = 0.0


@dataclass(slots=True)
class _CachedValue:
    """A number that is read anew when it is older than `POLL_S`."""

    measure: Callable[[], int]
    _value: int = 0
    _at: float = field(default=float("-inf"))

    def read(self) -> int:
        if time.monotonic() - self._at > POLL_S:
            self._value, self._at = self.measure(), time.monotonic()
        return self._value


@contextmanager
def ray_worker_pool(address: str, workers: int | None) -> Iterator[RayWorkerPool]:
    """A crew for the time of the context. `address` is `HOST:PORT`, or empty for RAY_ADDRESS or this machine's."""
    with ray_connection(address) as ray:
        crew = RayWorkerPool(ray, workers)
        try:
            yield crew
        finally:
            crew.close()


def _require_visible(task: Task) -> None:
    name = manifest_name(task.step.name, task.part.name)
    until = time.monotonic() + VISIBILITY_TIMEOUT_S
    while not task.store.exists(name):
        if time.monotonic() > until:
            raise InputError(
                f"{name} was sealed on a node and is not in {task.store.uri} here; share that directory among the "
                "machines of the cluster, or use s3:"
            )
        time.sleep(POLL_S)
