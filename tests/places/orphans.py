"""No process that tests start outlives the test process that started it, however that one ends.

Each test process has a mark that all processes inherit that it starts, and those that these start, whatever session,
parent, user or environment they have. A small process waits until the test process is gone, and then kills whoever has
its mark. A killed run also leaves its directories; the next run removes them.

The mark is a number that the kernel keeps for each process, passes on, and reads nowhere: the limit of file locks, which
has no meaning since Linux 2.4.25 (getrlimit(2)). A variable of the environment would not do: servers that write a title
for `ps` overwrite their environment.
"""

import os
import resource
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

RLIMIT_LOCKS = 10
"""The number of the limit (`asm-generic/resource.h`)."""
LINE = "Max file locks"
"""Begins its line in /proc/PID/limits."""
POLL_S = 0.1
MAX_ROUNDS = 50
"""While we kill, a process may start another one: so often we look again, at most."""


def kill_orphans_at_the_end() -> None:
    """Mark this process, and start the one that waits for its end."""
    mark = 1 + int.from_bytes(os.urandom(4), "big")
    words = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(mark)]
    nowhere = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in range(3)]
    os.posix_spawn(sys.executable, words, {}, file_actions=nowhere)
    resource.setrlimit(RLIMIT_LOCKS, (mark, resource.getrlimit(RLIMIT_LOCKS)[1]))


def marked(mark: int) -> list[int]:
    """The processes that have the mark."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):  # it is gone
            if process.name.isdigit() and _mark(process) == mark:
                found.append(int(process.name))
    return found


def _mark(process: Path) -> int | None:
    for line in (process / "limits").read_text().splitlines():
        if line.startswith(LINE):
            soft = line.removeprefix(LINE).split()[0]
            return int(soft) if soft.isdigit() else None
    return None


def remove_directories_of_killed_runs(root: Path) -> None:
    """Remove what killed pytest runs of this user left below `root`. A run that ended has no lock there, and a run whose
    lock names a living process is not dead.
    """
    for lock in root.glob("pytest-of-*/pytest-*/.lock"):
        with suppress(OSError, ValueError):
            if lock.stat().st_uid == os.getuid() and not Path("/proc", str(int(lock.read_text()))).exists():
                shutil.rmtree(lock.parent, ignore_errors=True)


def main(parent: int, mark: int) -> None:
    """Wait until `parent` is gone, and kill all that have the mark."""
    os.setsid()  # Ctrl-C is not for us
    os.chdir("/")
    hard = resource.getrlimit(RLIMIT_LOCKS)[1]
    resource.setrlimit(
        RLIMIT_LOCKS, (hard, hard)
    )  # the mark of the process that started our parent is not for us
    while os.getppid() == parent:
        time.sleep(POLL_S)
    for _ in range(MAX_ROUNDS):
        pids = marked(mark)
        if not pids:
            return
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
