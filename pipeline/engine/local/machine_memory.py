"""The memory that processes may use: that of the machine, or of the container or service that they run in."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def machine_memory(cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int:
    """Return the bytes of the machine's memory, or the least limit of the control groups that this process is in."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min((physical, *_limits(cgroups, own)))


def _limits(cgroups: Path, own: Path) -> Iterator[int]:
    """Yield the limits of the groups from our own to the root (cgroups(7)): the limit of each binds those below it.

    A container may see the path of its group on the machine, and only its own group mounted: as the root.
    """
    lines = ""
    with suppress(OSError):
        lines = own.read_text(encoding="utf-8", errors="surrogateescape")
    for line in lines.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = cgroups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = cgroups / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        for directory in (group, *group.parents):
            if not directory.is_relative_to(root):
                break
            # Without a limit there is no file, the word "max", or a number of more bytes than any machine has.
            with suppress(OSError, ValueError):
                yield int((directory / name).read_text(encoding="ascii"))
