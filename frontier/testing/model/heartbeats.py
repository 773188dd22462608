"""`Heartbeats`: which workers are alive, which of them wait for their storage, and which are kept from the web."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from thresher.frontier.outage import Outage
from thresher.frontier.takeover import takeover_error
from thresher.frontier.testing.model.figure_sums import FigureSums


@dataclass(slots=True)
class Heartbeats:
    """The newest heartbeat of each worker. Times are milliseconds of the frontier's clock."""

    alive_until: dict[str, int] = field(default_factory=dict)
    stalled_since: dict[str, int] = field(default_factory=dict)
    taken_over: set[str] = field(default_factory=set)
    """Names that were taken over."""
    outage_since: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Since when each worker is kept from the web, and why."""
    figures: FigureSums = field(default_factory=FigureSums)

    def record_heartbeat(
        self, worker: str, ttl_ms: int, stalled_ms: int | None, outage: Outage | None, now: int
    ) -> None:
        """Count a worker as alive for `ttl_ms` from now. It has waited for its storage for `stalled_ms`, if at all, and
        is kept from the web by `outage`, if by anything.
        """
        self.check_not_taken_over(worker)
        self.stalled_since.pop(worker, None)
        self.outage_since.pop(worker, None)
        self.alive_until[worker] = now + ttl_ms
        if stalled_ms is not None:
            self.stalled_since[worker] = now - stalled_ms
        if outage is not None:
            self.outage_since[worker] = now - outage.ms, outage.why

    def take_over(self, workers: Iterable[str]) -> None:
        """Declare workers dead for ever."""
        for worker in workers:
            self.taken_over.add(worker)
            self.deregister_worker(worker)

    def check_not_taken_over(self, *workers: str) -> None:
        """Raise `TakeoverError` if the name of one of the workers was taken over."""
        for worker in workers:
            if worker in self.taken_over:
                raise takeover_error(worker)

    def deregister_worker(self, worker: str) -> None:
        """Forget a worker that has ended."""
        self.alive_until.pop(worker, None)
        self.stalled_since.pop(worker, None)
        self.outage_since.pop(worker, None)
        self.figures.remove_report(worker)

    def alive_workers(self, workers: Iterable[str], now: int) -> set[str]:
        """Return those of some workers whose last heartbeat still counts."""
        return {worker for worker in workers if now < self.alive_until.get(worker, now)}

    def stalls(self, now: int) -> list[int]:
        """Return the milliseconds for which each live worker has waited for its storage, the longest first."""
        alive = self.alive_workers(self.stalled_since, now)
        return sorted((now - self.stalled_since[worker] for worker in alive), reverse=True)

    def outages(self, now: int) -> dict[str, Outage]:
        """Return the outage of each live worker that is kept from the web."""
        alive = self.alive_workers(self.outage_since, now)
        outages = ((worker, *self.outage_since[worker]) for worker in alive)
        return {worker: Outage(why=why, ms=now - since) for worker, since, why in outages}
