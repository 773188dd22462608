"""CPU time and memory of a peer's process. Standard library only: every peer's environment can import it."""

import resource
from pathlib import Path


def cpu_s() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_mb() -> float:
    """Return the most resident memory of this process so far. getrusage(2) would count the memory of the process that
    started it."""
    status = Path("/proc/self/status").read_text()
    return round(int(status.partition("VmHWM:")[2].split()[0]) / 1024, 1)
