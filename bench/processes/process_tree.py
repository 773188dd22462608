"""A command with all processes that it has started."""

import subprocess
from contextlib import suppress

import psutil


def kill_tree(process: "subprocess.Popen[bytes]") -> int:
    """Kill every process of a command with SIGKILL, and wait for their ends. Return how many there were."""
    parent = psutil.Process(process.pid)
    every = [parent, *parent.children(recursive=True)]
    for one in every:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    process.wait()
    psutil.wait_procs(every, timeout=10)
    return len(every)
