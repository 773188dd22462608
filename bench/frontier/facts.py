"""`FactLog`: what the workers of a fleet saw of the frontier, as they record it themselves.

A fact is written before its call if the call may take effect unseen (`END`, `SETTLE`, `RECLAIM`, `POSTPONE`), and after
it if the fact is the frontier's reply (`GRANT`, `ACCEPTED`, `ENTER`). A process that is killed loses no fact, because
the facts of one call are one write.
"""

import os
import struct
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

ROW = struct.Struct("<BBIIIIqqqqq")
"""The stored form of a fact: its fields in their order."""


class Kind(IntEnum):
    """What a fact is about."""

    GRANT = 1
    END = 2
    """An exchange is over: a release, or a settlement of robots.txt, is about to be sent."""
    SETTLE = 3
    """A settlement of a page is about to be sent."""
    ACCEPTED = 4
    """The frontier has accepted that settlement."""
    ENTER = 5
    """The frontier has granted an address."""
    RECLAIM = 6
    """A worker's leases are about to be reclaimed."""
    POSTPONE = 7
    """A lease whose host was not requested is about to be postponed."""
    DEATH = 8
    """A worker died between two calls."""


class Fact(NamedTuple):
    """One row of the log."""

    kind: Kind
    final: bool = False
    """Whether the settlement ends the life of its URL."""
    version: int = 0
    """GRANT: version of the robots record."""
    worker: int = 0
    host: int = 0
    """Number of the host; ENTER: of the address."""
    wait: int = 0
    """Milliseconds. GRANT: the host's delay; ACCEPTED: the time for which the host rests; ENTER: the address's delay.
    """
    url: int = -1
    """Number of the page; -1 for robots.txt."""
    token: int = 0
    at: int = 0
    """GRANT: time of the grant by the frontier's clock, in milliseconds."""
    before: int = 0
    """Start of the call, in nanoseconds of CLOCK_MONOTONIC."""
    after: int = 0
    """Arrival of its reply, in the same unit."""


class Span(NamedTuple):
    """An interval in nanoseconds of CLOCK_MONOTONIC."""

    begin: int
    end: int


class FactLog:
    """The facts of one process, in a file of its own."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, facts: Iterable[Fact]) -> None:
        """Append facts with a single write."""
        os.write(self._file, b"".join(ROW.pack(*fact) for fact in facts))
