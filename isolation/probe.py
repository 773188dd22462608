"""`probe`: what a confined process of this machine is kept from, found out by confining one."""

from contextlib import suppress
from multiprocessing.connection import Connection

import msgspec

from core import Unavailable
from isolation.confinement import Confinement, ConfinementLimits, confine
from isolation.worker_process import WorkerProcess

PROBE_MEMORY_BYTES = 1 << 30
"""Bytes: for a process that does nothing."""
PROBE_TIMEOUT_S = 60.0
MAX_REPORT_BYTES = 1 << 20
"""Bytes of its report."""


def probe_confinement() -> Confinement:
    """Return what holds. Raises `Unavailable` where no process can be confined."""
    process = WorkerProcess(_report, is_confined=True)
    report: bytes | None = None
    with suppress(EOFError, OSError):
        if process.pipe.poll(PROBE_TIMEOUT_S):
            report = process.pipe.recv_bytes(MAX_REPORT_BYTES)
    exitcode = process.close(timeout_s=PROBE_TIMEOUT_S)
    if report is None:
        raise Unavailable(
            f"a worker process ended before it could begin (exit code {exitcode}); look at its output above"
        )
    return msgspec.msgpack.decode(report, type=Confinement)


def _report(pipe: Connection) -> None:
    pipe.send_bytes(msgspec.msgpack.encode(confine(ConfinementLimits(memory_bytes=PROBE_MEMORY_BYTES))))
