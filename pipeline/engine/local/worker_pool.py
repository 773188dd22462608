"""`WorkerPool`: the workers that make parts. `LocalWorkerPool` runs them on this machine;
`pipeline.engine.ray.ray_pool` runs them on a Ray cluster.

A pool knows nothing of attempts or seals: it takes tasks and returns how each ended. The engine decides what follows,
in one place for all pools.
"""

import queue
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from thresher.core import ThresherError, Unavailable
from thresher.pipeline.engine.local.gpu_set import GpuSet
from thresher.pipeline.engine.local.machine_memory import machine_memory
from thresher.pipeline.engine.local.part_process import PartProcess
from thresher.pipeline.engine.local.traced_part import make_traced
from thresher.pipeline.engine.task import Task, TaskFailure, TaskOutcome

MIN_MEMORY = 256 << 20
"""Bytes of the machine's memory for each worker process: with half of it, the libraries of a worker do not load."""


class WorkerPool(Protocol):
    """Takes tasks, and returns their outcomes in any order."""

    @property
    def workers(self) -> int:
        """How many tasks can run at the same time now; at least 1."""
        ...

    def submit(self, task: Task) -> None:
        """Take a task. It waits while all workers are busy."""
        ...

    def next_outcome(self) -> tuple[Task, TaskOutcome]:
        """Wait until a submitted task has ended, and return how."""
        ...


class LocalWorkerPool:
    """Worker processes of this machine, each with the same share of its memory.

    A step's own need (`Step.memory`) changes nothing here, because there is no other machine to make the part on.
    """

    def __init__(
        self, workers: int, sharers: int = 1, before_first: Callable[[], object] | None = None
    ) -> None:
        """`sharers` is how many pools like this one share the machine. `before_first` is called once, before the first
        worker process starts.
        """
        self.workers = workers
        self._before_first = before_first
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[tuple[Task, TaskOutcome]] = queue.SimpleQueue()
        share = machine_memory() // (workers * sharers)
        self._processes = [
            PartProcess(memory=share, gpu_set=GpuSet(worker=number)) for number in range(workers)
        ]
        self._threads = [
            threading.Thread(target=self._run_tasks, args=(process,), daemon=True)
            for process in self._processes
        ]
        self._begun = 0
        self._closing = False

    def submit(self, task: Task) -> None:
        """Take a task. The first tasks start the threads, and each thread starts its process."""
        if not self._begun and self._before_first is not None:
            self._before_first()
        if self._begun < self.workers:
            self._threads[self._begun].start()
            self._begun += 1
        self._tasks.put(task)

    def next_outcome(self) -> tuple[Task, TaskOutcome]:
        """Wait until a task has ended."""
        return self._outcomes.get()

    def close(self) -> None:
        """End all processes at once. A later run makes the unfinished parts again."""
        self._closing = True
        for _ in self._threads[: self._begun]:
            self._tasks.put(None)
        for process in self._processes:
            process.kill()
        for thread in self._threads[: self._begun]:
            thread.join()

    def _run_tasks(self, process: PartProcess) -> None:
        try:
            while (task := self._tasks.get()) is not None and not self._closing:
                try:
                    ended = make_traced(process, task.assignment(), is_whole_process=False)
                except ThresherError as error:
                    ended = TaskFailure(error=error, detail="")
                except Exception as error:  # noqa: BLE001 - every task must get an outcome
                    fault = Unavailable(f"no worker can be started: {type(error).__name__}: {error}")
                    ended = TaskFailure(error=fault, detail=traceback.format_exc())
                self._outcomes.put((task, ended))
        finally:
            process.close()

    def __repr__(self) -> str:
        return f"<pool of {self.workers} workers on this machine>"


def most_workers() -> int:
    """Return the largest number of workers that have `MIN_MEMORY` each; at least 1."""
    return max(machine_memory() // MIN_MEMORY, 1)


@contextmanager
def local_worker_pool(
    workers: int, sharers: int = 1, before_first: Callable[[], object] | None = None
) -> Iterator[LocalWorkerPool]:
    """Yield a pool that closes with the context."""
    pool = LocalWorkerPool(workers, sharers, before_first)
    try:
        yield pool
    finally:
        pool.close()
