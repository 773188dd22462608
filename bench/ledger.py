"""`Ledger`: what the workers of a fleet saw of the frontier, written down by themselves.

A fact is written before the call where the call may take effect unseen (`END`, `SETTLE`, `RECLAIM`, `POSTPONE`), and
after it where it tells what the frontier answered (`GRANT`, `ACCEPTED`, `ENTER`). A process that is killed loses none:
the facts of a call are one write.
"""

import os
import struct
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

ROW = struct.Struct("<BBIIIIqqqqq")
"""A fact as it is stored: its fields in their order."""


class Kind(IntEnum):
    """What a fact is about."""

    GRANT = 1
    END = 2
    """An exchange is over: a release, or a settlement of robots.txt, is about to be sent."""
    SETTLE = 3
    """A settlement of a page is about to be sent."""
    ACCEPTED = 4
    """The frontier said that it accepted it."""
    ENTER = 5
    """The frontier said that an address may be asked."""
    RECLAIM = 6
    """A worker's leases are about to be taken back."""
    POSTPONE = 7
    """A lease is about to be given back whose host was not asked."""
    DEATH = 8
    """A worker was ended between two calls."""


class Fact(NamedTuple):
    """One row."""

    kind: Kind
    final: bool = False
    """The settlement ends the life of its URL."""
    version: int = 0
    """GRANT: of the robots record."""
    worker: int = 0
    host: int = 0
    """ENTER: the address."""
    wait: int = 0
    """Milliseconds. GRANT: the pace in force; ACCEPTED: for how long the host is held; ENTER: the address's delay."""
    url: int = -1
    """-1 is robots.txt."""
    token: int = 0
    at: int = 0
    """GRANT: when, by the frontier's clock in milliseconds."""
    before: int = 0
    """Nanoseconds of CLOCK_MONOTONIC at which the call began,"""
    after: int = 0
    """and at which it was answered."""


class Span(NamedTuple):
    """Nanoseconds of CLOCK_MONOTONIC."""

    begin: int
    end: int


class FactLog:
    """One process's facts, in a file of its own."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, facts: Iterable[Fact]) -> None:
        """Write facts, all at once."""
        os.write(self._file, b"".join(ROW.pack(*fact) for fact in facts))
