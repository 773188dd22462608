"""`WireHandler`: Scrapy's download handler for http and https, around `crawler.wire`.

An exchange that fails is an answer like any other: nothing is raised, and nothing is logged. Status 599 stands
for no response at all; what really happened goes with the request, in `meta["fetched"]`.

The host of an exchange is free again as soon as that is over. But where it went wrong, or the host complained, its
settlement ends it: nobody is to ask before the frontier knows of the trouble.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response

from core import Capture
from crawler.conditional import conditions
from crawler.entrance import Entrance
from crawler.loop import Loop
from crawler.note import decode
from crawler.outcome import fault_of
from crawler.rendered import Rendered
from crawler.robots import AskAgain, Event, ask
from crawler.wire import Client, Failure, Wait
from frontier import Kind, Lease

if TYPE_CHECKING:
    from crawler.render.renderer import Renderer  # Playwright is there only where pages are rendered

NO_RESPONSE = 599


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What an exchange came to."""

    found: Capture | Failure | Event | Wait
    rendered: Rendered | None = None
    """What a browser made of it, where one did."""


class WireHandler:
    """Fetches what the request's lease is for."""

    lazy = False

    def __init__(self, client: Client, entrance: Entrance, loop: Loop, renderer: "Renderer | None") -> None:
        self._client, self._entrance, self._loop = client, entrance, loop
        self._renderer = renderer

    @classmethod
    def from_crawler(cls, crawler: Any) -> "WireHandler":
        """Make one for the spider of a Scrapy crawler."""
        spider = crawler.spider
        return cls(spider.client, spider.entrance, spider.loop, spider.renderer)

    async def download_request(self, request: Request) -> Response:
        """Return the response, and leave what came in `meta["fetched"]`."""
        fetched = await self.fetch(request.meta["lease"])
        request.meta["fetched"] = fetched
        if isinstance(fetched.found, Capture):
            capture = fetched.found
            return Response(request.url, status=capture.status, body=capture.payload, request=request)
        return Response(request.url, status=NO_RESPONSE, request=request)

    async def fetch(self, lease: Lease, asked: Sequence[tuple[str, str]] = ()) -> Fetched:
        """Fetch what a lease is for; `asked` are the headers that a user's spider wants sent."""
        found: Capture | Failure | Event | Wait
        if lease.kind is Kind.ROBOTS:
            found = await ask(self._client, lease, self._entrance)
        else:
            # What a user's spider asks for goes before.
            headers = (*conditions(decode(lease.note)), *asked) if lease.note else asked
            found = await self._client.get(lease.url, self._entrance.of(lease), headers=headers)
        rendered = None
        if self._renderer is not None and isinstance(found, Capture):
            # The host is held until its page is rendered: what that asks for is asked of it too.
            rendered = await self._renderer.rendered(lease, found)
        if isinstance(found, Wait):
            self._loop.postponed(lease, found.ms)
        elif not _is_trouble(found):
            # A robots.txt lies in every cache: how long it took says nothing of pages.
            self._loop.ended(lease, found.elapsed_ms if isinstance(found, Capture) else None)
        return Fetched(found=found, rendered=rendered)

    async def close(self) -> None:
        """Leave the client to the worker, who made it."""


def _is_trouble(found: Capture | Failure | Event) -> bool:
    match found:
        case Capture(status=status):
            return fault_of(status) is not None
        case Event(answer=answer):
            return isinstance(answer, AskAgain)
    return True
