"""`GateState`: how far a crawl is ahead of its follower, and whether it waits.

1. A report gives the backlog: the bytes of sealed archive files that are not processed. The estimate is the backlog
   plus every byte archived since the report. Bytes that lay in open files at the report are in neither; a crawl that is
   followed seals its files early (`crawler.rotation`), so these are few.
2. The gate shuts once the estimate is above the limit. It opens once a report is at 80 % of the limit or below.
3. The newest report counts until its time is over. After that, and if there was never a report, there is no gate.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GateState:
    """One moment between a crawl and its follower. Sizes are in bytes."""

    follower: str
    """The follower that reported last."""
    backlog: int
    """The backlog of the report."""
    limit: int
    """The backlog that the follower accepts."""
    estimate: int
    """The backlog now, as far as the frontier can tell."""
    reported_ms: int
    """The time of the report: milliseconds since the epoch, by the server's clock."""
    shut: bool
    """Whether the crawl waits: nothing is leased."""
    oldest_ms: int = 0
    """Milliseconds for which the oldest file of the backlog had been sealed at the report; 0 if there is none."""
