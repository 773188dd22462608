"""`MemoryFrontier`: the verbs of `frontier.crawl_frontier` on the state of a `MemoryCrawl`."""

from collections.abc import Callable, Sequence
from typing import Self

from thresher.core import InputError, Url
from thresher.frontier.crawl_settings import CrawlSettings, StorageId
from thresher.frontier.lease import (
    AddResult,
    Discovery,
    HostRelease,
    Lease,
    Leases,
    Outcome,
    Settlement,
    Stats,
    UnloggedBatch,
)
from thresher.frontier.testing.memory_backlog import MemoryBacklog
from thresher.frontier.testing.memory_crawl import MemoryCrawl, check_not_taken_over
from thresher.frontier.testing.memory_fleet import MemoryFleet
from thresher.frontier.testing.memory_inspection import MemoryInspection
from thresher.frontier.testing.memory_operator import MemoryOperator
from thresher.frontier.testing.memory_origins import MemoryOrigins
from thresher.frontier.testing.memory_politeness import MemoryPoliteness
from thresher.frontier.testing.memory_rebuild import MemoryRebuild
from thresher.frontier.testing.memory_workers import MemoryWorkers
from thresher.frontier.testing.model.lease_reply import lease_for_token
from thresher.frontier.testing.model.settle_page import settle_page

_MAX_NAME_LENGTH = 255  # bytes of a worker's name


class MemoryFrontier:
    """Promises what `Frontier` promises, for one process and for as long as it lives. `clock` returns milliseconds and
    never goes back.
    """

    def __init__(self, *, clock: Callable[[], int]) -> None:
        self.crawl = MemoryCrawl(clock=clock)
        self.workers = MemoryWorkers(self.crawl)
        self.backlog = MemoryBacklog(self.crawl)
        self.rebuild = MemoryRebuild(self.crawl)
        self.politeness = MemoryPoliteness(self.crawl)
        self.origins = MemoryOrigins(self.crawl)
        self.operator = MemoryOperator(self.crawl)
        self.inspection = MemoryInspection(self.crawl)
        self.fleet = MemoryFleet(self.crawl)

    async def open(
        self,
        settings: CrawlSettings | None = None,
        *,
        storage: StorageId | None = None,
        partitions: int | None = None,
        update: bool = False,
    ) -> Self:
        """As `Frontier.open`."""
        await self.crawl.open(settings, storage=storage, partitions=partitions, update=update)
        return self

    async def add(self, discoveries: Sequence[Discovery], *, revive: bool = False) -> AddResult:
        """As `Frontier.add`."""
        return self.crawl.state.admit(discoveries, self.crawl.clock(), revive=revive)

    async def knows(self, urls: Sequence[Url]) -> list[bool]:
        """As `Frontier.knows`."""
        return [self.crawl.state.knows(url) for url in urls]

    async def unlogged_batch(self, n: int = 1_000) -> UnloggedBatch:
        """As `Frontier.unlogged_batch`."""
        found = tuple(self.crawl.state.unlogged_settlements[:n])
        return UnloggedBatch(
            settlements=found,
            positions=((0, b"", self.crawl.state.logged_count, len(found)),) if found else (),
        )

    async def acknowledge_batch(self, batch: UnloggedBatch) -> None:
        """As `Frontier.acknowledge_batch`."""
        for _, _, before, number in batch.positions:
            if before == self.crawl.state.logged_count:
                del self.crawl.state.unlogged_settlements[:number]
                self.crawl.state.logged_count += number

    async def lease(
        self,
        n: int,
        *,
        worker: str,
        lease_ms: int,
        max_pages: int | None = None,
        max_requests: int | None = None,
    ) -> Leases:
        """As `Frontier.lease`."""
        if len(worker.encode()) > _MAX_NAME_LENGTH:
            raise InputError(f"worker {worker[:40]!r}: a name has at most {_MAX_NAME_LENGTH} bytes")
        self.crawl.heartbeats.check_not_taken_over(worker)
        crawl, now = self.crawl.state, self.crawl.clock()
        granted: list[Lease] = []
        if (
            self.rebuild.is_running
            or self.crawl.fleet_members.is_paused
            or ((flow := self.crawl.gate.state(now)) and flow.shut)
        ):
            return Leases(soonest_ms=None)
        crawl.catch_up(now)
        if max_pages is not None:
            n = min(n, max_pages - self._leased() - crawl.outcomes[Outcome.FETCHED])
        if max_requests is not None:
            n = min(n, max_requests - crawl.requests)
        while len(granted) < n and (line := crawl.ready_hosts(now)[: n - len(granted)]):
            for host in line:
                slot = host.held_until if host.held_until > host.last else 0
                token = crawl.grant(host, worker, lease_ms, now)
                if token is not None:
                    granted.append(lease_for_token(self.crawl.state, token, slot))
        return Leases(granted, soonest_ms=crawl.soonest(now) if len(granted) < n else 0)

    async def postpone(
        self, lease: Lease, wait_ms: int, *, has_sent_request: bool = False, is_worker_dead: bool = False
    ) -> bool:
        """As `Frontier.postpone`."""
        check_not_taken_over(self.crawl, [lease], is_worker_dead=is_worker_dead)
        now = self.crawl.clock()
        held = self.crawl.state.open_leases.get(lease.token)
        if held is None or held.released:
            return False
        if not has_sent_request:
            self.crawl.state.uncount_request(held)
        _, host = self.crawl.state.end_lease(lease.token, now + 1 if has_sent_request else 0)
        host.hold(wait_ms, now, "address")
        if held.page is not None:
            self.crawl.state.put_back(held.page, now)
        host.schedule(now)
        return True

    async def postpone_all(
        self, waits: Sequence[tuple[HostRelease, int]], *, is_worker_dead: bool = False
    ) -> list[bool]:
        """As `Frontier.postpone_all`."""
        return [
            await self.postpone(
                back.lease, wait_ms, has_sent_request=back.has_sent_request, is_worker_dead=is_worker_dead
            )
            for back, wait_ms in waits
        ]

    async def renew(self, leases: Sequence[Lease], lease_ms: int) -> None:
        """As `Frontier.renew`."""
        for lease in leases:
            if held := self.crawl.state.open_leases.get(lease.token):
                held.deadline = self.crawl.clock() + lease_ms

    async def release(self, exchanges: Sequence[HostRelease]) -> int | None:
        """As `Frontier.release`."""
        check_not_taken_over(self.crawl, [exchange.lease for exchange in exchanges])
        now = self.crawl.clock()
        for exchange in exchanges:
            held = self.crawl.state.open_leases.get(exchange.lease.token)
            if held is not None and not held.released:
                if not exchange.has_sent_request:
                    self.crawl.state.uncount_request(held)
                held.released = True
                host = self.crawl.state.hosts[held.host]
                host.end_exchange(now + 1 if exchange.has_sent_request else 0)
                if exchange.has_sent_request and exchange.elapsed_ms is not None:
                    host.record_response_time(max(exchange.elapsed_ms, 0))
                host.schedule(now)
        return self.crawl.state.soonest(now) if exchanges else None

    async def settle(
        self, settlements: Sequence[Settlement], *, archived: int = 0, is_worker_dead: bool = False
    ) -> int:
        """As `Frontier.settle`."""
        now = self.crawl.clock()
        self.crawl.state.admit((found for ended in settlements for found in ended.discoveries), now)
        self.crawl.gate.archived(archived)
        check_not_taken_over(
            self.crawl, [settlement.lease for settlement in settlements], is_worker_dead=is_worker_dead
        )
        return sum(settle_page(self.crawl.state, settlement, now) for settlement in settlements)

    async def stats(self) -> Stats:
        """As `Frontier.stats`."""
        crawl = self.crawl.state
        waiting, leased = sum(len(host.waiting) for host in crawl.hosts.values()), self._leased()
        return Stats(
            waiting=waiting,
            leased=leased,
            later=len(crawl.later),
            robots=len(crawl.open_leases) - leased,
            hosts=len(crawl.hosts),
            outcomes={
                str(outcome): crawl.outcomes[outcome] for outcome in Outcome if outcome is not Outcome.RETRY
            },
            reasons=dict(crawl.reasons),
            seen=waiting + leased + len(crawl.later) + crawl.outcomes.total(),
            scheduled=len(crawl.visits),
            held=sum(host.trips > 0 for host in crawl.hosts.values()),
            dead=sum(bool(host.dead_reason) for host in crawl.hosts.values()),
            unlogged=len(crawl.unlogged_settlements),
            requests=crawl.requests,
            discarded=dict(crawl.discarded),
        )

    def _leased(self) -> int:
        return sum(held.page is not None for held in self.crawl.state.open_leases.values())
