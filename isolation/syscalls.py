"""The calls that a confined process may make to the kernel: seccomp filters, made with libseccomp.

A parser reads, computes, and writes to its pipe. So its filter names the allowed calls, and every other call is
answered ENOSYS, as by a kernel without it: libraries fall back if they know another way. Calls that a developer may run
into are answered EPERM instead. A browser uses most of the kernel and brings a filter of its own for the processes that
run pages. So its filter here names the denied calls: every network, and the parts of the kernel that are for
administrators and debuggers.
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
"""Calls that reach only what is open already, whatever their arguments."""
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
"""Calls that are answered EPERM."""
OPEN_CALLS = (("open", 1), ("openat", 2))
"""Calls that open files, each with the position of its flags among the arguments."""
SELF_SIGNAL_CALLS = ("kill", "tgkill")
"""Calls that send a signal to the process that the first argument names."""
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
FCNTL_COMMANDS = (
    *(fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL),
    fcntl.F_SETFL,
)
"""F_SETOWN is not among them: it can make the kernel signal any process of the same user."""
IOCTL_REQUESTS = (termios.TCGETS, termios.FIONREAD, termios.FIONBIO, termios.FIOCLEX, termios.FIONCLEX)
"""TIOCSTI is not among them: it types into a terminal."""
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
"""Calls that are answered EPERM to a browser."""
FAMILIES = 64
"""More than the number of address families in Linux (46 in version 6.18)."""


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
"""Mask of an argument that is compared as a whole."""
MASK_32 = (1 << 32) - 1
"""Mask of an argument that is an `int` in C: the upper half of its register means nothing."""


def parser_rules(pid: int) -> Iterator[SyscallRule]:
    """Yield the calls allowed to a parser whose process id is `pid`."""
    yield from map(SyscallRule, UNCONDITIONAL_CALLS)
    for call, flags in OPEN_CALLS:
        yield SyscallRule(call, (ArgumentCondition(flags, WRITE_FLAGS, 0),))
    for call in SELF_SIGNAL_CALLS:
        yield SyscallRule(call, (ArgumentCondition(0, MASK_32, pid),))
    for command in FCNTL_COMMANDS:
        yield SyscallRule("fcntl", (ArgumentCondition(1, MASK_32, command),))
    for request in IOCTL_REQUESTS:
        yield SyscallRule("ioctl", (ArgumentCondition(1, MASK_32, request),))
    # Private mappings only: no memory limit counts shared ones.
    yield SyscallRule("mmap", (ArgumentCondition(3, mmap.MAP_SHARED, 0),))
    # It may read its own limits, but set none, and read none of another process.
    yield SyscallRule("prlimit64", (ArgumentCondition(0, MASK_32, 0), ArgumentCondition(2, MASK_64, 0)))


def allow_only(rules: Iterator[SyscallRule]) -> None:
    """Deny this process every other call from now on. Raise `OSError` if the kernel takes no filter."""
    seccomp = load_seccomp()
    filter_ = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    for call in EPERM_CALLS:
        _add(filter_, seccomp.ERRNO(errno.EPERM), SyscallRule(call))
    for rule in rules:
        _add(filter_, seccomp.ALLOW, rule)
    _load(filter_)


def restrict_browser() -> None:
    """Keep this process, and every process that it starts, from every network, from listening sockets of others, and
    from calls that no browser needs. Raise `OSError` as `allow_only` does.
    """
    seccomp = load_seccomp()
    filter_ = seccomp.SyscallFilter(seccomp.ALLOW)
    for family in range(FAMILIES):
        if family != socket.AF_UNIX:  # the browser's own processes speak with each other through it
            rule = SyscallRule("socket", (ArgumentCondition(0, MASK_32, family),))
            _add(filter_, seccomp.ERRNO(errno.EAFNOSUPPORT), rule)
    # It may set its own limits, but not those of another process.
    others = seccomp.Arg(0, seccomp.NE, 0)
    filter_.add_rule(seccomp.ERRNO(errno.EPERM), "prlimit64", others, seccomp.Arg(2, seccomp.NE, 0))
    for call in BROWSER_DENIED_CALLS:
        _add(filter_, seccomp.ERRNO(errno.EPERM), SyscallRule(call))
    _load(filter_)


def load_seccomp() -> Any:
    """Return the library. Raise `RuntimeError` if libseccomp is not installed, and `ImportError` if
    pyseccomp is not.
    """
    import pyseccomp  # noqa: PLC0415 - it looks for libseccomp when it is imported

    return pyseccomp


def _add(filter_: Any, action: int, rule: SyscallRule) -> None:
    seccomp = load_seccomp()
    if seccomp.resolve_syscall(seccomp.Arch.NATIVE, rule.call) < 0:
        return  # this architecture never had the older call
    conditions = (
        seccomp.Arg(each.argument, seccomp.MASKED_EQ, each.mask, each.value) for each in rule.conditions
    )
    filter_.add_rule(action, rule.call, *conditions)


def _load(filter_: Any) -> None:
    seccomp = load_seccomp()
    # Before Linux 5.16 a filter switches on the mitigation of Spectre v4, which slows everything. It guards secrets of
    # the process itself, and this process has none.
    with suppress(OSError):  # an older library or kernel does not know the attribute
        filter_.set_attr(seccomp.Attr.CTL_SSB, 1)
    filter_.load()
