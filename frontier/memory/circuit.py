"""`judge`: what the end of an exchange says of its host. Pure, but for the host's own state.

1. Faults in a row open the circuit of a host: it is asked nothing for a time that doubles with every opening.
2. Then one exchange at a time is a probe: a fault opens the circuit again, any answer closes it. The faults of
   exchanges that were granted before the circuit opened count as one.
3. A server that says how long it wants to be left alone is left alone for that long.
4. A host that stays silent is dead at the eighth opening in a row, or the third where it never answered.
"""

from frontier.lease import Fault
from frontier.memory.state import Host

MINUTE_MS = 60_000
RULES = {
    Fault.DNS: (1, MINUTE_MS),
    Fault.CONNECT: (1, MINUTE_MS),
    Fault.RESET: (3, MINUTE_MS // 2),
    Fault.TIMEOUT: (2, MINUTE_MS // 2),
    Fault.TLS: (3, MINUTE_MS),
    Fault.BUSY: (1, MINUTE_MS // 2),
    Fault.SERVER: (5, MINUTE_MS),
}
"""Faults in a row at which the circuit opens, and for how long at first."""
_SILENT = {Fault.DNS, Fault.CONNECT, Fault.RESET, Fault.TIMEOUT, Fault.TLS}
_LONGEST_HOLD_MS = 3_600_000
_LIVES = 8
_STILLBORN = 3


def judge(host: Host, fault: Fault | None, hold: int, granted: int, now: int) -> bool:
    """Note an answer, or a fault; returns whether the host has died of it.

    `hold`: for how long it asks us to wait. `granted`: when the exchange was.
    """
    died = False
    if fault is None:
        host.faults = host.trips = 0
        host.answered, host.dead = True, False
    elif not host.trips or granted >= host.held:
        threshold, wait = RULES[fault]
        host.faults += 1
        if host.trips or host.faults >= threshold:
            wait = hold or min(wait * 2**host.trips, _LONGEST_HOLD_MS)
            host.hold(wait, now)
            host.trips, host.faults = host.trips + 1, 0
            died = fault in _SILENT and host.trips >= (_LIVES if host.answered else _STILLBORN)
    host.hold(hold, now)
    return died
