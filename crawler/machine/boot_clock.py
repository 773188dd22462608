"""`boot_s`: the clock for limits that must also count the time in which the machine sleeps."""

import time
from functools import partial

boot_s = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
"""Return the seconds since the machine started, including those in which it was suspended (clock_gettime(2)).

CLOCK_MONOTONIC, which asyncio and `time.monotonic` use, stops while a machine is suspended. Neither clock counts a
pause that a hypervisor makes. So other workers do not rely on this clock: the frontier itself refuses a worker that was
taken over (`Workers.take_over`).
"""
