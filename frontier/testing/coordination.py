"""`MemoryHome`: what concerns a whole crawl, as `frontier.verbs.coordination` has it, on plain dictionaries of one process."""

from collections.abc import Callable, Collection, Iterable
from typing import Self

from frontier.gate_state import Flow
from frontier.outage import Outage
from frontier.settings import Settings, StorageId, check_settings, check_storage, merged
from frontier.testing.crawl import Crawl
from frontier.testing.gate import Gate
from frontier.testing.liveness import Living


class MemoryHome:
    """What `Home` promises, for one process and for as long as it lives.

    `clock` tells the time in milliseconds, and never goes back.
    """

    restarts = 0

    def __init__(self, *, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._crawl = Crawl(settings=Settings())
        self._gate = Gate()
        self._living = Living()
        self._storage: StorageId | None = None
        self._made = self._said = False
        self._rebuilt: set[str] | None = None

    async def open(
        self,
        settings: Settings | None = None,
        *,
        storage: StorageId | None = None,
        partitions: int | None = None,  # noqa: ARG002 - the frontier's signature
        update: bool = False,
    ) -> Self:
        """As `Frontier.open`; nothing is to be made ready, and nothing is spread."""
        if storage is not None:
            check_storage("in memory", storage.id, storage.uri, self._storage)
        if self._said and not update:
            check_settings("in memory", settings, self._crawl.settings)
        self._storage, self._made = self._storage or storage, True
        if settings is not None:
            self._crawl.settings = merged(settings, self._crawl.settings) if self._said else settings
            self._said = True
        return self

    async def exists(self) -> bool:
        """As `Frontier.exists`."""
        return self._made

    @property
    def settings(self) -> Settings:
        """As `Frontier.settings`."""
        return self._crawl.settings

    @property
    def storage(self) -> StorageId | None:
        """As `Frontier.storage`."""
        return self._storage

    async def update(self, settings: Settings) -> None:
        """As `Frontier.update`."""
        await self.open(settings, update=True)

    @property
    def rebuilding(self) -> bool:
        """As `Frontier.rebuilding`."""
        return self._rebuilt is not None

    async def rebuild(self) -> set[str]:
        """As `Frontier.rebuild`."""
        self._rebuilt = self._rebuilt or set()
        return set(self._rebuilt)

    async def rebuilt(self, part: str) -> None:
        """As `Frontier.rebuilt`."""
        if self._rebuilt is not None:
            self._rebuilt.add(part)

    async def complete(self) -> None:
        """As `Frontier.complete`."""
        self._rebuilt = None

    async def follow(self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000) -> Flow:
        """As `Frontier.follow`."""
        return self._gate.follow(follower, backlog, limit, ttl_ms, self._clock())

    async def unfollow(self, follower: str) -> None:
        """As `Frontier.unfollow`."""
        self._gate.unfollow(follower)

    async def flow(self) -> Flow | None:
        """As `Frontier.flow`."""
        return self._gate.flow(self._clock())

    async def beat(
        self,
        worker: str,
        ttl_ms: int = 30_000,
        *,
        stalled_ms: int | None = None,
        outage: Outage | None = None,
    ) -> None:
        """As `Frontier.beat`."""
        self._living.beat(worker, ttl_ms, stalled_ms, outage, self._clock())

    async def stalls(self) -> list[int]:
        """As `Frontier.stalls`."""
        return self._living.stalls(self._clock())

    async def outages(self) -> dict[str, Outage]:
        """As `Frontier.outages`."""
        return self._living.outages(self._clock())

    async def take_over(self, workers: Collection[str]) -> None:
        """As `Frontier.take_over`."""
        self._living.take_over(workers)

    async def leave(self, worker: str) -> None:
        """As `Frontier.leave`."""
        self._living.leave(worker)

    async def alive(self, workers: Iterable[str]) -> set[str]:
        """As `Frontier.alive`."""
        return self._living.alive(workers, self._clock())

    async def forget(self) -> None:
        """As `Frontier.forget`."""
        self._begin()
