"""`Gate`: what a worker knows of the crawl's flow, and how often it asks.

The frontier itself grants nothing while the gate is shut. A worker that knows it asks for leases once a second
and no oftener, and seals its archive file soon (`crawler.rotation`), for a follower sees sealed files only.
"""

import time
from collections.abc import Awaitable, Callable

from frontier import Flow

ASK_S = 1.0


class Gate:
    """The flow as of a second ago."""

    def __init__(
        self, ask: Callable[[], Awaitable[Flow | None]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`ask` gives the flow (`Frontier.flow`)."""
        self._ask, self._clock = ask, clock
        self._asked: float | None = None
        self.flow: Flow | None = None
        """None where nobody follows the crawl."""

    @property
    def shut(self) -> bool:
        """Whether nothing may be leased."""
        return self.flow is not None and self.flow.shut

    async def admits(self) -> bool:
        """Whether to ask for leases now: whenever one likes while it is open, once a second while it is shut."""
        now = self._clock()
        fresh = self._asked is None or now - self._asked >= ASK_S
        if fresh:
            self.flow = await self._ask()
            self._asked = now
        return fresh or not self.shut

    def __repr__(self) -> str:
        return f"<gate: {'shut' if self.shut else 'open'}>"
