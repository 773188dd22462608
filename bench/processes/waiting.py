"""Wait for something that another process does. Standard library only."""

import subprocess
import time
from collections.abc import Callable

POLL_S = 0.02
TIMEOUT_S = 120.0


def wait_until(condition: Callable[[], bool], what: str, *, timeout_s: float = TIMEOUT_S) -> None:
    """Return when `condition` is true. Raise `TimeoutError`, which names `what`, if it is not after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{timeout_s:.0f} s have passed without {what}")
        time.sleep(POLL_S)


def is_reached(
    process: "subprocess.Popen[bytes]", condition: Callable[[], bool], *, poll_s: float = POLL_S
) -> bool:
    """Return true when `condition` is, and false if the process ends before. The process bounds the time."""
    while not condition():
        if process.poll() is not None:
            return False
        time.sleep(poll_s)
    return True
