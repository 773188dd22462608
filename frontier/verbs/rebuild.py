"""`Rebuild`: how a lost frontier is made again from the archive."""

from collections.abc import Sequence

from thresher.frontier.codec.arguments import restore_calls
from thresher.frontier.lease import RestoredPage
from thresher.frontier.verbs.crawl import Crawl


class Rebuild:
    """The rebuild of one crawl's frontier from its archive. Nothing is leased between `start` and `finish`."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    @property
    def is_running(self) -> bool:
        """Whether a rebuild has started and not finished, as of `Crawl.open`; it may have been killed."""
        return self._crawl.agreement.is_rebuilding

    async def start(self) -> set[str]:
        """Say that the frontier is being made from the archive: nothing is leased until `finish`. Return the parts that
        are marked done already.
        """
        return {part.decode() for part in await self._crawl.call("rebuild")}

    async def restore(self, restored: Sequence[RestoredPage]) -> list[bool]:
        """Settle unknown pages with the outcomes that they had before, and schedule their next visits. Known pages stay
        as they are, and no budget applies. Return for each page whether it was unknown.
        """
        await self._crawl.register()
        rows: dict[int, bool] = {}
        for call, some in restore_calls(restored, self._crawl.partitions, self._crawl.settings.policy):
            nonce, at_ms, *reply = await self._crawl.one(call)
            await self._crawl.reconciler.record_call(
                self._crawl.partitions.of_host(some[0].discovery.url.host), call, nonce, at_ms
            )
            rows.update(zip(map(id, some), map(bool, reply), strict=True))
        return [rows[id(each)] for each in restored]

    async def mark_done(self, part: str) -> None:
        """Say that every page of a part of the archive is in the frontier."""
        await self._crawl.call("rebuilt", part)

    async def finish(self) -> None:
        """Say that every page of the archive is in the frontier: pages may be leased."""
        await self._crawl.call("complete")
