"""`Rebuild`: how a frontier that was lost is made again from the archive."""

from frontier.verbs.crawl import Crawl


class Rebuild:
    """The making of one crawl's frontier from its archive. Nothing is leased between `start` and `finish`."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    @property
    def is_running(self) -> bool:
        """Whether somebody makes the frontier from the archive, as of `open`, or was killed at it."""
        return self._crawl.agreement.is_rebuilding

    async def start(self) -> set[str]:
        """Say that the frontier is being made from the archive: nothing is leased until it is `finish`. Return the parts of
        it that are `mark_done` already.
        """
        return {part.decode() for part in await self._crawl.call("rebuild")}

    async def mark_done(self, part: str) -> None:
        """Say that everything of a part of the archive is in the frontier."""
        await self._crawl.call("rebuilt", part)

    async def finish(self) -> None:
        """Say that everything of the archive is in the frontier, and that pages may be leased."""
        await self._crawl.call("complete")
