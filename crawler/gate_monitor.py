"""`GateMonitor`: whether the crawl's back-pressure gate is open, as a worker knows it.

The frontier itself grants no lease while the gate is shut. A worker that knows that the gate is shut requests leases at
most once a second. It also seals its archive file soon (`crawler.rotation`), because a follower sees only sealed files.
"""

import time
from collections.abc import Awaitable, Callable

from thresher.frontier import GateState

POLL_INTERVAL_S = 1.0
"""Seconds between two reads of the gate's state."""


class GateMonitor:
    """The gate's state, at most a second old."""

    def __init__(
        self,
        read_state: Callable[[], Awaitable[GateState | None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the state with `read_state` (`Backlog.gate_state`)."""
        self._read_state, self._clock = read_state, clock
        self._read_at: float | None = None
        self.state: GateState | None = None
        """None if nobody follows the crawl."""
        self.shut_s = 0.0
        """Seconds for which the gate was shut, as far as this worker read its state."""

    @property
    def is_shut(self) -> bool:
        """Whether nothing may be leased."""
        return self.state is not None and self.state.shut

    async def may_lease(self) -> bool:
        """Return whether the worker may request leases now: always while the gate is open, once a second while it is
        shut.
        """
        now = self._clock()
        is_due = self._read_at is None or now - self._read_at >= POLL_INTERVAL_S
        if is_due:
            if self._read_at is not None and self.is_shut:
                self.shut_s += now - self._read_at
            self.state = await self._read_state()
            self._read_at = now
        return is_due or not self.is_shut

    def __repr__(self) -> str:
        return f"<gate: {'shut' if self.is_shut else 'open'}>"
