"""`RayCrawlWorker`: a crawl worker on a Ray cluster."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from thresher.core import ThresherError
from thresher.pipeline.engine.local.crawl_worker import WorkerExit, WorkerFactory
from thresher.pipeline.engine.ray.actors import CrawlActor, NodeRequirements, installed_build, machine_id
from thresher.pipeline.engine.ray.ray_cluster import (
    PLACEMENT_TIMEOUT_S,
    POLL_S,
    cpu_count,
    no_room_error,
    ray_connection,
    start_error,
)
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.store import Store


class RayCrawlWorker:
    """One crawl worker, in a process beside an actor with one CPU of some node."""

    def __init__(
        self,
        ray: ModuleType,
        requirements: NodeRequirements,
        call: bytes,
        patience_s: float = PLACEMENT_TIMEOUT_S,
    ) -> None:
        """Ask for the actor. The worker starts when a node has room."""
        self._ray = ray
        self._actor = (
            ray.remote(CrawlActor)
            .options(num_cpus=1, max_restarts=0, max_concurrency=2, scheduling_strategy="SPREAD")
            .remote()
        )
        self._ready_ref = self._actor.ready.remote()
        self._run_ref = self._actor.run.remote(requirements, call)
        self._is_waiting = True
        self._exit: WorkerExit | None = None
        self._until = time.monotonic() + patience_s
        self._patience_s = patience_s

    def poll(self) -> WorkerExit | None:
        """Return how the worker ended, or None while it runs or waits for room."""
        return self._refresh(timeout_s=0)

    def wait(self) -> WorkerExit:
        """Wait until the worker has ended."""
        while (worker_exit := self._refresh(timeout_s=POLL_S)) is None:
            pass
        return worker_exit

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal. A worker that has no room yet never starts."""
        if self._refresh(timeout_s=0) is not None:
            return
        if self._is_waiting:
            self._close(WorkerExit(exitcode=0, error=None))
        else:
            self._actor.signal.remote(int(signum))

    def _refresh(self, timeout_s: float) -> WorkerExit | None:
        """Bring the state up to date, waiting for a change at most `timeout_s`."""
        if self._exit is None and self._ready(self._run_ref, timeout_s):
            try:
                self._close(self._ray.get(self._run_ref))
            except self._ray.exceptions.RayError as error:
                self._close(WorkerExit(exitcode=None, error=self._actor_error(error)))
        if self._is_waiting and self._exit is None:
            self._is_waiting = not self._ready(self._ready_ref, 0)
            if self._is_waiting and time.monotonic() > self._until:
                self._close(WorkerExit(exitcode=None, error=no_room_error(self._ray, 0, 0, self._patience_s)))
        return self._exit

    def _actor_error(self, error: Exception) -> ThresherError | None:
        """Return the error of an actor that died, or None if another can take its place."""
        if getattr(error, "actor_init_failed", False):
            return start_error(error)
        try:
            cpu_count(self._ray)
        except ThresherError as gone:
            return gone
        return None

    def _ready(self, ref: Any, timeout_s: float) -> bool:
        ready, _ = self._ray.wait([ref], timeout=timeout_s)
        return bool(ready)

    def _close(self, worker_exit: WorkerExit) -> None:
        self._exit = worker_exit
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actor)

    def __repr__(self) -> str:
        state = "ended" if self._exit else "waits for room" if self._is_waiting else "runs"
        return f"<crawl worker on Ray: {state}>"


@contextmanager
def ray_worker_factory(address: str, store: Store, *, is_single_machine: bool) -> Iterator[WorkerFactory]:
    """Yield a factory of crawl workers on the cluster.

    With `is_single_machine` all of them must run on the driver's machine, because only it reaches the embedded Redis.
    """
    with ray_connection(address) as ray, visible_file(store) as witness:
        terms = NodeRequirements(
            build=installed_build(),
            visible_file=witness,
            machine_id=machine_id() if is_single_machine else None,
        )
        yield lambda call: RayCrawlWorker(ray, terms, call)


@contextmanager
def visible_file(store: Store) -> Iterator[Path | None]:
    """Yield a file that every machine that shares the storage must see; None if the storage is no directory."""
    if not isinstance(store, DirectoryStore):
        yield None
        return
    with store.stage("witness") as staged:
        yield staged.path
