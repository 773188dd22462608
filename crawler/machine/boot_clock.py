"""`boot_s`: the clock for limits that must also count the time in which the machine sleeps."""

import time


def boot_s() -> float:
    """Return the seconds since the machine started, including those in which it was suspended (CLOCK_BOOTTIME,
    clock_gettime(2)).

    CLOCK_MONOTONIC, which asyncio and `time.monotonic` use, stands while a machine is suspended. Neither clock counts a
    pause that a hypervisor makes. So the frontier decides whatever other workers must be able to rely on
    (`Workers.take_over`).
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)
