"""`LeaseScheduler`: Scrapy's scheduler, with nothing to decide.

What is fetched next, and when, the frontier has decided already: a request comes here with its lease, because
there is a free download slot for it, and leaves at once. Duplicates, priorities, persistence and politeness are
the frontier's.
"""

from collections import deque

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler


class LeaseScheduler(BaseScheduler):
    """A queue as long as there are free download slots."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()

    def has_pending_requests(self) -> bool:
        """Whether a granted lease waits to be fetched. Whether more will come, the spider's `start` knows."""
        return bool(self._requests)

    def enqueue_request(self, request: Request) -> bool:
        """Take a granted lease; never refuses."""
        self._requests.append(request)
        return True

    def next_request(self) -> Request | None:
        """Return the oldest."""
        return self._requests.popleft() if self._requests else None

    def __repr__(self) -> str:
        return f"<scheduler: {len(self._requests)} leases to fetch>"
