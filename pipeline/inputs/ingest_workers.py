"""`IngestWorkers`: worker processes that make archive files, each of them a new interpreter."""

import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from thresher.core import ThresherError
from thresher.isolation import WorkerProcess

Job = TypeVar("Job")
Made = TypeVar("Made")
AHEAD = 2
"""Jobs under way or waiting for each worker, so that none is idle while the next job is prepared."""


def available_workers() -> int:
    """Return the number of workers if the user names none: one per core."""
    return len(os.sched_getaffinity(0))


class IngestWorkers:
    """Some worker processes, which start when there is work. Use it as a context. With one worker, everything is done
    in this process.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._threads = ThreadPoolExecutor(workers)
        self._started: list[WorkerProcess] = []
        self._idle: SimpleQueue[WorkerProcess | None] = SimpleQueue()
        for _ in range(workers):
            self._idle.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)  # no job that waits starts a process
        for process in self._started:
            process.close()
        self._threads.shutdown()

    def submit(self, work: Callable[[Job], Made], job: Job) -> Future[Made]:
        """Do `work(job)` in a worker process. `work` is a function of a module."""
        return self._threads.submit(self._run, work, job)

    def map_in_order(self, work: Callable[[Job], Made], jobs: Iterable[Job]) -> Generator[Made]:
        """Yield `work(job)` for each job, in their order. `work` is a function of a module.

        When the iterator is closed, or a job has raised its error here, no job is under way any more.
        """
        if self.workers == 1:
            yield from map(work, jobs)
            return
        waiting: deque[Future[Made]] = deque()
        try:
            for job in jobs:
                waiting.append(self.submit(work, job))
                if len(waiting) >= AHEAD * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            for future in waiting:
                if not future.cancelled():
                    future.exception()

    def _run(self, work: Callable[[Any], Any], job: object) -> Any:
        process = self._idle.get()
        try:
            if process is None:
                process = WorkerProcess(_serve, is_confined=False)
                self._started.append(process)
            process.pipe.send_bytes(pickle.dumps((work, job)))
            made = pickle.loads(process.pipe.recv_bytes())  # noqa: S301 - our own process
        except (EOFError, OSError) as error:
            code = process.wait() if process is not None else None
            process = None
            raise ThresherError(
                f"ingest: a worker process died (exit code {code}); type the command again: it continues"
            ) from error
        finally:
            self._idle.put(process)
        if isinstance(made, Exception):
            raise made
        return made

    def __repr__(self) -> str:
        return f"<{self.workers} ingest workers>"


def _serve(pipe: Connection) -> None:
    """Do jobs until the parent closes the pipe."""
    while True:
        try:
            work, job = pickle.loads(pipe.recv_bytes())  # noqa: S301 - our own parent's
        except EOFError:
            return
        try:
            made = work(job)
        except Exception as error:  # noqa: BLE001 - raised in the parent
            made = error
        pipe.send_bytes(pickle.dumps(made))
