"""`EventLoopWatchdog`: end a crawl worker whose event loop is stalled.

1. A stall costs CPU time (a parser in an endless loop) or none (a lock that nobody releases). CPU time is the better
   evidence, because it does not pass while the machine sleeps or is busy with others. Therefore its limit is lower.
2. While a user's spider may be at work its CPU time does not count: `crawler.spiders.blocking_watch` limits spiders.
3. The watchdog looks from outside: nothing that the process does, or is made to do, switches it off.
"""

import signal
import time
from collections.abc import Callable

from thresher.crawler.machine.activity import SPIDER, Activity
from thresher.isolation import WorkerProcess

CHECK_INTERVAL_S = 0.5
"""Seconds between two checks."""
MAX_BUSY_S = 30.0
"""CPU seconds of an event loop without a turn. Reading a page of the permitted size takes milliseconds."""
MAX_STALL_S = 600.0
"""Seconds of the clock without a turn. A spider's callback may sleep for half of that, with the wait for its end."""


class EventLoopWatchdog:
    """Watches one worker."""

    def __init__(
        self,
        process: WorkerProcess,
        activity: Activity,
        *,
        busy_s: float = MAX_BUSY_S,
        still_s: float = MAX_STALL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._process, self._activity = process, activity
        self._busy_s, self._still_s, self._clock = busy_s, still_s, clock
        self._turns = 0
        self._since_cpu_s = self._still = 0.0
        self._looked_s = clock()
        self.stalled_s: float | None = None
        """Seconds without a turn (of CPU time or of the clock) after which the worker was ended; None if it was not."""

    def check(self) -> None:
        """End the worker if a limit is passed. May be called at any rate."""
        now_s = self._clock()
        passed_s = now_s - self._looked_s
        if passed_s < CHECK_INTERVAL_S or self.stalled_s is not None:
            return
        self._looked_s = now_s
        cpu_s, turns = self._process.cpu_s, self._activity.ticks
        if turns != self._turns or not turns:
            self._turns, self._since_cpu_s, self._still = turns, cpu_s, 0.0
            return
        # A long gap between two checks means that this process stood still as well.
        self._still += min(passed_s, 2 * CHECK_INTERVAL_S)
        busy_s = 0.0 if self._activity.page_token == SPIDER else cpu_s - self._since_cpu_s
        if busy_s > self._busy_s or self._still > self._still_s:
            self.stalled_s = busy_s if busy_s > self._busy_s else self._still
            self._process.signal(signal.SIGKILL)

    def __repr__(self) -> str:
        return f"<event loop watchdog of {self._process}>"
