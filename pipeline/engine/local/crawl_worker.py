"""`Berth`: where one crawl worker lives. Here a process of this machine; `pipeline.engine.ray.ray_crawl_worker` has that of a cluster.

Whoever supervises workers sees of each whether it lives, how it left and what it said, and can send it signals.
"""

import pickle
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from core import ThresherError
from crawler.machine.activity import NO_PAGE, Activity, SupervisorChannel
from isolation import WorkerProcess
from pipeline.engine.local.event_loop_watchdog import CHECK_INTERVAL_S, EventLoopWatchdog


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerExit:
    """How a worker ended."""

    exitcode: int | None
    """Of its process, negative for a signal; None where nobody can tell."""
    error: ThresherError | None
    """The error that it named, if it did."""
    stalled_s: float | None = None
    """After how many seconds it was ended because its event loop stood still; None where it was not."""
    page_token: int = NO_PAGE
    """Token of the lease whose page it was reading (`crawler.machine.activity`)."""


ENDS_S = 0.05
"""Between two looks whether a process that has said its last is gone."""


class CrawlWorker(Protocol):
    """One worker, somewhere."""

    def poll(self) -> WorkerExit | None:
        """How it ended, or None while it lives. Does not wait."""
        ...

    def wait(self) -> WorkerExit:
        """Wait until it has ended."""
        ...

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal; one that has ended gets none."""
        ...


WorkerFactory = Callable[[bytes], CrawlWorker]
"""Begins a worker that was `call` what to do."""


def pickle_call(work: Callable[..., None], *args: object) -> bytes:
    """What a worker is begun with: a function of a module, its arguments, and after them its `Channel`."""
    return pickle.dumps((work, args))


class LocalCrawlWorker:
    """A process of this machine. It drains when its supervisor is gone."""

    def __init__(self, call: bytes) -> None:
        """Begin the worker."""
        self._activity = Activity.make()
        marks = self._activity.descriptors
        self._process = WorkerProcess(
            _run_call, call, marks, is_confined=False, orphan_signal=signal.SIGTERM, descriptors=marks
        )
        self._watchdog = EventLoopWatchdog(self._process, self._activity)
        self._exit: WorkerExit | None = None

    def poll(self) -> WorkerExit | None:
        """How it ended, or None while it lives. One whose event loop stands still is ended."""
        self._watchdog.check()
        return None if self._exit is None and self._process.exitcode() is None else self.wait()

    def wait(self) -> WorkerExit:
        """Wait until it has ended."""
        if self._exit is None:
            said: ThresherError | None = None
            with suppress(EOFError, OSError):
                while not self._process.pipe.poll(CHECK_INTERVAL_S):
                    self._watchdog.check()
                said = self._process.pipe.recv()
            while self._process.exitcode() is None:
                self._watchdog.check()
                time.sleep(ENDS_S)
            self._exit = WorkerExit(
                exitcode=self._process.close(),
                error=said,
                stalled_s=self._watchdog.stalled_s,
                page_token=self._activity.page_token,
            )
        return self._exit

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal."""
        self._process.signal(signum)

    def __repr__(self) -> str:
        return f"<berth: {self._process}>"


def _run_call(errors: Connection, call: bytes, marks: tuple[int, int]) -> None:
    work, args = pickle.loads(call)  # noqa: S301 - our own supervisor's
    work(*args, SupervisorChannel(error_pipe=errors, activity=Activity.from_descriptors(marks)))
