"""`Berth`: where one crawl worker lives. Here a process of this machine; `pipeline.rayberth` has that of a cluster.

Whoever supervises workers sees of each whether it lives, how it left and what it said, and can send it signals.
"""

import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from core import ThresherError
from isolation import WorkerProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How a worker ended."""

    exitcode: int | None
    """Of its process, negative for a signal; None where nobody can tell."""
    said: ThresherError | None
    """The error that it named, if it did."""


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
    """What a worker is begun with: a function of a module, its arguments, and after them a `Connection` on which
    it may send one `ThresherError`.
    """
    return pickle.dumps((work, args))


class LocalBerth:
    """A process of this machine. It drains when its supervisor is gone."""

    def __init__(self, told: bytes) -> None:
        """Begin the worker."""
        self._process = WorkerProcess(_begin, told, confined=False, orphaned=signal.SIGTERM)
        self._left: Left | None = None

    def left(self) -> Left | None:
        """How it ended, or None while it lives."""
        return None if self._left is None and self._process.exitcode() is None else self.wait()

    def wait(self) -> Left:
        """Wait until it has ended."""
        if self._left is None:
            said: ThresherError | None = None
            with suppress(EOFError, OSError):
                said = self._process.pipe.recv()
            self._process.wait()
            self._left = Left(exitcode=self._process.close(), said=said)
        return self._left

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal."""
        self._process.signal(signum)

    def __repr__(self) -> str:
        return f"<berth: {self._process}>"


def _begin(complaint: Connection, told: bytes) -> None:
    work, args = pickle.loads(told)  # noqa: S301 - our own supervisor's
    work(*args, complaint)
