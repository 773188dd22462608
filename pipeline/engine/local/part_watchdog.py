"""`PartWatchdog`: end a worker process that one item keeps busy for too long, or that does nothing at all.

It looks from outside: nothing that the process does, or is made to do, switches it off.
"""

import signal
import time

from thresher.isolation import WorkerProcess
from thresher.isolation.shared_int import SharedInt
from thresher.pipeline.engine.task import NO_ITEM

CHECK_INTERVAL_S = 0.5
"""Seconds between two checks."""


class PartWatchdog:
    """Watches one process while it makes one part."""

    def __init__(self, process: WorkerProcess, mark: SharedInt, *, item_cpu_s: float, still_s: float) -> None:
        self._process, self._mark = process, mark
        self._item_cpu_s, self._still_s = item_cpu_s, still_s
        self.has_exceeded_cpu = False
        """Whether the process was ended because an item took too much CPU time."""
        self._item = NO_ITEM
        self._since_cpu_s = self._last_cpu_s = process.cpu_s
        self._looked_s = self._still_since_s = time.monotonic()

    def note_response(self) -> None:
        """Record that the process got a response just now: its wait before was not its own doing."""
        self._still_since_s = time.monotonic()

    def check(self) -> None:
        """End the process if a limit is passed. May be called at any rate."""
        now_s = time.monotonic()
        if now_s - self._looked_s < CHECK_INTERVAL_S:
            return
        self._looked_s = now_s
        cpu_s, item = self._process.cpu_s, self._mark.value
        if cpu_s > self._last_cpu_s:
            self._last_cpu_s, self._still_since_s = cpu_s, now_s
        if item != self._item or item == NO_ITEM:
            self._item, self._since_cpu_s = item, cpu_s
        elif cpu_s - self._since_cpu_s > self._item_cpu_s:
            self.has_exceeded_cpu = True
            self._process.signal(signal.SIGKILL)
        if now_s - self._still_since_s > self._still_s:
            self._process.signal(signal.SIGKILL)

    def __repr__(self) -> str:
        return f"<watchdog of {self._process}>"
