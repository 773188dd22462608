"""`Gate`: what a worker knows of the crawl's flow, and how often it asks.

The frontier itself grants nothing while the gate is shut. A worker that knows it asks for leases once a second
and no oftener, and seals its archive file soon (`crawler.rotation`), for a follower sees sealed files only.
"""

import time
from collections.abc import Awaitable, Callable

from frontier import GateState

POLL_INTERVAL_S = 1.0


class GateMonitor:
    """The flow as of a second ago."""

    def __init__(
        self,
        read_state: Callable[[], Awaitable[GateState | None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read_state` gives the flow (`Backlog.gate_state`)."""
        self._read_state, self._clock = read_state, clock
        self._read_at: float | None = None
        self.state: GateState | None = None
        """None where nobody follows the crawl."""

    @property
    def is_shut(self) -> bool:
        """Whether nothing may be leased."""
        return self.state is not None and self.state.shut

    async def may_lease(self) -> bool:
        """Whether to ask for leases now: whenever one likes while it is open, once a second while it is shut."""
        now = self._clock()
        fresh = self._read_at is None or now - self._read_at >= POLL_INTERVAL_S
        if fresh:
            self.state = await self._read_state()
            self._read_at = now
        return fresh or not self.is_shut

    def __repr__(self) -> str:
        return f"<gate: {'shut' if self.is_shut else 'open'}>"
