"""The first process of a container, which has duties that other processes have not.

The kernel gives every process that loses its parent to the process with the number 1, and keeps its entry until that
one asks for its exit code. A supervised crawl leaves such processes behind: those that a killed worker had started.
Thresher's own supervisors wait for the processes that they started and for no others. So the command runs in a child,
and the first process does nothing except pass signals on and reap.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

FIRST = 1
"""Number of the first process of a process namespace."""
PASSED_ON = {
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
    signal.SIGCONT,
}


def is_first() -> bool:
    """Return whether this process is the first of its process namespace, as in a container without an init."""
    return os.getpid() == FIRST


def run(command: Callable[[], object]) -> NoReturn:
    """Run `command` in a child, and end with its exit code; 128 and the signal if a signal has killed it.

    Pass every signal of `PASSED_ON` to the child, and reap every process whose parent has ended.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {*PASSED_ON, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        _own_terminal()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*PASSED_ON, signal.SIGCHLD})
        command()
        sys.exit(0)
    while True:
        received = signal.sigwait({*PASSED_ON, signal.SIGCHLD})
        if received != signal.SIGCHLD:
            with suppress(ProcessLookupError):
                os.kill(child, received)
        elif (code := _reap(child)) is not None:
            os._exit(code)


def _own_terminal() -> None:
    """Put this process into a group of its own, in the foreground if there is a terminal.

    Otherwise Ctrl-C would come twice: from the terminal, and passed on. A second Ctrl-C stops a crawl at once.
    """
    os.setpgid(0, 0)
    if sys.stdin is not None and os.isatty(0):
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(OSError):
            os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, before)


def _reap(child: int) -> int | None:
    """Reap all processes that have ended. Return the exit code of `child` if it is among them."""
    code = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                exitcode = os.waitstatus_to_exitcode(ended[1])
                code = exitcode if exitcode >= 0 else 128 - exitcode
    return code
