"""`probe`: what a confined process of this machine is kept from, found out by confining one."""

from contextlib import suppress
from multiprocessing.connection import Connection

import msgspec

from core import Unavailable
from isolation.confinement import Confinement, Limits, confine
from isolation.worker_process import WorkerProcess

ENOUGH = 1 << 30
"""Bytes: for a process that does nothing."""
LONGEST_S = 60.0
LONGEST = 1 << 20
"""Bytes of its report."""


def probe() -> Confinement:
    """Return what holds. Raises `Unavailable` where no process can be confined."""
    process = WorkerProcess(_report, confined=True)
    report: bytes | None = None
    with suppress(EOFError, OSError):
        if process.pipe.poll(LONGEST_S):
            report = process.pipe.recv_bytes(LONGEST)
    exitcode = process.close(patience_s=LONGEST_S)
    if report is None:
        raise Unavailable(
            f"a worker process ended before it could begin (exit code {exitcode}); look at its output above"
        )
    return msgspec.msgpack.decode(report, type=Confinement)


def _report(pipe: Connection) -> None:
    pipe.send_bytes(msgspec.msgpack.encode(confine(Limits(memory=ENOUGH))))
