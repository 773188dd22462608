"""The entry point of a worker process."""

import fcntl
import os
import pickle
import select
import signal
from multiprocessing.connection import Connection

from thresher.core.collector import collect_rarely


def spawn_main(pipe: int, lifeline: int, orphan_signal: int) -> None:
    """Run the function that the parent sends. `pipe` and `lifeline` are descriptors; `orphan_signal` is the signal that
    this process gets when its parent is gone.
    """
    _signal_when_orphaned(lifeline, orphan_signal)
    collect_rarely()
    connection = Connection(pipe)
    work, args = pickle.loads(connection.recv_bytes())  # noqa: S301 - our own parent's
    work(connection, *args)


def _signal_when_orphaned(lifeline: int, signum: int) -> None:
    """Make the kernel send this process the signal when the other end of the lifeline closes. No thread of the process
    has to run for that.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signum)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    # The parent may be gone already.
    if select.select([lifeline], [], [], 0)[0]:
        signal.raise_signal(signal.Signals(signum))
