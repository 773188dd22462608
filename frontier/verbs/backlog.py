"""`Backlog`: how far processing is behind a crawl. Its reports shut and open the gate (`frontier.gate_state`)."""

from thresher.frontier.codec.replies import decode_gate_state
from thresher.frontier.gate_state import GateState
from thresher.frontier.verbs.crawl import Crawl


class Backlog:
    """The archived bytes of one crawl that are still to be processed."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    async def report(
        self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000, oldest_ms: int = 0
    ) -> GateState:
        """Report that `backlog` bytes of the sealed archive are still to be processed, and return the state of the
        gate.

        Every follower of a crawl measures the same backlog, so the newest report counts, whoever made it. It counts for
        `ttl_ms`: a follower that stops for minutes holds the crawl, a follower that is gone for good does not.
        `oldest_ms` is for how long the oldest file of the backlog has been sealed.
        """
        return decode_gate_state(
            await self._crawl.call("follow", follower, backlog, limit, ttl_ms, oldest_ms)
        )

    async def withdraw(self, follower: str) -> None:
        """Take the newest report back if it is this follower's: the crawl goes on without it."""
        await self._crawl.call("unfollow", follower)

    async def gate_state(self) -> GateState | None:
        """Return how far the crawl is ahead of its follower; None if nobody follows it."""
        reply = await self._crawl.call("flow")
        return decode_gate_state(reply) if reply else None

    async def archived_bytes(self) -> int:
        """Return by how many bytes the crawl's archive has grown since the crawl was made, whether or not anybody
        follows it. Bytes of a rebuilt frontier's former archive are not counted.
        """
        return int(await self._crawl.call("archived_bytes"))
