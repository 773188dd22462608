"""`record_exchange`, `hold_origin`: what the end of a request changes in the state of its host or origin. They change
nothing else.

1. Faults in a row open the circuit of a host: no request is sent to it for a time that doubles with every opening.
2. Then one request at a time is a probe: a fault opens the circuit again, any answer closes it. Faults of requests that
   were granted before the circuit opened count as one.
3. A server that says how long it wants to be left alone is left alone for that long.
4. A host that stays silent is dead at the eighth opening in a row, or at the third if it never answered.
5. A refusal (403) is an answer: it ends a row of other faults, and they end a row of refusals.
6. If a host has several origins, faults of one origin neither hold nor kill another: the origin rests, and is given up
   at the third fault in a row, or at the eighth if it had a robots.txt.
7. These times are for a delay of a second. A shorter delay shortens them, down to a thirtieth.
"""

from dataclasses import dataclass

from thresher.frontier.lease import FAULT_DETAILS, Fault
from thresher.frontier.testing.model.entities import Host, Origin

MINUTE_MS = 60_000
RULES = {
    Fault.DNS: (1, MINUTE_MS),
    Fault.CONNECT: (1, MINUTE_MS),
    Fault.RESET: (3, MINUTE_MS // 2),
    Fault.TIMEOUT: (2, MINUTE_MS // 2),
    Fault.TLS: (3, MINUTE_MS),
    Fault.BUSY: (1, MINUTE_MS // 2),
    Fault.SERVER: (5, MINUTE_MS),
    Fault.FORBIDDEN: (8, 5 * MINUTE_MS),
}
"""Faults in a row at which the circuit opens, and for how many milliseconds at first."""
ORIGIN_FAULTS = frozenset({Fault.CONNECT, Fault.RESET, Fault.TIMEOUT, Fault.TLS})
"""Faults of a page that are its origin's own, if the host has several origins."""
RETRY_MS = MINUTE_MS // 2
"""Milliseconds of rest after a first failure; they double with every attempt."""
GIVEN_UP_MS = 3_600_000
MAX_HOLD_MS = 3_600_000
_RESTS = FAULT_DETAILS | {
    *Fault,
    "status_403",
    "status_429",
    "status_503",
    "block_page",
    "robots_unreachable",
}
_SILENT = ORIGIN_FAULTS | {Fault.DNS}
_MAX_TRIPS = 8
_MAX_TRIPS_UNANSWERED = 3
_USUAL_DELAY_MS = 1_000
_MAX_SHORTENING = 30


def scaled(ms: int, delay: int) -> int:
    """Return the milliseconds of a rest for a crawl whose requests are `delay` apart."""
    return max(ms * min(delay, _USUAL_DELAY_MS) // _USUAL_DELAY_MS, ms // _MAX_SHORTENING)


def death_reason(fault: Fault | None, reason: str) -> str:
    """Return the reason of a death whose last fault was this; empty if the fault kills nobody. `reason` may name the
    kind of the fault.
    """
    return f"dead_{reason if reason in FAULT_DETAILS else fault}" if fault in _SILENT else ""


def hold_reason(reason: str, fault: Fault | None) -> str:
    """Return why a host rests: the reason if the frontier knows it, else the fault."""
    return reason if reason in _RESTS else str(fault or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """How a request of a host ended: with an answer, or with a fault."""

    fault: Fault | None
    reason: str = ""
    """May name the kind of the fault."""
    hold_ms: int = 0
    """For how long the host asks us to wait."""
    granted_at: int
    """When the request was granted."""


def record_exchange(host: Host, exchange: Exchange, delay: int, now: int) -> str:
    """Record an answer or a fault of a host; return the reason if the host died of it, else an empty string. `delay` is
    the time between two requests; all times are in milliseconds.
    """
    fault, reason, hold = exchange.fault, exchange.reason, exchange.hold_ms
    died = ""
    forbidden = fault is Fault.FORBIDDEN
    if fault is None or (forbidden and not host.is_forbidding):
        host.faults = host.trips = 0
        host.answered, host.dead_reason = True, ""
    if fault is not None and (not host.trips or exchange.granted_at >= host.held_until):
        if host.is_forbidding and not forbidden:
            host.faults = host.trips = 0
        host.is_forbidding = forbidden
        threshold, wait = RULES[fault]
        host.faults += 1
        if host.trips or host.faults >= threshold:
            wait = hold or scaled(min(wait * 2**host.trips, MAX_HOLD_MS), delay)
            host.hold(wait, now, hold_reason(reason, fault))
            host.trips, host.faults = host.trips + 1, 0
            if fault in _SILENT and host.trips >= (_MAX_TRIPS if host.answered else _MAX_TRIPS_UNANSWERED):
                died = death_reason(fault, reason)
    host.hold(hold, now, hold_reason(reason, fault))
    return died


def record_origin_fault(origin: Origin, exchange: Exchange, delay: int, now: int) -> None:
    """Record a fault of a page that is its origin's own."""
    assert exchange.fault is not None
    if exchange.granted_at < origin.held_until or origin.is_given_up:
        return
    origin.attempt += 1
    threshold, wait = RULES[exchange.fault]
    if origin.attempt >= threshold:
        wait = min(wait * 2 ** (origin.attempt - threshold), MAX_HOLD_MS)
        hold_origin(origin, scaled(wait, delay), now, exchange.fault, exchange.reason)


def hold_origin(origin: Origin, wait: int, now: int, fault: Fault, reason: str) -> None:
    """Hold an origin that has failed once more for `wait` milliseconds, or give it up for that fault."""
    if origin.attempt >= (_MAX_TRIPS if origin.version and not origin.is_given_up else _MAX_TRIPS_UNANSWERED):
        origin.store("disallow", death_reason(fault, reason).encode(), now + GIVEN_UP_MS, now)
    else:
        origin.held_until, origin.hold_reason = now + 1 + wait, hold_reason(reason, fault)
