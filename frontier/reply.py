"""What the functions of `thresher.lua` answer, read into values."""

from collections.abc import Sequence
from typing import Any

from frontier.canonical import canonical
from frontier.encoding import decode
from frontier.flow import Flow
from frontier.lease import Discovery, Kind, Lease
from frontier.scope import Scope


def lease(row: Sequence[Any], worker: str) -> Lease:
    """One row of `lease` and `leases`."""
    token, kind, deadline_ms, robots_version, attempt, subject = row
    if Kind(kind.decode()) is Kind.ROBOTS:
        found = Discovery(url=canonical("/robots.txt", subject.decode()), scope=Scope(kind="any", anchor=""))
    else:
        stored = decode(subject)
        found, attempt = stored.discovery, stored.attempt
    return Lease(
        url=found.url,
        kind=Kind(kind.decode()),
        token=token,
        worker=worker,
        deadline_ms=deadline_ms,
        scope=found.scope,
        depth=found.depth,
        max_depth=found.max_depth,
        hops=found.hops,
        attempt=attempt,
        robots_version=robots_version,
    )


def flow(told: Sequence[Any]) -> Flow:
    """What `follow` and `flow` tell."""
    follower, backlog, limit, estimate, reported_ms, shut = told
    return Flow(
        follower=follower.decode(),
        backlog=backlog,
        limit=limit,
        estimate=estimate,
        reported_ms=reported_ms,
        shut=bool(shut),
    )


def counts(pairs: Sequence[Any]) -> dict[str, int]:
    """A hash of counters."""
    return {name.decode(): int(count) for name, count in zip(pairs[::2], pairs[1::2], strict=True)}
