"""`MemoryRebuild`: the verbs of `frontier.verbs.rebuild` on a `MemoryCrawl`."""

from collections.abc import Sequence

from thresher.frontier.lease import RestoredPage
from thresher.frontier.testing.memory_crawl import MemoryCrawl


class MemoryRebuild:
    """Promises what `Rebuild` promises."""

    def __init__(self, crawl: MemoryCrawl) -> None:
        self._crawl = crawl

    @property
    def is_running(self) -> bool:
        """As `Rebuild.is_running`."""
        return self._crawl.rebuilt_parts is not None

    async def start(self) -> set[str]:
        """As `Rebuild.start`."""
        self._crawl.rebuilt_parts = self._crawl.rebuilt_parts or set()
        return set(self._crawl.rebuilt_parts)

    async def restore(self, restored: Sequence[RestoredPage]) -> list[bool]:
        """As `Rebuild.restore`."""
        return [self._crawl.state.restore(each, self._crawl.clock()) for each in restored]

    async def mark_done(self, part: str) -> None:
        """As `Rebuild.mark_done`."""
        if self._crawl.rebuilt_parts is not None:
            self._crawl.rebuilt_parts.add(part)

    async def finish(self) -> None:
        """As `Rebuild.finish`."""
        self._crawl.rebuilt_parts = None
