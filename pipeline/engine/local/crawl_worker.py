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
from crawler.machine.activity import NOTHING, Activity, Channel
from isolation import WorkerProcess
from pipeline.engine.local.event_loop_watchdog import EVERY_S, Supervision


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How a worker ended."""

    exitcode: int | None
    """Of its process, negative for a signal; None where nobody can tell."""
    said: ThresherError | None
    """The error that it named, if it did."""
    stood_s: float | None = None
    """After how many seconds it was ended because its event loop stood still; None where it was not."""
    reads: int = NOTHING
    """Token of the lease whose page it was reading (`crawler.machine.activity`)."""


ENDS_S = 0.05
"""Between two looks whether a process that has said its last is gone."""


class Berth(Protocol):
    """One worker, somewhere."""

    def left(self) -> Left | None:
        """How it ended, or None while it lives. Does not wait."""
        ...

    def wait(self) -> Left:
        """Wait until it has ended."""
        ...

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal; one that has ended gets none."""
        ...


Place = Callable[[bytes], Berth]
"""Begins a worker that was `told` what to do."""


def told(work: Callable[..., None], *args: object) -> bytes:
    """What a worker is begun with: a function of a module, its arguments, and after them its `Channel`."""
    return pickle.dumps((work, args))


class LocalBerth:
    """A process of this machine. It drains when its supervisor is gone."""

    def __init__(self, told: bytes) -> None:
        """Begin the worker."""
        self._activity = Activity.make()
        marks = self._activity.descriptors
        self._process = WorkerProcess(
            _begin, told, marks, is_confined=False, orphan_signal=signal.SIGTERM, descriptors=marks
        )
        self._supervision = Supervision(self._process, self._activity)
        self._left: Left | None = None

    def left(self) -> Left | None:
        """How it ended, or None while it lives. One whose event loop stands still is ended."""
        self._supervision.look()
        return None if self._left is None and self._process.exitcode() is None else self.wait()

    def wait(self) -> Left:
        """Wait until it has ended."""
        if self._left is None:
            said: ThresherError | None = None
            with suppress(EOFError, OSError):
                while not self._process.pipe.poll(EVERY_S):
                    self._supervision.look()
                said = self._process.pipe.recv()
            while self._process.exitcode() is None:
                self._supervision.look()
                time.sleep(ENDS_S)
            self._left = Left(
                exitcode=self._process.close(),
                said=said,
                stood_s=self._supervision.stood_s,
                reads=self._activity.reads,
            )
        return self._left

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal."""
        self._process.signal(signum)

    def __repr__(self) -> str:
        return f"<berth: {self._process}>"


def _begin(complaint: Connection, told: bytes, marks: tuple[int, int]) -> None:
    work, args = pickle.loads(told)  # noqa: S301 - our own supervisor's
    work(*args, Channel(complaint=complaint, activity=Activity.inherited(marks)))
