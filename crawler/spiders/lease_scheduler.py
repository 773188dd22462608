"""`LeaseScheduler`: a scheduler for Scrapy that decides nothing.

The frontier has decided already what is fetched next, and when: a request comes here with its lease, because a download
slot is free for it, and leaves at once. The frontier is responsible for duplicates, priorities, persistence and
politeness.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler

from thresher.crawler.spiders.visit import Visit


class LeaseScheduler(BaseScheduler):
    """A queue that lasts as long as there are free download slots. It marks the visit of each request as enqueued."""

    def __init__(self, visits: Mapping[Request, Visit]) -> None:
        """`visits` are the open ones, by their requests."""
        self._visits = visits
        self._requests: deque[Request] = deque()

    @classmethod
    def from_crawler(cls, crawler: Any) -> "LeaseScheduler":
        """Return the scheduler of a spider's crawler."""
        return cls(crawler.visits)

    def has_pending_requests(self) -> bool:
        """Return whether a granted lease waits to be fetched. The engine knows whether more leases will come."""
        return bool(self._requests)

    def enqueue_request(self, request: Request) -> bool:
        """Take a granted lease; never refuse it."""
        self._visits[request].is_enqueued = True
        self._requests.append(request)
        return True

    def next_request(self) -> Request | None:
        """Return the oldest request, or None if there is none."""
        return self._requests.popleft() if self._requests else None

    def __repr__(self) -> str:
        return f"<scheduler: {len(self._requests)} leases to fetch>"
