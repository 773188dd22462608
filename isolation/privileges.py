"""Who a confined process is, where we are root: nobody, or, where nobody could not read our code, root without its powers."""

import ctypes
import os
from contextlib import suppress
from typing import Literal

NOBODY_ID = 65534
"""The kernel's number for a user and a group that own nothing (`/proc/sys/kernel/overflowuid`)."""
PR_SET_NO_NEW_PRIVS = 38
"""Of prctl(2) (`linux/prctl.h`)."""
CAPABILITY_VERSION_3 = 0x20080522
"""Of the interface of capset(2): 64 capabilities in two words (`linux/capability.h`)."""

ProcessUser = Literal["own", "nobody", "root"]
"""The user who began it, who is not root; nobody; or root without capabilities."""


def drop_privileges(*, can_be_nobody: bool) -> ProcessUser:
    """Give up what root can do, in every thread, for good: no program that this process becomes gains any right.

    Raises `OSError` where the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.geteuid() != 0:
        return "own"
    # A container may not know the number of nobody, or give root no right to be another.
    with suppress(OSError):
        os.setgroups([])
        if can_be_nobody:
            os.setresgid(NOBODY_ID, NOBODY_ID, NOBODY_ID)
            os.setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID)  # takes all capabilities with it (capabilities(7))
            return "nobody"
    _give_up_capabilities(libc)
    return "root"


def _give_up_capabilities(libc: ctypes.CDLL) -> None:
    """Of this thread: permitted, effective and inheritable ones."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")
