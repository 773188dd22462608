"""What the functions of `lua/` are told, made of values."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from core import Url
from frontier.encoding import encode, identity, text_hash
from frontier.lease import Discovery, Exchange, Outcome, Restored, Settlement
from frontier.link import Arg, Call
from frontier.partition import Partitions
from frontier.revisit import next_interval_s
from frontier.scope import registered_domain

T = TypeVar("T")

_BATCH = 1_000  # URLs in one call: some milliseconds in which the server does nothing else
_UNANSWERED, _UNASKED = -1, -2  # in the place of a time


def additions(
    discoveries: Iterable[Discovery], partitions: Partitions, *, revive: bool = False
) -> Iterator[Call]:
    """Calls of `add`, each with some of the discoveries, host by host."""
    for partition, args, _ in _by_host(discoveries, lambda found: found.url, partitions, _addition):
        yield partitions.call(partition, "add", int(revive), *args)


def restorations(
    restored: Iterable[Restored], partitions: Partitions
) -> Iterator[tuple[Call, list[Restored]]]:
    """Calls of `restore`, each with some of them, host by host, and these."""
    for partition, args, some in _by_host(
        restored, lambda each: each.discovery.url, partitions, _restoration
    ):
        yield partitions.call(partition, "restore", *args), some


def questions(urls: Iterable[Url], partitions: Partitions) -> Iterator[tuple[Call, list[Url]]]:
    """Calls of `known`, each about some of the URLs, host by host, and these."""
    for partition, args, some in _by_host(urls, lambda url: url, partitions, lambda url: (text_hash(url),)):
        yield partitions.call(partition, "knows", *args), some


def _addition(found: Discovery) -> tuple[Arg, ...]:
    name = identity(found)
    return name, encode(found, name[-1])


def _restoration(restored: Restored) -> tuple[Arg, ...]:
    again = restored.next_visit
    entry = b"" if again is None else encode(again, identity(again)[-1])
    due = max(restored.due_in_ms, 0)
    return identity(restored.discovery), restored.outcome, restored.reason, entry, due


def _by_host(
    items: Iterable[T],
    url: Callable[[T], Url],
    partitions: Partitions,
    arguments: Callable[[T], tuple[Arg, ...]],
) -> Iterator[tuple[int, list[Arg], list[T]]]:
    """Partition, arguments and items of one call after another, of some `_BATCH` items each."""
    parts: defaultdict[int, defaultdict[str, list[T]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        host = url(item).host
        parts[partitions.of_host(host)][host].append(item)
    for partition, hosts in parts.items():
        args: list[Arg] = []
        held: list[T] = []
        for host, urls in hosts.items():
            for some in batches(urls, _BATCH):
                args += (host, registered_domain(host), len(some))
                for item in some:
                    args += arguments(item)
                held += some
                if len(held) >= _BATCH:
                    yield partition, args, held
                    args, held = [], []
        if held:
            yield partition, args, held


def released(ended: Exchange) -> tuple[Arg, ...]:
    """What `release` is told of one exchange."""
    if not ended.asked:
        return ended.lease.token, _UNASKED
    return ended.lease.token, _UNANSWERED if ended.elapsed_ms is None else max(ended.elapsed_ms, 0)


def settled(settlement: Settlement) -> tuple[Arg, ...]:
    """What `settle` is told of one lease."""
    wait = settlement.retry_after_ms
    return (
        settlement.lease.token,
        settlement.outcome,
        settlement.reason,
        -1 if wait is None else max(wait, 0),
        settlement.hold_ms,
        settlement.fault or "",
        _said(settlement),
        *_next_visit(settlement),
    )


def batches(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """All of them in their order, so many at once."""
    return (items[first : first + most] for first in range(0, len(items), most))


def _next_visit(settlement: Settlement) -> tuple[bytes, int]:
    """The entry of a page that is to be visited again, and in how many ms; nothing where it is not."""
    lease = settlement.lease
    if not lease.interval_s or settlement.outcome not in {Outcome.FETCHED, Outcome.UNCHANGED}:
        return b"", 0
    interval_s = next_interval_s(lease.interval_s, changed=settlement.outcome is Outcome.FETCHED)
    again = replace(lease.discovery, interval_s=interval_s, note=settlement.note)
    return encode(again, identity(again)[-1]), interval_s * 1000


def _said(settlement: Settlement) -> bytes:
    """What a page said, and whether it leads on (`frontier.novelty`); nothing where that is not known."""
    if settlement.sketch is None:
        return b""
    return (settlement.sketch & 0xFFFF).to_bytes(2, "big") + bytes((bool(settlement.discoveries),))
