"""`WorkerProcess`: a supervised child process whose death is a value.

1. It runs one function of a module in a new interpreter, with a pipe to its parent. It inherits no memory, no file but
   standard error, and no terminal: Ctrl-C reaches only the parent, which decides what it means.
2. Nothing that happens to it raises here. How it ended is its exit code, negative for a signal.
3. When its parent is gone, in whatever way, the kernel sends it a signal: SIGKILL, unless the parent asked for another.
4. A process that will be confined has an environment without secrets, and `/` as its directory.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection

from thresher.isolation.deadline import Deadline
from thresher.isolation.environment import scrub_environment

BOOTSTRAP_CODE = (
    "import sys; sys.path[:] = sys.argv[4:];"
    " from thresher.isolation.child import spawn_main; spawn_main(*map(int, sys.argv[1:4]))"
)
"""The entry point has the name that `multiprocessing` uses for its own, so that readers of a
process list recognise it.
"""
CLOCK_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
UTIME_FIELD, STIME_FIELD = 11, 12
"""Positions of CPU time among the fields of /proc/PID/stat that follow the name (proc_pid_stat(5),
fields 14 and 15).
"""


class WorkerProcess:
    """A child process. `pipe` leads to it; its first message is the function and its arguments."""

    def __init__(
        self,
        target: Callable[..., None],
        *args: object,
        is_confined: bool,
        orphan_signal: signal.Signals = signal.SIGKILL,
        descriptors: tuple[int, ...] = (),
    ) -> None:
        """Start `target(pipe, *args)`; both travel by pickle.

        `is_confined` gives it a scrubbed environment; `target` must call `confine` before it reads what strangers
        wrote. `orphan_signal` is the signal that it gets when this process is gone. `descriptors` are open files that
        it inherits under the same numbers. Raise `OSError` if no process can be started.
        """
        ours, theirs = socket.socketpair()
        child_lifeline, self._lifeline = os.pipe()
        try:
            inherited = (theirs.fileno(), child_lifeline)
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own code
                [
                    sys.executable,
                    *subprocess._args_from_interpreter_flags(),  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing does
                    "-P",
                    "-c",
                    BOOTSTRAP_CODE,
                    *map(str, (*inherited, int(orphan_signal))),
                    *(entry or os.getcwd() for entry in sys.path),  # noqa: PTH109 - what an empty entry means
                ],
                stdin=subprocess.DEVNULL,
                stdout=2 if is_confined else None,
                env=scrub_environment(os.environ) if is_confined else None,
                cwd="/" if is_confined else None,
                pass_fds=(*inherited, *descriptors),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            os.close(self._lifeline)
            raise
        finally:
            theirs.close()
            os.close(child_lifeline)
        self._deadline = Deadline(partial(self.signal, signal.SIGKILL))
        self.pipe = Connection(ours.detach())
        with suppress(OSError):  # it is dead already: a reader of the pipe notices
            self.pipe.send_bytes(pickle.dumps((target, args)))

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._process.pid

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all its threads; 0 if it is gone."""
        with suppress(OSError), open(f"/proc/{self.pid}/stat", "rb") as file:  # noqa: PTH123 - there is nothing to join
            stat = file.read()
            fields = stat[stat.rfind(b")") + 2 :].split()
            return (int(fields[UTIME_FIELD]) + int(fields[STIME_FIELD])) / CLOCK_TICKS_PER_SECOND
        return 0.0

    def exitcode(self) -> int | None:
        """Return the exit code, negative for a signal; None while the process lives. Does not wait."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait until the process has ended, and return its exit code."""
        return self._process.wait()

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signum)

    @contextmanager
    def within(self, limit_s: float) -> Iterator[None]:
        """Kill the process if the body takes longer than `limit_s` seconds. So the body waits for ever neither for the
        end of a message that the process has begun, nor for room in a pipe that the process does not read.
        """
        with self._deadline.within(limit_s):
            yield

    def close(self, timeout_s: float = 0.0) -> int:
        """End the process, if it does not end by itself within `timeout_s` seconds; free its resources, and return its
        exit code.
        """
        try:
            exitcode = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            exitcode = self.wait()
        self._deadline.close()
        self.pipe.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        return exitcode

    def __repr__(self) -> str:
        return f"<worker process {self.pid}>"
