"""`MemoryHome`: what concerns a whole crawl, as `frontier.verbs.coordination` has it, on plain dictionaries of one process."""

from collections.abc import Callable, Collection, Iterable
from typing import Self

from frontier.gate_state import GateState
from frontier.outage import Outage
from frontier.settings import CrawlSettings, StorageId, check_settings, check_storage, merge_settings
from frontier.testing.crawl import CrawlState
from frontier.testing.gate import BackpressureGate
from frontier.testing.liveness import Liveness


class MemoryCoordination:
    """What `Coordination` promises, for one process and for as long as it lives.

    `clock` tells the time in milliseconds, and never goes back.
    """

    server_restarts = 0

    def __init__(self, *, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._crawl = CrawlState(settings=CrawlSettings())
        self._gate = BackpressureGate()
        self._liveness = Liveness()
        self._storage: StorageId | None = None
        self._made = self._has_settings = False
        self._rebuilt: set[str] | None = None

    async def open(
        self,
        settings: CrawlSettings | None = None,
        *,
        storage: StorageId | None = None,
        partitions: int | None = None,  # noqa: ARG002 - the frontier's signature
        update: bool = False,
    ) -> Self:
        """As `Frontier.open`; nothing is to be made ready, and nothing is spread."""
        if storage is not None:
            check_storage("in memory", storage.id, storage.uri, self._storage)
        if self._has_settings and not update:
            check_settings("in memory", settings, self._crawl.settings)
        self._storage, self._made = self._storage or storage, True
        if settings is not None:
            self._crawl.settings = (
                merge_settings(settings, self._crawl.settings) if self._has_settings else settings
            )
            self._has_settings = True
        return self

    async def exists(self) -> bool:
        """As `Frontier.exists`."""
        return self._made

    @property
    def settings(self) -> CrawlSettings:
        """As `Frontier.settings`."""
        return self._crawl.settings

    @property
    def storage(self) -> StorageId | None:
        """As `Frontier.storage`."""
        return self._storage

    async def update_settings(self, settings: CrawlSettings) -> None:
        """As `Frontier.update`."""
        await self.open(settings, update=True)

    @property
    def is_rebuilding(self) -> bool:
        """As `Frontier.is_rebuilding`."""
        return self._rebuilt is not None

    async def start_rebuild(self) -> set[str]:
        """As `Frontier.start_rebuild`."""
        self._rebuilt = self._rebuilt or set()
        return set(self._rebuilt)

    async def mark_rebuilt(self, part: str) -> None:
        """As `Frontier.mark_rebuilt`."""
        if self._rebuilt is not None:
            self._rebuilt.add(part)

    async def finish_rebuild(self) -> None:
        """As `Frontier.finish_rebuild`."""
        self._rebuilt = None

    async def report_backlog(
        self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000
    ) -> GateState:
        """As `Frontier.report_backlog`."""
        return self._gate.report_backlog(follower, backlog, limit, ttl_ms, self._clock())

    async def withdraw_backlog(self, follower: str) -> None:
        """As `Frontier.withdraw_backlog`."""
        self._gate.withdraw_backlog(follower)

    async def gate_state(self) -> GateState | None:
        """As `Frontier.gate_state`."""
        return self._gate.state(self._clock())

    async def send_heartbeat(
        self,
        worker: str,
        ttl_ms: int = 30_000,
        *,
        stalled_ms: int | None = None,
        outage: Outage | None = None,
    ) -> None:
        """As `Frontier.send_heartbeat`."""
        self._liveness.record_heartbeat(worker, ttl_ms, stalled_ms, outage, self._clock())

    async def stalls(self) -> list[int]:
        """As `Frontier.stalls`."""
        return self._liveness.stalls(self._clock())

    async def outages(self) -> dict[str, Outage]:
        """As `Frontier.outages`."""
        return self._liveness.outages(self._clock())

    async def take_over(self, workers: Collection[str]) -> None:
        """As `Frontier.take_over`."""
        self._liveness.take_over(workers)

    async def deregister_worker(self, worker: str) -> None:
        """As `Frontier.deregister_worker`."""
        self._liveness.deregister_worker(worker)

    async def alive_workers(self, workers: Iterable[str]) -> set[str]:
        """As `Frontier.alive_workers`."""
        return self._liveness.alive_workers(workers, self._clock())

    async def forget(self) -> None:
        """As `Frontier.forget`."""
        self._begin()
