"""`ExchangeTimes`: when a worker truly sent a request to a host, for the check of what the frontier plans."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeTimes:
    """One exchange with a host. Times are milliseconds of the frontier's clock, as its worker computed them."""

    host: str
    started_ms: int
    """When the request was sent."""
    ended_ms: int
    """When the response was complete, or the exchange was given up."""
    delay_ms: int
    """The delay of the crawl that held at that time."""
    error_ms: int
    """How far the times may be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Two exchanges with one host that were nearer to each other than its delay."""

    host: str
    gap_ms: int
    """Milliseconds from the end of one to the start of the next; negative if they overlapped."""
    delay_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeCheck:
    """The result of a check."""

    clock: str
    """Name of the frontier's clock. It changes when its server restarts; times of another clock are not checked."""
    now_ms: int
    """The time on that clock."""
    violations: tuple[Violation, ...] = ()


def find_violation(one: ExchangeTimes, other: ExchangeTimes) -> Violation | None:
    """Return the violation that two exchanges with one host are, if they are one.

    The shorter of the two delays counts, because an operator may have changed it between them. Two that began in the
    same millisecond are one exchange, reported twice.
    """
    if one.started_ms == other.started_ms:
        return None
    first, second = sorted((one, other), key=lambda exchange: exchange.started_ms)
    delay_ms = min(one.delay_ms, other.delay_ms)
    gap_ms = second.started_ms - first.ended_ms
    if gap_ms + one.error_ms + other.error_ms >= delay_ms:
        return None
    return Violation(host=one.host, gap_ms=gap_ms, delay_ms=delay_ms)
