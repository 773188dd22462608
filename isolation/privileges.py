"""The user of a confined process if we are root: nobody; or, if nobody cannot read our code, root
without its powers.
"""

import ctypes
import os
from contextlib import suppress
from typing import Literal

NOBODY_ID = 65534
"""The kernel's number for a user and a group that own nothing (`/proc/sys/kernel/overflowuid`)."""
PR_SET_NO_NEW_PRIVS = 38
"""Option of prctl(2) (`linux/prctl.h`)."""
CAPABILITY_VERSION_3 = 0x20080522
"""Version of the interface of capset(2): 64 capabilities in two words (`linux/capability.h`)."""

ProcessUser = Literal["own", "nobody", "root"]
"""`own`: the user who started the process and who is not root. `root`: root without capabilities."""


def drop_privileges(*, can_be_nobody: bool) -> ProcessUser:
    """Give up root's powers, in every thread, for good: no program that this process becomes gains any right.

    Raise `OSError` if the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.geteuid() != 0:
        return "own"
    # A container may not know the number of nobody, or may not allow root to become another user.
    with suppress(OSError):
        os.setgroups([])
        if can_be_nobody:
            os.setresgid(NOBODY_ID, NOBODY_ID, NOBODY_ID)
            os.setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID)  # drops all capabilities too (capabilities(7))
            return "nobody"
    _give_up_capabilities(libc)
    return "root"


def _give_up_capabilities(libc: ctypes.CDLL) -> None:
    """Give up the permitted, effective and inheritable capabilities of this thread."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")
