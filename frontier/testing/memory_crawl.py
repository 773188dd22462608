"""`MemoryCrawl`: one crawl as a whole, as `frontier.verbs.crawl` has it, on plain dictionaries of one process."""

from collections.abc import Callable, Sequence

from thresher.frontier.crawl_settings import (
    CrawlSettings,
    StorageId,
    check_settings,
    check_storage,
    merge_settings,
)
from thresher.frontier.exchange_times import ExchangeTimes
from thresher.frontier.lease import Lease
from thresher.frontier.testing.model.crawl_state import CrawlState
from thresher.frontier.testing.model.fleet_members import FleetMembers
from thresher.frontier.testing.model.gate import BackpressureGate
from thresher.frontier.testing.model.heartbeats import Heartbeats


class MemoryCrawl:
    """Promises what `Crawl` promises, for one process and for as long as it lives.

    `clock` returns milliseconds and never goes back. The clients of the crawl share `state`, `gate`, `heartbeats`
    and `fleet_members`.
    """

    server_restarts = 0

    def __init__(self, *, clock: Callable[[], int]) -> None:
        self.clock = clock
        self._begin()

    def _begin(self) -> None:
        self.state = CrawlState(settings=CrawlSettings())
        self.gate = BackpressureGate()
        self.heartbeats = Heartbeats()
        self.last_exchanges: dict[str, ExchangeTimes] = {}
        self.fleet_members = FleetMembers()
        self.rebuilt_parts: set[str] | None = None
        self._storage: StorageId | None = None
        self._made = self._has_settings = False

    async def open(
        self,
        settings: CrawlSettings | None = None,
        *,
        storage: StorageId | None = None,
        partitions: int | None = None,  # noqa: ARG002 - the signature of `Crawl.open`
        update: bool = False,
    ) -> None:
        """As `Crawl.open`; there are no servers and no partitions."""
        if storage is not None:
            check_storage("in memory", storage.id, storage.uri, self._storage)
        if self._has_settings and not update:
            check_settings("in memory", settings, self.settings)
        self._storage, self._made = self._storage or storage, True
        if settings is not None:
            self.state.settings = merge_settings(settings, self.settings) if self._has_settings else settings
            self._has_settings = True

    async def exists(self) -> bool:
        """As `Crawl.exists`."""
        return self._made

    @property
    def settings(self) -> CrawlSettings:
        """As `Crawl.settings`."""
        return self.state.settings

    @property
    def storage(self) -> StorageId | None:
        """As `Crawl.storage`."""
        return self._storage

    async def update_settings(self, settings: CrawlSettings) -> None:
        """As `Crawl.update_settings`."""
        await self.open(settings, update=True)

    async def forget(self) -> None:
        """As `Crawl.forget`."""
        self._begin()


def check_not_taken_over(
    crawl: MemoryCrawl, leases: Sequence[Lease], *, is_worker_dead: bool = False
) -> None:
    """Raise `TakeoverError` if one of the leases that are held belongs to a worker whose name was taken over, unless
    the caller says that `is_worker_dead`.
    """
    if not is_worker_dead:
        held = [lease.worker for lease in leases if lease.token in crawl.state.open_leases]
        crawl.heartbeats.check_not_taken_over(*held)
