"""`CrawlWorker`: one crawl worker, wherever it runs. `LocalCrawlWorker` is a process of this machine;
`pipeline.engine.ray.ray_crawl_worker` runs one on a cluster.

The supervisor sees of each worker whether it runs, how it ended and what error it reported, and can send it signals.
"""

import pickle
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from thresher.core import ThresherError
from thresher.crawler.machine.activity import NO_PAGE, Activity, SupervisorChannel
from thresher.isolation import WorkerProcess
from thresher.pipeline.engine.local.event_loop_watchdog import CHECK_INTERVAL_S, EventLoopWatchdog
from thresher.pipeline.telemetry.trace_context import joined, trace_context

EXIT_POLL_S = 0.05
"""Seconds between two checks whether a process that has sent its last message is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerExit:
    """How a worker ended."""

    exitcode: int | None
    """Exit code of its process, negative for a signal; None if it is unknown."""
    error: ThresherError | None
    """The error that the worker reported, if any."""
    stalled_s: float | None = None
    """Seconds after which the worker was ended because its event loop was stalled; None if it was not."""
    page_token: int = NO_PAGE
    """Token of the lease whose page the worker was reading (`crawler.machine.activity`)."""


class CrawlWorker(Protocol):
    """One worker, on any machine."""

    def poll(self) -> WorkerExit | None:
        """Return how the worker ended, or None while it runs. Does not wait."""
        ...

    def wait(self) -> WorkerExit:
        """Wait until the worker has ended."""
        ...

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal. A worker that has ended gets none."""
        ...


WorkerFactory = Callable[[bytes], CrawlWorker]
"""Starts a worker with a call that `pickle_call` made."""


def pickle_call(work: Callable[..., None], *args: object) -> bytes:
    """Return a call for a worker: a function of a module and its arguments. Its `SupervisorChannel` comes last. The
    worker continues the caller's trace.
    """
    return pickle.dumps((work, args, trace_context()))


class LocalCrawlWorker:
    """A process of this machine. It drains when its supervisor is gone."""

    def __init__(self, call: bytes) -> None:
        """Start the worker."""
        self._activity = Activity.make()
        marks = self._activity.descriptors
        self._process = WorkerProcess(
            _run_call, call, marks, is_confined=False, orphan_signal=signal.SIGTERM, descriptors=marks
        )
        self._watchdog = EventLoopWatchdog(self._process, self._activity)
        self._exit: WorkerExit | None = None

    def poll(self) -> WorkerExit | None:
        """Return how the worker ended, or None while it runs. End a worker whose event loop is stalled."""
        self._watchdog.check()
        return None if self._exit is None and self._process.exitcode() is None else self.wait()

    def wait(self) -> WorkerExit:
        """Wait until the worker has ended."""
        if self._exit is None:
            error: ThresherError | None = None
            with suppress(EOFError, OSError):
                while not self._process.pipe.poll(CHECK_INTERVAL_S):
                    self._watchdog.check()
                error = self._process.pipe.recv()
            while self._process.exitcode() is None:
                self._watchdog.check()
                time.sleep(EXIT_POLL_S)
            self._exit = WorkerExit(
                exitcode=self._process.close(),
                error=error,
                stalled_s=self._watchdog.stalled_s,
                page_token=self._activity.page_token,
            )
        return self._exit

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._process.pid

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal."""
        self._process.signal(signum)

    def __repr__(self) -> str:
        return f"<crawl worker: {self._process}>"


def _run_call(errors: Connection, call: bytes, marks: tuple[int, int]) -> None:
    work, args, context = pickle.loads(call)  # noqa: S301 - from our own supervisor
    with joined(context, is_whole_process=True):
        work(*args, SupervisorChannel(error_pipe=errors, activity=Activity.from_descriptors(marks)))
