"""Where a worker process begins."""

import fcntl
import os
import pickle
import select
import signal
from multiprocessing.connection import Connection


def spawn_main(pipe: int, lifeline: int, orphan_signal: int) -> None:
    """Run the function that the parent sends; the numbers are of the open pipe, the lifeline, and the signal for its end."""
    _tie(lifeline, orphan_signal)
    connection = Connection(pipe)
    work, args = pickle.loads(connection.recv_bytes())  # noqa: S301 - our own parent's
    work(connection, *args)


def _tie(lifeline: int, signum: int) -> None:
    """Have the kernel send the signal when the other end of the lifeline closes: that needs no thread of ours to run."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signum)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    # The parent may have gone before.
    if select.select([lifeline], [], [], 0)[0]:
        signal.raise_signal(signal.Signals(signum))
