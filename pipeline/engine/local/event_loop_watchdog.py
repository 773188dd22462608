"""`Supervision`: ends a crawl worker whose event loop stands still.

1. Standing still costs CPU time (a parser in an endless loop), or none (a lock that nobody releases). CPU time tells more, for it
   does not pass while the machine sleeps or is busy with others; so much less of it is waited for.
2. While a user's spider may be at work its CPU time does not count: how long that may take is `crawler.spiders.blocking_watch`'s.
3. It looks from outside: nothing that the process does, or is made to do, switches it off.
"""

import signal
import time
from collections.abc import Callable

from crawler.machine.activity import SPIDER, Activity
from isolation import WorkerProcess

CHECK_INTERVAL_S = 0.5
"""Between two looks."""
MAX_BUSY_S = 30.0
"""CPU time of an event loop that does not turn. Reading a page of the size that is read there takes milliseconds."""
MAX_STALL_S = 600.0
"""The same, of time on the clock. A spider's callback may sleep for half of that, with what is waited for it to end."""


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
        """After how long without a turn the worker was ended, in seconds of CPU time or of the clock; None where it was not."""

    def check(self) -> None:
        """End the worker, if it must be. May be called as often as one likes."""
        now_s = self._clock()
        passed_s = now_s - self._looked_s
        if passed_s < CHECK_INTERVAL_S or self.stalled_s is not None:
            return
        self._looked_s = now_s
        cpu_s, turns = self._process.cpu_s, self._activity.ticks
        if turns != self._turns or not turns:
            self._turns, self._since_cpu_s, self._still = turns, cpu_s, 0.0
            return
        # If nobody looked for long, this process stood still as well.
        self._still += min(passed_s, 2 * CHECK_INTERVAL_S)
        busy_s = 0.0 if self._activity.page_token == SPIDER else cpu_s - self._since_cpu_s
        if busy_s > self._busy_s or self._still > self._still_s:
            self.stalled_s = busy_s if busy_s > self._busy_s else self._still
            self._process.signal(signal.SIGKILL)

    def __repr__(self) -> str:
        return f"<supervision of {self._process}>"
