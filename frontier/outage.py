"""`Outage`: the fault that keeps a worker from the web."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A fault on a worker's own side, as the worker reports it with its heartbeat."""

    why: str
    """One line, such as `no name server answers (192.0.2.53:53)`."""
    ms: int
    """Milliseconds that it has lasted."""
