"""`Activity`: a crawl worker shows its supervisor that its event loop turns, and which page it reads.

1. An activity is two numbers in memory that both processes share. Writing them costs nothing, and they outlive the
   worker.
2. The supervisor ends a worker whose event loop stands still. If a worker died, the supervisor knows which page it was
   reading.
3. The supervisor does not end a worker because a user's spider blocks the event loop: that is for
   `crawler.spiders.blocking_watch`. So the activity shows whether a spider may be at work.
"""

import asyncio
from dataclasses import dataclass
from multiprocessing.connection import Connection

from thresher.core import ThresherError
from thresher.isolation.shared_int import SharedInt

TICK_S = 1.0
"""Seconds between two ticks."""
NO_PAGE, SPIDER = 0, -1
"""`NO_PAGE`: no page is read. `SPIDER`: a user's spider may be at work. Tokens of leases are positive."""


class Activity:
    """The two numbers, as the worker and its supervisor hold them."""

    def __init__(self, ticks: SharedInt, page_token: SharedInt) -> None:
        """Hold the activity that these two shared numbers store; `make` creates new ones."""
        self._ticks, self._page_token = ticks, page_token

    @classmethod
    def make(cls) -> "Activity":
        """Return the activity of a worker that has not started."""
        return cls(SharedInt.create(0), SharedInt.create(NO_PAGE))

    @classmethod
    def from_descriptors(cls, descriptors: tuple[int, int]) -> "Activity":
        """Return the parent's activity, in a process that has inherited its `descriptors`."""
        ticks, page_token = descriptors
        return cls(SharedInt(ticks), SharedInt(page_token))

    @property
    def descriptors(self) -> tuple[int, int]:
        """The file descriptors of the shared memory."""
        return self._ticks.descriptor, self._page_token.descriptor

    @property
    def ticks(self) -> int:
        """How many ticks the event loop has made; 0 while there is no loop to watch."""
        return self._ticks.value

    @property
    def page_token(self) -> int:
        """Token of the lease whose page is read now, or `NO_PAGE`, or `SPIDER`: whenever no page is read, a user's
        spider may be at work.
        """
        return self._page_token.value

    @page_token.setter
    def page_token(self, token: int) -> None:
        self._page_token.value = token

    async def run(self) -> None:
        """Count the ticks of the event loop until cancelled."""
        try:
            while True:
                self._ticks.value += 1
                await asyncio.sleep(TICK_S)
        finally:
            self._ticks.value = 0

    def __repr__(self) -> str:
        return f"<activity: {self.ticks} ticks, reads {self.page_token}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorChannel:
    """The connection from a worker to its supervisor."""

    error_pipe: Connection
    activity: Activity

    def send_error(self, error: ThresherError) -> None:
        """Tell the supervisor why the worker ends. Call it once at most."""
        self.error_pipe.send(error)
