"""Start a program, such as the test suite, on a kernel that seems to lack some of the walls.

usage: python -m tests.isolation.kernel_without landlock,seccomp,namespaces,capabilities PROGRAM ...
"""

import ctypes
import errno
import os
import sys

import pyseccomp

LANDLOCK = (444, 445, 446)
"""Numbers of its calls, which are those of every architecture (`asm-generic/unistd.h`)."""
PR_SET_SECCOMP, PR_CAPBSET_DROP = 22, 24
CLONE_NEWUSER = 0x10000000
CHOWN, SETGID, SETUID = 0, 6, 7
"""Capabilities by which root becomes somebody else (`linux/capability.h`)."""


def remove_features(*names):
    """Remove features from this process and its children. Capabilities go with the next program."""
    filter_ = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    if os.geteuid() == 0:
        filter_.set_attr(pyseccomp.Attr.CTL_NNP, 0)
    absent = pyseccomp.ERRNO(errno.ENOSYS)
    if "landlock" in names:
        for number in LANDLOCK:
            filter_.add_rule(absent, number)
    if "seccomp" in names:
        filter_.add_rule(absent, "seccomp")
        filter_.add_rule(
            pyseccomp.ERRNO(errno.EINVAL), "prctl", pyseccomp.Arg(0, pyseccomp.EQ, PR_SET_SECCOMP)
        )
    if "namespaces" in names:
        filter_.add_rule(absent, "clone3")
        for call in ("clone", "unshare"):
            new_user = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)
            filter_.add_rule(pyseccomp.ERRNO(errno.EPERM), call, new_user)
    if "capabilities" in names:
        for capability in (CHOWN, SETGID, SETUID):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    if {*names} - {"capabilities"}:
        filter_.load()


if __name__ == "__main__":
    remove_features(*sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
