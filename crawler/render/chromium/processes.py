"""The processes of a browser, from Linux's /proc; on other systems none are visible."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process at one moment."""

    pid: int
    parent: int
    resident: int
    """Bytes in memory, shared ones included."""

    @property
    def is_renderer(self) -> bool:
        """Whether it is one of Chromium's processes that run pages."""
        try:
            return b"--type=renderer" in (PROC / str(self.pid) / "cmdline").read_bytes()
        except OSError:
            return False


def process_tree(root: int) -> list[Process]:
    """Return a process and all its descendants; nothing if it has ended."""
    every = {process.pid: process for process in _all_processes()}
    inside = {root}
    grows = True
    while grows:
        more = {one.pid for one in every.values() if one.parent in inside} - inside
        grows = bool(more)
        inside |= more
    return [every[pid] for pid in sorted(inside) if pid in every]


def kill(pid: int) -> None:
    """Kill a process, if it still exists."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _all_processes() -> Iterator[Process]:
    try:
        places = [place for place in PROC.iterdir() if place.name.isdecimal()]
    except OSError:
        return
    for place in places:
        try:
            stat = (place / "stat").read_bytes()
        except OSError:
            continue  # it ended meanwhile
        # The program's name, in brackets, may contain any character (proc_pid_stat(5)).
        fields = stat[stat.rfind(b")") + 2 :].split()
        yield Process(pid=int(place.name), parent=int(fields[1]), resident=int(fields[21]) * PAGE)
