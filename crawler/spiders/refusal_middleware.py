"""`RefusalMiddleware`: a downloader middleware that stops refused requests before any middleware of the user sees them.

Scrapy's own middleware for robots.txt works like this: the request fails with `IgnoreRequest`, `process_exception` of
the others is called, and then the errback.
"""

from collections.abc import Mapping
from typing import Any

from scrapy import Request

from thresher.crawler.spiders.spider_exceptions import spider_exception
from thresher.crawler.spiders.visit import Visit


class RefusalMiddleware:
    """Raises for a request whose visit has a refusal."""

    def __init__(self, visits: Mapping[Request, Visit]) -> None:
        """`visits` are the open ones, by their requests."""
        self._visits = visits

    @classmethod
    def from_crawler(cls, crawler: Any) -> "RefusalMiddleware":
        """Return the middleware of a spider's crawler."""
        return cls(crawler.visits)

    def process_request(self, request: Request) -> None:
        """Let a request through unless its visit has a refusal."""
        visit = self._visits.get(request)
        if visit is not None and visit.refusal is not None:
            raise spider_exception(visit.refusal.outcome, visit.refusal.reason)
