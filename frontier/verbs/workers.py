"""`Workers`: the verbs for workers: which are alive, which hold leases, and which take over from the dead."""

from collections.abc import Collection, Iterable
from itertools import chain

from thresher.frontier.codec.figures import decode_figures, encode_figures
from thresher.frontier.codec.replies import decode_lease
from thresher.frontier.lease import Lease
from thresher.frontier.link.partition import crawl_call
from thresher.frontier.outage import Outage
from thresher.frontier.verbs.crawl import Crawl
from thresher.frontier.worker_figures import CrawlFigures, WorkerFigures, WorkerReport


class Workers:
    """The workers of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._counted: dict[str, WorkerFigures] = {}
        """The counters of each worker of this process that the frontier has added to its sums."""

    async def send_heartbeat(
        self,
        worker: str,
        ttl_ms: int = 30_000,
        *,
        stalled_ms: int | None = None,
        outage: Outage | None = None,
        report: WorkerReport | None = None,
    ) -> None:
        """Count a worker as alive for `ttl_ms` from now. `stalled_ms` is for how long it has waited for its storage to
        answer; `outage` is the fault that keeps it from the web, if there is one. `report` has its figures
        (`frontier.worker_figures`). Raise `TakeoverError` if its name was taken over.
        """
        stalled = -1 if stalled_ms is None else stalled_ms
        kept = (-1, "") if outage is None else (outage.ms, outage.why)
        await self._crawl.call("beat", worker, ttl_ms, stalled, *kept, *self._encode(worker, report))
        self._set_counted(worker, report)

    async def report_figures(self, worker: str, report: WorkerReport, ttl_ms: int = 30_000) -> None:
        """Report the figures of a worker that leases nothing. The report counts for `ttl_ms`, or until `deregister`;
        what its counters grew by stays in the sums.
        """
        await self._crawl.call("report", worker, ttl_ms, *self._encode(worker, report))
        self._set_counted(worker, report)

    def _encode(self, worker: str, report: WorkerReport | None) -> tuple[str | int, ...]:
        return () if report is None else encode_figures(report, self._counted.get(worker, WorkerFigures()))

    def _set_counted(self, worker: str, report: WorkerReport | None) -> None:
        if report is not None:
            self._counted[worker] = report.figures

    async def figures(self) -> CrawlFigures:
        """Return the sums over all workers that the crawl ever had, and the last report of each live one."""
        return decode_figures(await self._crawl.call("figures"))

    async def stalls(self) -> list[int]:
        """Return the milliseconds for which each live worker has waited for its storage; workers that do not wait are
        left out.
        """
        return [int(waited) for waited in await self._crawl.call("stalls")]

    async def outages(self) -> dict[str, Outage]:
        """Return the outage of each live worker that is kept from the web."""
        rows = await self._crawl.call("outages")
        return {worker.decode(): Outage(why=why.decode(), ms=int(ms)) for worker, ms, why in rows}

    async def take_over(self, workers: Collection[str]) -> None:
        """Declare workers dead for ever. When this returns, no lease, heartbeat or settlement under these names is
        accepted any more: the calls raise `TakeoverError`. The caller settles the leases of these workers with
        `is_worker_dead`.
        """
        if workers:
            calls = self._crawl.partitions.calls("take_over", *workers)
            _, *replies = await self._crawl.link.call(
                [crawl_call(self._crawl.name, "take_over", *workers), *calls]
            )
            for p, (call, (nonce, at_ms)) in enumerate(zip(calls, replies, strict=True)):
                await self._crawl.reconciler.record_call(p, call, nonce, at_ms)

    async def deregister(self, worker: str) -> None:
        """Say that a worker has ended and holds no lease."""
        await self._crawl.call("leave", worker)

    async def alive(self, workers: Iterable[str]) -> set[str]:
        """Return those of some workers whose last heartbeat still counts."""
        return {worker.decode() for worker in await self._crawl.call("alive", *workers)}

    async def holders(self) -> set[str]:
        """Return every worker that holds a lease."""
        rows = await self._crawl.link.call(self._crawl.partitions.calls("holders", key="leases"))
        return {worker.decode() for worker in chain.from_iterable(rows)}

    async def reclaim(self, worker: str, *, is_worker_dead: bool = False, has_crashed: bool = False) -> int:
        """Take back every lease of a worker that has ended, and return how many. Its hosts wait their delay.

        With `is_worker_dead`, its pages and robots.txt files count as recovered from then on (`Lease.is_recovered`).
        With `has_crashed`, nobody knows what killed the worker, so the crash counts as an expiry of each lease: a page
        that was held at five crashes fails with `lease_expired`; a robots.txt that was, forbids the pages of its origin
        for an hour, and they fail for the same reason. Raise `TakeoverError` as `settle` does.
        """
        self._crawl.journal.remove_grants(worker)
        return sum(
            await self._crawl.link.call(
                self._crawl.partitions.calls("reclaim", worker, 2 if has_crashed else int(is_worker_dead))
            )
        )

    async def leases(self, worker: str) -> list[Lease]:
        """Return the leases that a worker holds, ordered by token: the oldest of each partition first."""
        rows = await self._crawl.link.call(self._crawl.partitions.calls("leases", worker))
        return sorted(
            (decode_lease(row, worker) for row in chain.from_iterable(rows)), key=lambda held: held.token
        )
