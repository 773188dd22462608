"""`turn` and `end_turn`: when a host may be asked without a lease of it."""

from frontier.testing.crawl import Crawl


def turn(crawl: Crawl, name: str, delay: int, most: int, *, leased: bool, now: int) -> int:
    """How long it is until the caller's turn; where that is longer than `most` nothing is noted."""
    host = crawl.hosts.get(name)
    delay = max(crawl.delay, delay, *((host.delay, host.pace) if host else ()))
    if not delay:
        return 0
    last = crawl.turns.get(name, 0)
    when = max(now, last + delay) if last else now
    if host is not None and not leased:
        when = max(when, host.held, host.after_last(delay))
        if host.open:
            when = max(when, now + 1 + delay)
    if when - now > most:
        return when - now
    crawl.turns[name] = when + 1
    if host is not None and not leased:
        host.hold(when - now + delay, now, "address")
        host.place(now)
    return when - now


def end_turn(crawl: Crawl, name: str, delay: int, *, leased: bool, now: int) -> None:
    """An exchange that had its turn is over: the delay begins now."""
    host = crawl.hosts.get(name)
    crawl.turns[name] = max(crawl.turns.get(name, 0), now + 1)
    if host is not None and not leased:
        host.hold(max(crawl.delay, delay, host.delay, host.pace), now, "address")
        host.place(now)
