"""`reserve_turn` and `end_turn`: the turns of requests that have no lease of their own (`Politeness.reserve_turn`)."""

from thresher.frontier.lease import Fault
from thresher.frontier.testing.model.circuit import RULES, Exchange
from thresher.frontier.testing.model.crawl_state import CrawlState


def reserve_turn(  # noqa: PLR0913 - the arguments of the Lua function
    crawl: CrawlState,
    name: str,
    delay_ms: int,
    max_wait_ms: int,
    *,
    since_ms: int | None,
    ahead: int,
    now: int,
) -> int:
    """Return the milliseconds until the caller's turn; a turn that is later than `max_wait_ms` is not reserved."""
    host = crawl.hosts.get(name)
    delay = max(crawl.delay, delay_ms, *((host.delay, host.pace) if host else ()))
    last, held = crawl.turns.get(name, (0, 0))
    if since_ms is not None:
        last = max(last, now - since_ms)
    due = max(now, held, last + delay if last else 0)
    if host is not None and since_ms is None:
        due = max(due, host.held_until, host.after_last(delay))
        if host.open and delay:
            due = max(due, now + 1 + delay)
    when = due
    if since_ms is not None and not delay_ms and not (host and host.delay):
        when = max(now, held, due - ahead * (delay + 1))
    if when - now > max_wait_ms or not delay:
        return when - now
    crawl.turns[name] = due + 1, held
    if host is not None:
        host.hold(due - now + delay, now, "address")
        host.schedule(now)
    return when - now


def end_turn(  # noqa: PLR0913 - the arguments of the Lua function
    crawl: CrawlState, name: str, delay: int, *, has_lease: bool, busy: str, hold_ms: int, now: int
) -> None:
    """End a request that had its turn: the delay begins now."""
    host = crawl.hosts.get(name)
    last, held = crawl.turns.get(name, (0, 0))
    if host is not None and not has_lease:
        host.hold(max(crawl.delay, delay, host.delay, host.pace), now, "address")
    if busy:
        held = max(held, now + 1 + (hold_ms or crawl.scaled(RULES[Fault.BUSY][1])))
        if host is not None:
            exchange = Exchange(fault=Fault.BUSY, reason=busy, hold_ms=hold_ms, granted_at=host.held_until)
            crawl.record_exchange(host, exchange, now)
    crawl.turns[name] = max(last, now + 1), held
    if host is not None:
        host.schedule(now)
