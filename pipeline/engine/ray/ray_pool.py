"""`RayWorkerPool`: a pool of workers on a Ray cluster.

Rules
1. A worker is an actor with one CPU of some node. It makes parts in a worker process of its own, so a crash there ends
   as it does on one machine. The death of an actor or of its node has no cause in the item, and costs the part one
   attempt.
2. The pool asks for as many workers as there are tasks, up to its limit. Workers without room wait in the cluster,
   where an autoscaler sees them. Workers that are idle for `IDLE_TIMEOUT_S` are given back.
3. A cluster without room for a single worker for `PLACEMENT_TIMEOUT_S` ends the run, in one line.
4. A part counts as sealed on a node when this machine sees the seal: a directory that is not shared is an error, not a
   loss.
5. Nothing outlives the driver: actors belong to it, and end with it.
"""

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from thresher.core import InputError, ThresherError
from thresher.pipeline.engine.ray.actors import NodeRequirements, PartActor, installed_build
from thresher.pipeline.engine.ray.ray_cluster import (
    PLACEMENT_TIMEOUT_S,
    POLL_S,
    cpu_count,
    last_line,
    no_room_error,
    ray_connection,
    start_error,
)
from thresher.pipeline.engine.task import Task, TaskFailure, TaskOutcome, TaskSuccess, WorkerDeath
from thresher.pipeline.terminal.output import warn
from thresher.storage.manifest import manifest_name

IDLE_TIMEOUT_S = 10.0
"""Longer than the driver's work between two steps, and short compared with the wait of other jobs."""
MAX_FAILED_STARTS = 5
"""Actors in a row that may die before they can start. Nodes die, but not all of them."""
VISIBILITY_TIMEOUT_S = 90.0
"""A network file system may show an old view of a directory for 60 s (nfs(5) `acdirmax`); this adds a margin."""


class RayWorkerPool:
    """Actors on a cluster, one per worker. Only one thread may use it."""

    def __init__(self, ray: ModuleType, workers: int | None, patience_s: float = PLACEMENT_TIMEOUT_S) -> None:
        """`ray` is connected. `workers` is the maximum number of workers; None for one per CPU of the cluster."""
        self._ray = ray
        self._limit = workers
        self._patience_s = patience_s
        self._terms = NodeRequirements(build=installed_build())
        self._memory = self._gpus = 0
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
        """How many workers the cluster has CPUs for, up to the limit; at least 1. Other jobs are not considered."""
        room = self._cpus.read()
        return max(1, room if self._limit is None else min(room, self._limit))

    def submit(self, task: Task) -> None:
        """Take a task. Idle workers with too little memory or other GPUs than its step wants are given back."""
        if (task.step.memory, task.step.gpus) != (self._memory, self._gpus):
            self._memory, self._gpus = task.step.memory, task.step.gpus
            for worker in [worker for worker in self._idle if not self._suits(worker)]:
                self._release_worker(worker)
        self._waiting.append(task)

    def next_outcome(self) -> tuple[Task, TaskOutcome]:
        """Wait until a task has ended. Raise `Unavailable` or `InputError` if the cluster cannot do the work."""
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
        """End all workers at once. A later run makes the unfinished parts again."""
        busy = (worker for worker, _ in self._busy.values())
        for worker in (*self._idle, *self._starting.values(), *busy):
            self._kill(worker)
        for each in (self._idle, self._starting, self._busy, self._waiting):
            each.clear()

    def _assign(self) -> None:
        while self._waiting and self._idle:
            worker, task = self._idle.pop(), self._waiting.popleft()
            self._busy[worker.actor.make.remote(pickle.dumps(task.assignment()))] = worker, task

    def _scale(self) -> None:
        """Ask for missing workers, and give back workers for which no task waits."""
        room = self._cpus.read()
        most = max(1, room) if self._limit is None else self._limit
        missing = min(len(self._waiting), most - len(self._busy)) - len(self._starting)
        for _ in range(missing):
            self._start_actor()
        for ref in list(self._starting)[: max(0, -missing)]:
            self._kill(self._starting.pop(ref))
        for worker in [
            worker for worker in self._idle if time.monotonic() - worker.idle_since > IDLE_TIMEOUT_S
        ]:
            self._release_worker(worker)

    def _start_actor(self) -> None:
        actor = (
            self._ray.remote(PartActor)
            .options(
                num_cpus=1,
                num_gpus=self._gpus or None,
                memory=self._memory or None,
                max_restarts=0,
                scheduling_strategy="SPREAD",
            )
            .remote(self._memory)
        )
        worker = _PoolWorker(actor=actor, memory=self._memory, gpus=self._gpus)
        self._starting[actor.check_node.remote(self._terms)] = worker

    def _on_started(self, ref: Any) -> None:
        worker = self._starting.pop(ref)
        try:
            unmet, lacks = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._kill(worker)
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
        self._return_worker(worker)

    def _outcome(self, ref: Any) -> tuple[Task, TaskOutcome]:
        worker, task = self._busy.pop(ref)
        try:
            ended: TaskOutcome = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:  # a defect of ours; the actor lives
            self._return_worker(worker)
            return task, TaskFailure(error=ThresherError(last_line(error)), detail=str(error))
        except self._ray.exceptions.RayError:
            self._kill(worker)  # it may only be out of reach
            return task, WorkerDeath(exitcode=None, item=None)
        self._return_worker(worker)
        if isinstance(ended, TaskSuccess):
            _require_visible(task)
        return task, ended

    def _return_worker(self, worker: "_PoolWorker") -> None:
        if not self._suits(worker):
            self._kill(worker)
            return
        worker.idle_since = self._last_placed = time.monotonic()
        self._idle.append(worker)

    def _suits(self, worker: "_PoolWorker") -> bool:
        return worker.memory >= self._memory and worker.gpus == self._gpus

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
            raise no_room_error(self._ray, self._memory, self._gpus, self._patience_s)

    def __repr__(self) -> str:
        return (
            f"<pool on Ray: {len(self._busy)} busy, {len(self._idle)} idle, {len(self._starting)} starting>"
        )


@dataclass(slots=True, kw_only=True, eq=False)
class _PoolWorker:
    actor: Any
    memory: int
    gpus: int
    idle_since: float = 0.0


@dataclass(slots=True)
class _CachedValue:
    """A number that is measured again when it is older than `POLL_S`."""

    measure: Callable[[], int]
    _value: int = 0
    _at: float = field(default=float("-inf"))

    def read(self) -> int:
        if time.monotonic() - self._at > POLL_S:
            self._value, self._at = self.measure(), time.monotonic()
        return self._value


@contextmanager
def ray_worker_pool(address: str, workers: int | None) -> Iterator[RayWorkerPool]:
    """Yield a pool that closes with the context. `address` is `HOST:PORT`; empty for RAY_ADDRESS or this machine."""
    with ray_connection(address) as ray:
        pool = RayWorkerPool(ray, workers)
        try:
            yield pool
        finally:
            pool.close()


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
