"""`collect_rarely`: what a process of this program asks of Python's collector of garbage."""

import atexit
import gc

THRESHOLD = 20_000
"""New objects that start a collection, instead of 700."""


def collect_rarely() -> None:
    """Let this process collect garbage rarely, and not at its end. Call it before modules are imported.

    An import makes many objects and no garbage, but each collection visits them. At its end an interpreter visits all
    of them several times more, although the kernel takes the memory back.
    """
    gc.set_threshold(THRESHOLD, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
