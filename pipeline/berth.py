"""`Berth`: where one crawl worker lives. Here a process of this machine; `pipeline.rayberth` has that of a cluster.

Whoever supervises workers sees of each whether it lives, how it left and what it said, and can send it signals.
"""

import os
import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Protocol

from core import ThresherError
from pipeline.cell import SPAWN


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
    """A process of this machine."""

    def __init__(self, told: bytes) -> None:
        """Begin the worker."""
        self._complaint, there = SPAWN.Pipe(duplex=False)
        self._process = SPAWN.Process(target=_begin, args=(told, there))
        self._process.start()
        there.close()

    def left(self) -> Left | None:
        """How it ended, or None while it lives."""
        return self.wait() if self._has_ended() else None

    def wait(self) -> Left:
        """Wait until it has ended."""
        said: ThresherError | None = None
        with suppress(EOFError):
            said = self._complaint.recv()
        self._process.join()
        return Left(exitcode=self._process.exitcode, said=said)

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal."""
        if not self._has_ended() and self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signum)

    def _has_ended(self) -> bool:
        # `is_alive` would take the exit code away from a thread that waits for it.
        return bool(connection.wait([self._process.sentinel], timeout=0))

    def __repr__(self) -> str:
        return f"<berth: process {self._process.pid}>"


def _begin(told: bytes, complaint: Connection) -> None:
    work, args = pickle.loads(told)  # noqa: S301 - our own supervisor's
    work(*args, complaint)
