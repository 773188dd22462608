"""The last exchange with each host that a worker reported, for the check of politeness."""

from collections.abc import Iterable

from thresher.frontier.exchange_times import ExchangeTimes, Violation, find_violation

WATCH_MS = 30_000
"""Milliseconds after the delay of an exchange for which it is remembered."""


def check_exchanges(
    seen: dict[str, ExchangeTimes], exchanges: Iterable[ExchangeTimes], now: int
) -> list[Violation]:
    """Return the violations among exchanges, and put those that ended last into `seen`."""
    for host, last in list(seen.items()):
        if last.ended_ms + last.delay_ms + WATCH_MS <= now:
            del seen[host]
    found = []
    for exchange in exchanges:
        last_one = seen.get(exchange.host)
        violation = find_violation(exchange, last_one) if last_one else None
        if violation is not None:
            found.append(violation)
        if last_one is None or exchange.ended_ms >= last_one.ended_ms:
            seen[exchange.host] = exchange
    return found
