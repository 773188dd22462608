"""`probe_confinement`: which walls hold for a confined process of this machine. It confines a process to find out."""

import os
import select
import signal
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection

import msgspec

from thresher.core import Unavailable
from thresher.isolation.confinement import Confinement, ConfinementLimits, confine
from thresher.isolation.worker_process import WorkerProcess

PROBE_MEMORY_BYTES = 1 << 40
"""Bytes for a process that does nothing, but may be a copy of a large one."""
PROBE_TIMEOUT_S = 60.0
MAX_REPORT_BYTES = 1 << 20
"""Bytes of the report, at most."""


def probe_confinement() -> Confinement:
    """Return which walls hold. Raise `Unavailable` if no process can be confined.

    A process with one thread confines a copy of itself: that takes some 10 ms of CPU, a new interpreter with its
    modules 100 ms. A copy of a process with several threads has only one of them, and locks that the others held stay
    locked for ever. So a process with several threads starts a new interpreter.
    """
    has_one_thread = len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208 - there is nothing to join
    report, exitcode = _probe_in_fork() if has_one_thread else _probe_in_new_process()
    if not report:
        raise Unavailable(
            f"a worker process ended before it could start (exit code {exitcode}); look at its output above"
        )
    return msgspec.msgpack.decode(report, type=Confinement)


def _probe_in_fork() -> tuple[bytes, int]:
    """Return the report of a copy of this process, and the copy's exit code."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        exitcode = 1
        try:
            os.write(theirs, _confine_and_report())
            exitcode = 0
        except BaseException:  # noqa: BLE001 - this is the end of the copy, whatever it was
            traceback.print_exc()
        finally:
            os._exit(exitcode)
    os.close(theirs)
    with open(ours, "rb") as pipe:  # noqa: PTH123 - it has no path
        report = pipe.read(MAX_REPORT_BYTES) if select.select([pipe], [], [], PROBE_TIMEOUT_S)[0] else b""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return report, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _probe_in_new_process() -> tuple[bytes, int]:
    """Return the report of a new process, and its exit code."""
    process = WorkerProcess(_report, is_confined=True)
    report = b""
    with suppress(EOFError, OSError):
        if process.pipe.poll(PROBE_TIMEOUT_S):
            report = process.pipe.recv_bytes(MAX_REPORT_BYTES)
    return report, process.close(timeout_s=PROBE_TIMEOUT_S)


def _report(pipe: Connection) -> None:
    pipe.send_bytes(_confine_and_report())


def _confine_and_report() -> bytes:
    return msgspec.msgpack.encode(confine(ConfinementLimits(memory_bytes=PROBE_MEMORY_BYTES)))
