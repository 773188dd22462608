"""`confine`: this process gives up everything that a parser does not need, for good.

Rules

1. The network: no socket is made, and none is inherited but the pipe to the parent.
2. Files: only code may be read, and nothing may be written.
3. Processes: none is started, nor a thread; none is signalled, traced or looked at.
4. Memory: `ConfinementLimits.memory_bytes`, and no shared memory, which no limit counts. The parent watches CPU time.
5. Rights: none of root's, and none can be gained (`no_new_privs`).

Several walls stand behind one another: seccomp (1, 2, 3, 4), Landlock (1, 2, 3), limits (2, 3, 4), another user (2, 3).
A kernel may lack one; `Confinement` says what holds.
"""

import os
import resource
from dataclasses import dataclass

from thresher.isolation import filesystem, privileges, syscalls
from thresher.isolation.resource_limit import set_resource_limit

MAX_DESCRIPTORS = 64
RISK_WITHOUT_SECCOMP = "a worker may speak to the network and signal processes of its user"
RISK_WITHOUT_LANDLOCK = "a worker may read what its user may read"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfinementLimits:
    """The resources of a confined process."""

    memory_bytes: int
    """Bytes that it may allocate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """The walls that hold for a confined process."""

    user: privileges.ProcessUser
    landlock: int
    """Version of the kernel's interface; 0 if it has none."""
    seccomp: bool
    lacks: tuple[str, ...]
    """One line for each wall that the machine does not offer, with the consequence."""


def confine(limits: ConfinementLimits) -> Confinement:
    """Confine this process. Call it before the first foreign byte, and after every import that needs threads or files.

    Raise `RuntimeError` if the process has more than one thread: the others would stay free.
    """
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - there is nothing to join
        raise RuntimeError("a library started a thread when it was imported; it cannot be confined")
    lacks: list[str] = []
    try:
        syscalls.load_seccomp()  # loading it needs files and processes
    except (RuntimeError, ImportError) as error:
        lacks.append(f"no seccomp ({error}; `apt install libseccomp2`): {RISK_WITHOUT_SECCOMP}")
    seccomp = not lacks
    allowed = filesystem.code_paths()
    is_open = filesystem.is_world_readable(allowed.readable)
    _silence_output()
    try:
        landlock = filesystem.restrict(allowed)
    except (OSError, ImportError) as error:
        landlock = 0
        lacks.append(f"no Landlock ({error}; Linux has it from 5.13 on): {RISK_WITHOUT_LANDLOCK}")
    user = privileges.drop_privileges(can_be_nobody=is_open)
    _set_limits(limits)
    try:
        if seccomp:
            syscalls.allow_only(syscalls.parser_rules(os.getpid()))
    except OSError as error:
        seccomp = False
        lacks.append(
            f"no seccomp ({error}; the kernel or the container takes no filter): {RISK_WITHOUT_SECCOMP}"
        )
    return Confinement(user=user, landlock=landlock, seccomp=seccomp, lacks=tuple(lacks))


def _silence_output() -> None:
    """Send standard output and error nowhere: they may be a terminal, or a file that fills a disk."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _set_limits(limits: ConfinementLimits) -> None:
    for resource_id, maximum in (
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),  # not one more, whatever other processes the user has
        (resource.RLIMIT_NOFILE, MAX_DESCRIPTORS),
    ):
        set_resource_limit(resource_id, maximum)
