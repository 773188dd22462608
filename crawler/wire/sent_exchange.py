"""`SentExchange`: when the client truly sent a request, for those who count and check requests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SentExchange:
    """One call of `Client.get` that sent something."""

    host: str
    started_at: float
    """When the first request was sent, in seconds of `time.monotonic`."""
    ended_at: float
    """When the answer was complete or given up."""
    requests: int
    """Requests that were sent; more than one if a connection closed before it answered."""
    bytes_received: int
    """Bytes of responses."""
    in_burst: bool
    """Whether it belongs to the burst that a rendered page may send to its own host under its lease."""
