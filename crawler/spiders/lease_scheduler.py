"""`GuestScheduler`: Scrapy's scheduler, with nothing to decide.

What is fetched next, and when, the frontier has decided already: a request comes here with its lease, because
there is a free download slot for it, and leaves at once. Duplicates, priorities, persistence and politeness are
the frontier's.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler

from crawler.spiders.visit import Visit


class LeaseScheduler(BaseScheduler):
    """A queue as long as there are free download slots; says of every visit that its request was let in."""

    def __init__(self, visits: Mapping[Request, Visit]) -> None:
        """`visits` are those that are open, by their requests."""
        self._visits = visits
        self._requests: deque[Request] = deque()

    @classmethod
    def from_crawler(cls, crawler: Any) -> "LeaseScheduler":
        """Make one for a guest's crawler."""
        return cls(crawler.visits)

    def has_pending_requests(self) -> bool:
        """Whether a granted lease waits to be fetched. Whether more will come, the engine's leases know."""
        return bool(self._requests)

    def enqueue_request(self, request: Request) -> bool:
        """Take a granted lease; never refuses."""
        self._visits[request].is_enqueued = True
        self._requests.append(request)
        return True

    def next_request(self) -> Request | None:
        """Return the oldest."""
        return self._requests.popleft() if self._requests else None

    def __repr__(self) -> str:
        return f"<scheduler: {len(self._requests)} leases to fetch>"
