"""`MemoryBacklog`: the verbs of `frontier.verbs.backlog` on the gate of a `MemoryCrawl`."""

from thresher.frontier.gate_state import GateState
from thresher.frontier.testing.memory_crawl import MemoryCrawl


class MemoryBacklog:
    """Promises what `Backlog` promises."""

    def __init__(self, crawl: MemoryCrawl) -> None:
        self._crawl = crawl

    async def report(
        self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000, oldest_ms: int = 0
    ) -> GateState:
        """As `Backlog.report`."""
        return self._crawl.gate.report_backlog(
            follower, backlog, limit, ttl_ms=ttl_ms, oldest_ms=oldest_ms, now=self._crawl.clock()
        )

    async def withdraw(self, follower: str) -> None:
        """As `Backlog.withdraw`."""
        self._crawl.gate.withdraw_backlog(follower)

    async def gate_state(self) -> GateState | None:
        """As `Backlog.gate_state`."""
        return self._crawl.gate.state(self._crawl.clock())

    async def archived_bytes(self) -> int:
        """As `Backlog.archived_bytes`."""
        return self._crawl.gate.archived_bytes
