"""`Backlog`: how far processing is behind a crawl; its reports shut and open the gate (`frontier.gate_state`)."""

from frontier.codec.replies import decode_gate_state
from frontier.gate_state import GateState
from frontier.verbs.crawl import Crawl


class Backlog:
    """What is still to be processed of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    async def report(self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000) -> GateState:
        """Report that `backlog` bytes of the sealed archive are still to be processed; returns what follows.

        Every follower of a crawl measures the same backlog, so the newest report counts, whoever made it. It
        counts for `ttl_ms`: one who stops for minutes holds the crawl, one who is gone for good does not.
        """
        return decode_gate_state(await self._crawl.call("follow", follower, backlog, limit, ttl_ms))

    async def withdraw(self, follower: str) -> None:
        """Take the report back, if the newest one is this follower's: the crawl goes on without it."""
        await self._crawl.call("unfollow", follower)

    async def gate_state(self) -> GateState | None:
        """Return how far the crawl is ahead of its follower; None where nobody follows it."""
        told = await self._crawl.call("flow")
        return decode_gate_state(told) if told else None
