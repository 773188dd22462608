"""The replies of the functions of `lua/`, read into values."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from thresher.core import CorruptData
from thresher.frontier.codec.entries import decode_entry, is_recovered
from thresher.frontier.gate_state import GateState
from thresher.frontier.lease import AddResult, Discovery, FrontierSettlement, Kind, Lease, Outcome, Stats
from thresher.frontier.urls.canonical import canonicalize
from thresher.frontier.urls.scope import Scope

_SETTLEMENT_HEAD_BYTES = 9
"""Bytes of a settlement before its texts: six of its time, and the length of each of three texts
(`lua/state/outbox.lua`).
"""


def decode_lease(row: Sequence[Any], worker: str) -> Lease:
    """Return the lease of one row of `lease` or `leases`."""
    token, kind, deadline_ms, robots_version, attempt, slot_ms, host, subject, failure, expiries = row
    if Kind(kind.decode()) is Kind.ROBOTS:
        found = Discovery(
            url=canonicalize("/robots.txt", subject.decode()), scope=Scope(kind="any", anchor="")
        )
        recovered = expiries > 0
    else:
        found, attempt = decode_entry(host.decode(), subject)
        recovered = is_recovered(subject)
    return Lease.from_discovery(
        found,
        kind=Kind(kind.decode()),
        token=int(token),
        worker=worker,
        deadline_ms=deadline_ms,
        attempt=attempt,
        robots_version=robots_version,
        held_until_ms=slot_ms,
        is_recovered=recovered,
        failure=failure.decode(),
    )


def decode_settlement(item: bytes) -> FrontierSettlement:
    """Return one item of `unlogged`. Raise `CorruptData` if it cannot be read."""
    try:
        return _decode_settlement(item)
    except ValueError as error:
        raise CorruptData(f"frontier: a settlement cannot be read: {item[:80]!r}") from error


def _decode_settlement(item: bytes) -> FrontierSettlement:
    at_ms, *lengths = int.from_bytes(item[:6], "big"), *item[6:_SETTLEMENT_HEAD_BYTES]
    texts, at = [], _SETTLEMENT_HEAD_BYTES
    for length in lengths:
        texts.append(item[at : at + length].decode())
        at += length
    outcome, reason, host = texts
    discovery, attempt = decode_entry(host, item[at:])
    return FrontierSettlement(
        discovery=discovery, attempt=attempt, outcome=Outcome(outcome), reason=reason, at_ms=at_ms
    )


def soonest_ms(waits: Sequence[int]) -> int | None:
    """Return the shortest of some waits, in milliseconds; None if there is none. A negative number
    stands for None.
    """
    return min((wait for wait in waits if wait >= 0), default=None)


def decode_add_result(rows: Sequence[Sequence[Any]]) -> AddResult:
    """Return the sum of the replies to `add` of all partitions."""
    discarded: Counter[str] = Counter()
    for row in rows:
        discarded.update(decode_counts(row[4:]))
    return AddResult(
        added=sum(row[0] for row in rows), known=sum(row[1] for row in rows), discarded=dict(discarded)
    )


def decode_stats(rows: Sequence[Sequence[Any]]) -> Stats:
    """Return the sum of the replies to `stats` of all partitions."""
    sums = [sum(row[i] for row in rows) for i in range(12)]
    waiting, leased, later, hosts, seen, tail, scheduled, held, dead, unlogged, requests, robots = sums
    outcomes, reasons, discarded = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        for total, pairs in zip((outcomes, reasons, discarded), row[12:15], strict=True):
            total.update(decode_counts(pairs))
    settled = dict.fromkeys((str(outcome) for outcome in Outcome if outcome is not Outcome.RETRY), 0)
    return Stats(
        waiting=waiting,
        leased=leased,
        later=later,
        robots=robots,
        hosts=hosts,
        outcomes=settled | outcomes,
        reasons=dict(reasons),
        seen=seen,
        tail=tail,
        scheduled=scheduled,
        held=held,
        dead=dead,
        unlogged=unlogged,
        requests=requests,
        discarded=dict(discarded),
    )


def decode_gate_state(reply: Sequence[Any]) -> GateState:
    """Return the state in a reply to `follow` or `flow`."""
    follower, backlog, limit, estimate, reported_ms, shut, oldest_ms = reply
    return GateState(
        follower=follower.decode(),
        backlog=backlog,
        limit=limit,
        estimate=estimate,
        reported_ms=reported_ms,
        shut=bool(shut),
        oldest_ms=oldest_ms,
    )


def decode_counts(pairs: Sequence[Any]) -> dict[str, int]:
    """Return the counters of a hash."""
    return {name.decode(): int(count) for name, count in zip(pairs[::2], pairs[1::2], strict=True)}
