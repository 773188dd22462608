"""`Living`: which workers were heard of in time, which of them wait for their storage, and which are kept from the web."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from frontier.outage import Outage
from frontier.takeover import given_up


@dataclass(slots=True)
class Living:
    """Heartbeats. Times in milliseconds of the frontier's clock."""

    until: dict[str, int] = field(default_factory=dict)
    stalled_since: dict[str, int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    """Names that were taken over."""
    kept_since: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Since when a worker is kept from the web, and by what."""

    def beat(self, worker: str, ttl_ms: int, stalled_ms: int | None, outage: Outage | None, now: int) -> None:
        """A worker lives for `ttl_ms` from now; it has waited for its storage for `stalled_ms`, if at all, and is kept from
        the web by `outage`, if by anything.
        """
        self.refuse(worker)
        self.leave(worker)
        self.until[worker] = now + ttl_ms
        if stalled_ms is not None:
            self.stalled_since[worker] = now - stalled_ms
        if outage is not None:
            self.kept_since[worker] = now - outage.ms, outage.why

    def take_over(self, workers: Iterable[str]) -> None:
        """Workers are dead for ever."""
        for worker in workers:
            self.taken.add(worker)
            self.leave(worker)

    def refuse(self, *workers: str) -> None:
        """Raise `GivenUp` where the name of one of some workers was taken over."""
        for worker in workers:
            if worker in self.taken:
                raise given_up(worker)

    def leave(self, worker: str) -> None:
        """A worker has come to its end."""
        self.until.pop(worker, None)
        self.stalled_since.pop(worker, None)
        self.kept_since.pop(worker, None)

    def alive(self, workers: Iterable[str], now: int) -> set[str]:
        """Those of some workers that were heard of in time."""
        return {worker for worker in workers if now < self.until.get(worker, now)}

    def stalls(self, now: int) -> list[int]:
        """For how long each living worker that waits for its storage has done so, the longest first."""
        living = self.alive(self.stalled_since, now)
        return sorted((now - self.stalled_since[worker] for worker in living), reverse=True)

    def outages(self, now: int) -> dict[str, Outage]:
        """What keeps which living workers from the web."""
        living = self.alive(self.kept_since, now)
        kept = ((worker, *self.kept_since[worker]) for worker in living)
        return {worker: Outage(why=why, ms=now - since) for worker, since, why in kept}
