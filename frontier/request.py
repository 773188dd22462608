"""What the functions of `lua/` are told, made of values."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeVar

from frontier.encoding import encode, number_of
from frontier.identity import identity
from frontier.lease import Budget, Discovery, Exchange, Outcome, Settlement
from frontier.link import Arg, Call
from frontier.partition import Partitions
from frontier.policy import Policy, Switch
from frontier.revisit import next_interval_s
from frontier.scope import registered_domain

T = TypeVar("T")

_BATCH = 1_000  # URLs in one call: some milliseconds in which the server does nothing else
_UNANSWERED, _UNASKED = -1, -2  # in the place of a time


def additions(
    discoveries: Sequence[Discovery], budget: Budget, policy: Policy, partitions: Partitions
) -> Iterator[Call]:
    """Calls of `add`, each with some of the discoveries, host by host."""
    parts: defaultdict[int, defaultdict[str, list[Discovery]]] = defaultdict(lambda: defaultdict(list))
    for found in discoveries:
        parts[partitions.of_host(found.url.host)][found.url.host].append(found)
    limits = (
        -1 if budget.host is None else budget.host,
        -1 if budget.domain is None else budget.domain,
        budget.hosts,
        str(policy.traps),
    )
    for partition, hosts in parts.items():
        args: list[Arg] = []
        held = 0
        for host, urls in hosts.items():
            for some in batches(urls, _BATCH):
                args += (host, registered_domain(host), len(some))
                for found in some:
                    name = identity(found, policy.query_order)
                    args += (name, encode(found, number_of(found, name)))
                held += len(some)
                if held >= _BATCH:
                    yield partitions.call(partition, "add", *limits, *args)
                    args, held = [], 0
        if held:
            yield partitions.call(partition, "add", *limits, *args)


def released(ended: Exchange) -> tuple[Arg, ...]:
    """What `release` is told of one exchange."""
    if not ended.asked:
        return ended.lease.token, _UNASKED
    return ended.lease.token, _UNANSWERED if ended.elapsed_ms is None else max(ended.elapsed_ms, 0)


def settled(settlement: Settlement, policy: Policy) -> tuple[Arg, ...]:
    """What `settle` is told of one lease."""
    wait = settlement.retry_after_ms
    return (
        settlement.lease.token,
        settlement.outcome,
        settlement.reason,
        -1 if wait is None else max(wait, 0),
        settlement.hold_ms,
        settlement.fault or "",
        int(settlement.asked),
        _said(settlement, policy.traps),
        *_next_visit(settlement, policy.query_order),
    )


def batches(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """All of them in their order, so many at once."""
    return (items[first : first + most] for first in range(0, len(items), most))


def _next_visit(settlement: Settlement, query_order: Switch) -> tuple[bytes, int]:
    """The entry of a page that is to be visited again, and in how many ms; nothing where it is not."""
    lease = settlement.lease
    if not lease.interval_s or settlement.outcome not in {Outcome.FETCHED, Outcome.UNCHANGED}:
        return b"", 0
    interval_s = next_interval_s(lease.interval_s, changed=settlement.outcome is Outcome.FETCHED)
    again = Discovery(
        url=lease.url,
        scope=lease.scope,
        depth=lease.depth,
        max_depth=lease.max_depth,
        hops=lease.hops,
        priority=lease.priority,
        generation=lease.generation,
        interval_s=interval_s,
        listed=lease.listed,
        again=lease.again,
        note=settlement.note,
    )
    return encode(again, number_of(again, identity(again, query_order))), interval_s * 1000


def _said(settlement: Settlement, traps: Switch) -> bytes:
    """What a page said, and whether it leads on (`frontier.novelty`); nothing where that is not known, or of no use."""
    if settlement.sketch is None or not traps.of(settlement.lease.url.host):
        return b""
    return (settlement.sketch & 0xFFFF).to_bytes(2, "big") + bytes((bool(settlement.discoveries),))
