"""What a confined process may ask of the kernel: seccomp filters, by way of libseccomp.

A parser reads, computes, and writes to its pipe. So its filter names what is allowed, and everything else is answered
ENOSYS, as by a kernel that has no such call: libraries fall back where they know another way. What a developer may
run into is answered EPERM instead. A browser uses most of the kernel, and brings a filter of its own for what runs pages; so
its filter names what it shall not have: every network, and the parts of the kernel that are for administrators and debuggers.
"""

import errno
import fcntl
import mmap
import os
import socket
import termios
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

UNCONDITIONAL_CALLS = (
    # files, pipes
    *("read", "readv", "pread64", "write", "writev", "lseek", "close", "close_range", "dup", "dup2", "dup3"),
    *("stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2"),
    *("readlink", "readlinkat", "getdents64", "getcwd", "poll", "ppoll", "select", "pselect6"),
    # memory
    *("munmap", "mremap", "mprotect", "madvise", "brk", "membarrier"),
    # time and waiting
    *("clock_gettime", "clock_getres", "clock_nanosleep", "gettimeofday", "nanosleep", "time"),
    *("futex", "sched_yield", "restart_syscall"),
    # itself
    *(
        "getpid",
        "getppid",
        "gettid",
        "getuid",
        "geteuid",
        "getgid",
        "getegid",
        "getrusage",
        "getrlimit",
        "times",
    ),
    *("sched_getaffinity", "uname", "sysinfo", "getrandom", "rseq", "set_robust_list"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "sigaltstack", "exit", "exit_group"),
)
"""Calls that reach nothing but what is open already, whatever their arguments."""
EPERM_CALLS = (
    *("socket", "socketpair", "connect", "bind", "clone", "fork", "vfork", "execve", "execveat"),
    *(
        "ptrace",
        "process_vm_readv",
        "process_vm_writev",
        "memfd_create",
        "unlink",
        "unlinkat",
        "mkdir",
        "mkdirat",
    ),
    *("rename", "renameat", "renameat2", "ftruncate", "truncate", "setrlimit", "unshare", "mount"),
)
"""What is answered EPERM."""
OPEN_CALLS = (("open", 1), ("openat", 2))
"""Calls that open files, and which argument holds the flags."""
SELF_SIGNAL_CALLS = ("kill", "tgkill")
"""Calls that send a signal to the process that the first argument names."""
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
FCNTL_COMMANDS = (
    *(fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL),
    fcntl.F_SETFL,
)
"""Not among them: F_SETOWN, by which the kernel can be made to signal any process of the same user."""
IOCTL_REQUESTS = (termios.TCGETS, termios.FIONREAD, termios.FIONBIO, termios.FIOCLEX, termios.FIONCLEX)
"""Not among them: TIOCSTI, by which one types into a terminal."""
BROWSER_DENIED_CALLS = (
    *("connect", "io_uring_setup", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "setns"),
    *(
        "bpf",
        "perf_event_open",
        "userfaultfd",
        "keyctl",
        "add_key",
        "request_key",
        "syslog",
        "acct",
        "quotactl",
    ),
    *(
        "kexec_load",
        "kexec_file_load",
        "init_module",
        "finit_module",
        "delete_module",
        "reboot",
        "swapon",
        "swapoff",
    ),
)
"""What is answered EPERM to a browser."""
FAMILIES = 64
"""More than Linux has address families (46 in version 6.18)."""


class ArgumentCondition(NamedTuple):
    """A condition on an argument: its bits under `mask` are `value`."""

    argument: int
    mask: int
    value: int


class SyscallRule(NamedTuple):
    """One call, under conditions that must all hold."""

    call: str
    conditions: tuple[ArgumentCondition, ...] = ()


MASK_64 = (1 << 64) - 1
"""Mask of an argument that is compared as it is."""
MASK_32 = (1 << 32) - 1
"""Mask of an argument that is an `int` in C: the upper half of its register means nothing."""


def parser_rules(pid: int) -> Iterator[SyscallRule]:
    """Yield what a process with that number may do that reads what strangers wrote."""
    yield from map(SyscallRule, UNCONDITIONAL_CALLS)
    for call, flags in OPEN_CALLS:
        yield SyscallRule(call, (ArgumentCondition(flags, WRITE_FLAGS, 0),))
    for call in SELF_SIGNAL_CALLS:
        yield SyscallRule(call, (ArgumentCondition(0, MASK_32, pid),))
    for command in FCNTL_COMMANDS:
        yield SyscallRule("fcntl", (ArgumentCondition(1, MASK_32, command),))
    for request in IOCTL_REQUESTS:
        yield SyscallRule("ioctl", (ArgumentCondition(1, MASK_32, request),))
    # Shared memory is counted in no limit.
    yield SyscallRule("mmap", (ArgumentCondition(3, mmap.MAP_SHARED, 0),))
    # What limits there are may be asked for; none is set, of no other process.
    yield SyscallRule("prlimit64", (ArgumentCondition(0, MASK_32, 0), ArgumentCondition(2, MASK_64, 0)))


def allow_only(rules: Iterator[SyscallRule]) -> None:
    """Let this process do nothing but that, from now on. Raises `OSError` where the kernel takes no filter."""
    seccomp = load_seccomp()
    filter_ = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    for call in EPERM_CALLS:
        _add(filter_, seccomp.ERRNO(errno.EPERM), SyscallRule(call))
    for rule in rules:
        _add(filter_, seccomp.ALLOW, rule)
    _load(filter_)


def restrict_browser() -> None:
    """Keep this process, and what it starts, from every network, from sockets that others listen at, and from what no browser
    needs. Raises as `allow_only`.
    """
    seccomp = load_seccomp()
    filter_ = seccomp.SyscallFilter(seccomp.ALLOW)
    for family in range(FAMILIES):
        if family != socket.AF_UNIX:  # by which its own processes speak with each other
            rule = SyscallRule("socket", (ArgumentCondition(0, MASK_32, family),))
            _add(filter_, seccomp.ERRNO(errno.EAFNOSUPPORT), rule)
    # Limits are its own to set, and nobody else's.
    others = seccomp.Arg(0, seccomp.NE, 0)
    filter_.add_rule(seccomp.ERRNO(errno.EPERM), "prlimit64", others, seccomp.Arg(2, seccomp.NE, 0))
    for call in BROWSER_DENIED_CALLS:
        _add(filter_, seccomp.ERRNO(errno.EPERM), SyscallRule(call))
    _load(filter_)


def load_seccomp() -> Any:
    """Return the library. Raises `RuntimeError` where libseccomp is not installed, `ImportError` where it cannot be."""
    import pyseccomp  # noqa: PLC0415 - it looks for libseccomp when it is imported

    return pyseccomp


def _add(filter_: Any, action: int, rule: SyscallRule) -> None:
    seccomp = load_seccomp()
    if seccomp.resolve_syscall(seccomp.Arch.NATIVE, rule.call) < 0:
        return  # an older call that this architecture never had
    conditions = (
        seccomp.Arg(each.argument, seccomp.MASKED_EQ, each.mask, each.value) for each in rule.conditions
    )
    filter_.add_rule(action, rule.call, *conditions)


def _load(filter_: Any) -> None:
    seccomp = load_seccomp()
    # Before Linux 5.16 a filter switches on the mitigation of Spectre v4, which slows everything: it guards secrets that the
    # process itself holds, and this one has none.
    with suppress(OSError):  # a library or a kernel that does not know of it
        filter_.set_attr(seccomp.Attr.CTL_SSB, 1)
    filter_.load()
