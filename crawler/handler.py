"""`WireHandler`: Scrapy's download handler for http and https, around `crawler.wire`.

An exchange that fails is an answer like any other: nothing is raised, and nothing is logged. Status 599 stands
for no response at all; what really happened goes with the request, in `meta["found"]`.
"""

from typing import Any

from scrapy import Request
from scrapy.http import Response

from core import Capture
from crawler.robots import Event, ask
from crawler.spider import LeaseSpider
from crawler.wire import Failure
from frontier import Kind, Lease

NO_RESPONSE = 599


class WireHandler:
    """Fetches what the request's lease is for."""

    lazy = False

    def __init__(self, spider: LeaseSpider) -> None:
        self._client, self._loop = spider.client, spider.loop

    @classmethod
    def from_crawler(cls, crawler: Any) -> "WireHandler":
        """Make one for the spider of a Scrapy crawler."""
        return cls(crawler.spider)

    async def download_request(self, request: Request) -> Response:
        """Return the response, and leave the capture, failure or robots event in `meta["found"]`."""
        lease: Lease = request.meta["lease"]
        found: Capture | Failure | Event
        found = await (ask(self._client, lease) if lease.kind is Kind.ROBOTS else self._client.get(lease.url))
        self._loop.ended(lease, found.elapsed_ms if isinstance(found, Capture) else None)
        request.meta["found"] = found
        if isinstance(found, Capture):
            return Response(request.url, status=found.status, body=found.payload, request=request)
        return Response(request.url, status=NO_RESPONSE, request=request)

    async def close(self) -> None:
        """Leave the client to the worker, who made it."""
