"""`SchedulingSettings`: how many leases one worker holds, and when a crawl stops before its frontier drains."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingSettings:
    """The command line sets these, not `thresher.toml`."""

    concurrency: int = 64
    """Leases that a worker holds at most."""
    max_pages: int | None = None
    """Fetched pages of the whole crawl, those of earlier runs included, at which this run ends."""
    max_requests: int | None = None
    """Requests of the whole crawl (`Stats.requests`) at which this run ends."""
    max_time_s: float | None = None
    """Seconds after which this run ends."""
