"""`Living`: which workers were heard of in time, and which of them wait for their storage."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Living:
    """Heartbeats. Times in milliseconds of the frontier's clock."""

    until: dict[str, int] = field(default_factory=dict)
    stalled_since: dict[str, int] = field(default_factory=dict)

    def beat(self, worker: str, ttl_ms: int, stalled_ms: int | None, now: int) -> None:
        """A worker lives for `ttl_ms` from now; it has waited for its storage for `stalled_ms`, if at all."""
        self.leave(worker)
        self.until[worker] = now + ttl_ms
        if stalled_ms is not None:
            self.stalled_since[worker] = now - stalled_ms

    def leave(self, worker: str) -> None:
        """A worker has come to its end."""
        self.until.pop(worker, None)
        self.stalled_since.pop(worker, None)

    def alive(self, workers: Iterable[str], now: int) -> set[str]:
        """Those of some workers that were heard of in time."""
        return {worker for worker in workers if now < self.until.get(worker, now)}

    def stalls(self, now: int) -> list[int]:
        """For how long each living worker that waits for its storage has done so, the longest first."""
        living = self.alive(self.stalled_since, now)
        return sorted((now - self.stalled_since[worker] for worker in living), reverse=True)
