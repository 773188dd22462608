"""`Activity`: what a crawl worker lets its supervisor see: that its event loop turns, and which page it reads.

1. Two numbers in memory that the two processes share. Writing them costs nothing, and they outlive the worker.
2. The supervisor ends a worker whose event loop stands still, and knows of one that died which page it was reading.
3. How long a user's spider may hold up the event loop is not the supervisor's to say (`crawler.spiders.blocking_watch`), so it sees
   whether the spider may be at work.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from core import ThresherError
from isolation.shared_int import SharedInt

TURN_S = 1.0
"""Between two turns that are counted."""
NO_PAGE, SPIDER = 0, -1
"""No page is read; or a user's spider may be at work. Tokens of leases are positive."""


class Activity:
    """The numbers, as either process has them."""

    def __init__(self, turns: SharedInt, reads: SharedInt) -> None:
        """The activity that these two marks hold; `make` makes new ones."""
        self._turns, self._reads = turns, reads
        self._idle_value = NO_PAGE

    @classmethod
    def make(cls) -> "Activity":
        """Return one of a worker that has not begun."""
        return cls(SharedInt.create(0), SharedInt.create(NO_PAGE))

    @classmethod
    def from_descriptors(cls, descriptors: tuple[int, int]) -> "Activity":
        """Return that of the parent, in a process that has inherited its `descriptors`."""
        turns, reads = descriptors
        return cls(SharedInt(turns), SharedInt(reads))

    @property
    def descriptors(self) -> tuple[int, int]:
        """Those of the memory."""
        return self._turns.descriptor, self._reads.descriptor

    @property
    def ticks(self) -> int:
        """How often the event loop has turned; 0 while there is none to be watched."""
        return self._turns.value

    @property
    def page_token(self) -> int:
        """Token of the lease whose page is read now, or `NO_PAGE`, or `SPIDER`."""
        return self._reads.value

    async def run(self) -> None:
        """Count turns until cancelled."""
        try:
            while True:
                self._turns.value += 1
                await asyncio.sleep(TURN_S)
        finally:
            self._turns.value = 0

    def set_spider_active(self) -> None:
        """A user's spider may be at work from now on, whenever no page is read."""
        self._idle_value = self._reads.value = SPIDER

    @contextmanager
    def reading_page(self, token: int) -> Iterator[None]:
        """The page of a lease is read for the time of the context, in which the event loop does not turn."""
        self._reads.value = token
        try:
            yield
        finally:
            self._reads.value = self._idle_value

    def __repr__(self) -> str:
        return f"<activity: {self.ticks} turns, reads {self.page_token}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorChannel:
    """A worker's way to its supervisor."""

    error_pipe: Connection
    activity: Activity

    def send_error(self, error: ThresherError) -> None:
        """Say why the worker ends; to be said once."""
        self.error_pipe.send(error)
