"""`usage`: the CPU time and the memory of a process and its descendants, read from /proc."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

CLOCK_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
CPU_FIELDS = slice(11, 15)
"""utime, stime, and both of children that have ended, among the fields of /proc/PID/stat that follow the name
(proc_pid_stat(5), fields 14 to 17).
"""
RESIDENT_FIELD = 21
"""rss in pages (field 24)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What some processes have used."""

    cpu_seconds: float
    """Of all processes that live, and of their children that have ended."""
    rss_bytes: int
    """Resident memory. Pages that processes share count in each."""


def usage(pid: int) -> Usage:
    """Return the usage of a process and its descendants; nothing if it is gone."""
    ticks = pages = 0
    for each in _family(pid):
        with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            stat = Path(f"/proc/{each}/stat").read_bytes()
            fields = stat[stat.rfind(b")") + 2 :].split()
            ticks += sum(map(int, fields[CPU_FIELDS]))
            pages += int(fields[RESIDENT_FIELD])
    return Usage(cpu_seconds=ticks / CLOCK_TICKS_PER_SECOND, rss_bytes=pages * PAGE_BYTES)


def _family(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                for child in (task / "children").read_text().split():
                    yield from _family(int(child))
