"""`MemoryWorkers`: the verbs of `frontier.verbs.workers` on the state of a `MemoryCrawl`."""

from collections.abc import Collection, Iterable

from thresher.frontier.lease import Lease
from thresher.frontier.outage import Outage
from thresher.frontier.robots_record import LARGE_RULES_RETENTION_MS
from thresher.frontier.testing.memory_crawl import MemoryCrawl
from thresher.frontier.testing.model.lease_reply import lease_for_token
from thresher.frontier.testing.model.robots_bodies import expire_robots_bodies
from thresher.frontier.worker_figures import CrawlFigures, WorkerReport


class MemoryWorkers:
    """Promises what `Workers` promises."""

    def __init__(self, crawl: MemoryCrawl) -> None:
        self._crawl = crawl

    async def send_heartbeat(
        self,
        worker: str,
        ttl_ms: int = 30_000,
        *,
        stalled_ms: int | None = None,
        outage: Outage | None = None,
        report: WorkerReport | None = None,
    ) -> None:
        """As `Workers.send_heartbeat`."""
        heartbeats, now = self._crawl.heartbeats, self._crawl.clock()
        heartbeats.record_heartbeat(worker, ttl_ms, stalled_ms, outage, now)
        if report is not None:
            heartbeats.figures.record_report(worker, report, ttl_ms, now)

    async def report_figures(self, worker: str, report: WorkerReport, ttl_ms: int = 30_000) -> None:
        """As `Workers.report_figures`."""
        self._crawl.heartbeats.figures.record_report(worker, report, ttl_ms, self._crawl.clock())

    async def figures(self) -> CrawlFigures:
        """As `Workers.figures`."""
        return self._crawl.heartbeats.figures.crawl_figures(self._crawl.clock())

    async def stalls(self) -> list[int]:
        """As `Workers.stalls`."""
        return self._crawl.heartbeats.stalls(self._crawl.clock())

    async def outages(self) -> dict[str, Outage]:
        """As `Workers.outages`."""
        return self._crawl.heartbeats.outages(self._crawl.clock())

    async def take_over(self, workers: Collection[str]) -> None:
        """As `Workers.take_over`."""
        self._crawl.heartbeats.take_over(workers)

    async def deregister(self, worker: str) -> None:
        """As `Workers.deregister`."""
        self._crawl.heartbeats.deregister_worker(worker)

    async def alive(self, workers: Iterable[str]) -> set[str]:
        """As `Workers.alive`."""
        return self._crawl.heartbeats.alive_workers(workers, self._crawl.clock())

    async def holders(self) -> set[str]:
        """As `Workers.holders`."""
        return {lease.worker for lease in self._crawl.state.open_leases.values()}

    async def reclaim(self, worker: str, *, is_worker_dead: bool = False, has_crashed: bool = False) -> int:
        """As `Workers.reclaim`."""
        state, now = self._crawl.state, self._crawl.clock()
        is_lost = is_worker_dead or has_crashed
        if not is_lost:
            self._crawl.heartbeats.check_not_taken_over(worker)
        held = [token for token, lease in state.open_leases.items() if lease.worker == worker]
        for token in sorted(held, reverse=True):  # each goes before those that are there
            lease = state.open_leases[token]
            if not is_lost:
                state.uncount_request(lease)
            subject = lease.page or state.origins[lease.origin]
            subject.is_recovered = subject.is_recovered or is_lost
            state.expire_lease(token, now + 1, int(has_crashed), now)
        expire_robots_bodies(state.origins, state.hosts, now, now + LARGE_RULES_RETENTION_MS)
        return len(held)

    async def leases(self, worker: str) -> list[Lease]:
        """As `Workers.leases`."""
        state = self._crawl.state
        return [
            lease_for_token(state, token)
            for token, lease in state.open_leases.items()
            if lease.worker == worker
        ]
