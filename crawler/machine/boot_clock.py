"""`boot_s`: the clock of what must not outlast a sleep of the machine."""

import time


def boot_s() -> float:
    """Return seconds since the machine was started, those in which it was suspended included (CLOCK_BOOTTIME, clock_gettime(2)).

    CLOCK_MONOTONIC, which asyncio and `time.monotonic` have, stands while a machine is suspended. Neither counts a pause that a
    hypervisor makes: what another must be able to rely on is decided by the frontier (`Frontier.take_over`).
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)
