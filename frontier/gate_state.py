"""`Flow`: how far a crawl is ahead of what follows it, and whether it waits.

1. A report gives the backlog: the bytes of sealed archive files that are not processed. The estimate is that, and
   every byte archived since the report. What lay in open files at the report is in neither; a crawl that is
   followed seals its files early (`crawler.rotation`), so that this is little.
2. The gate is shut once the estimate is above the limit, and open again once a report is at 80 % of it or below.
3. The newest report counts, until its time is over; then, and where there never was one, there is no gate.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GateState:
    """One moment between a crawl and its follower. Sizes in bytes."""

    follower: str
    """Who reported last."""
    backlog: int
    """As reported."""
    limit: int
    """What the follower lets wait for it."""
    estimate: int
    """The backlog now, as far as the frontier can tell."""
    reported_ms: int
    """When, by the server's clock, milliseconds since the epoch."""
    shut: bool
    """The crawl waits: nothing is leased."""
