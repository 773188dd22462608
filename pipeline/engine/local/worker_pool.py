"""`Crew`: the hands that make parts. Here the crew of one machine; `pipeline.engine.ray.ray_pool` has that of a Ray cluster.

A crew knows nothing of attempts or seals: it takes tasks and says how each ended. What follows from that is decided
in one place, by the engine, for all crews alike.
"""

import os
import queue
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from core import ThresherError, Unavailable
from pipeline.engine.local.part_process import PartProcess
from pipeline.engine.task import Task, TaskFailure, TaskOutcome


class WorkerPool(Protocol):
    """Takes tasks, and gives back how they ended, in any order."""

    @property
    def workers(self) -> int:
        """How many tasks can be under way at a time, now. At least 1."""
        ...

    def submit(self, task: Task) -> None:
        """Take a task; it waits where all hands are busy."""
        ...

    def next_outcome(self) -> tuple[Task, TaskOutcome]:
        """Wait until some task that was begun has ended."""
        ...


class LocalWorkerPool:
    """Worker processes of this machine, one for each hand, each with the same share of its memory. What a step says
    that it needs (`Step.memory`) changes nothing here: there is no other machine to make it on.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[tuple[Task, TaskOutcome]] = queue.SimpleQueue()
        share = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // workers
        self._processes = [PartProcess(memory=share) for _ in range(workers)]
        self._threads = [
            threading.Thread(target=self._run_tasks, args=(cell,), daemon=True) for cell in self._processes
        ]
        self._begun = 0
        self._closing = False

    def submit(self, task: Task) -> None:
        """Take a task. The threads are begun with the first tasks, their processes by them."""
        if self._begun < self.workers:
            self._threads[self._begun].start()
            self._begun += 1
        self._tasks.put(task)

    def next_outcome(self) -> tuple[Task, TaskOutcome]:
        """Wait until some task has ended."""
        return self._outcomes.get()

    def close(self) -> None:
        """End all processes, at once: what was being made is made again some day."""
        self._closing = True
        for _ in self._threads[: self._begun]:
            self._tasks.put(None)
        for cell in self._processes:
            cell.kill()
        for thread in self._threads[: self._begun]:
            thread.join()

    def _run_tasks(self, process: PartProcess) -> None:
        try:
            while (task := self._tasks.get()) is not None and not self._closing:
                try:
                    ended = process.make(task.assignment())
                except ThresherError as error:
                    ended = TaskFailure(error=error, detail="")
                except Exception as error:  # noqa: BLE001 - whoever waits for the end of the task must have one
                    fault = Unavailable(f"no worker can be begun: {type(error).__name__}: {error}")
                    ended = TaskFailure(error=fault, detail=traceback.format_exc())
                self._outcomes.put((task, ended))
        finally:
            process.close()

    def __repr__(self) -> str:
        return f"<crew of {self.workers} on this machine>"


@contextmanager
def local_worker_pool(workers: int) -> Iterator[LocalWorkerPool]:
    """A crew for the time of the context."""
    crew = LocalWorkerPool(workers)
    try:
        yield crew
    finally:
        crew.close()
