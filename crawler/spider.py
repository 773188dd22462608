"""`LeaseSpider`: Scrapy's spider, whose requests are leases and whose results are settlements.

It is handed the worker's live parts when it is made; Scrapy's other components find them here.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from scrapy import Request, Spider
from scrapy.http import Response
from twisted.python.failure import Failure as Trouble

from core import Capture, ThresherError
from crawler.answer import answer
from crawler.aside import Aside, crashed, is_heavy
from crawler.entrance import Entrance
from crawler.handler import Fetched, WireHandler
from crawler.identity import record_id
from crawler.listed import is_sitemap
from crawler.loop import Loop
from crawler.outcome import of_failure
from crawler.page import OBEY, settled
from crawler.robots import Event
from crawler.screen import Screen, ends, untold
from crawler.screen import finished as answered
from crawler.settle import Finished, Settler
from crawler.wire import Client, Failure, Wait
from frontier import Lease, Settlement

if TYPE_CHECKING:
    from crawler.render.renderer import Renderer  # Playwright is there only where pages are rendered

SLOT = "frontier"
"""One download slot for all hosts: the frontier keeps them apart."""


class LeaseSpider(Spider):
    """Asks for what is leased, and hands what came to the settler."""

    name = "thresher"

    def __init__(
        self,
        *,
        crawl: str,
        worker: str,
        client: Client,
        entrance: Entrance,
        loop: Loop,
        settler: Settler,
        screen: Screen | None,
        renderer: "Renderer | None",
        obey: tuple[str, ...] = OBEY,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.crawl, self.worker = crawl, worker
        self.client, self.entrance, self.loop, self.settler = client, entrance, loop, settler
        self.screen, self.obey = screen, obey
        self.renderer = renderer
        self.handler = WireHandler(client, entrance, loop, renderer)
        self.aside = Aside()
        self.error: BaseException | None = None

    async def start(self) -> AsyncIterator[Request]:
        """Yield a request for each lease, until there are no more to be had.

        Where nothing is plugged into the engine it has nothing to do with a request but to pass it on, at a third of what
        a page costs: then nothing is yielded, and the exchanges are made here.
        """
        begun: set[asyncio.Task[None]] = set()
        direct = self._is_plain()
        try:
            async for lease in self.loop.leases(self.settler):
                if direct:
                    task = asyncio.create_task(self.exchange(lease))
                    begun.add(task)
                    task.add_done_callback(begun.discard)
                else:
                    yield self.request(lease)
        except ThresherError as error:
            self.stop(error)
        await asyncio.gather(*begun)

    def request(self, lease: Lease) -> Request:
        """Return what the engine is asked for a lease."""
        return Request(
            lease.url.wire,
            callback=self.parse,
            errback=self.fail,
            dont_filter=True,
            meta={"lease": lease, "verbatim_url": True, "download_slot": SLOT},
        )

    async def parse(self, response: Response, **_: Any) -> None:
        """Settle what came."""
        await self._settle(response.meta["lease"], response.meta["fetched"])

    async def exchange(self, lease: Lease) -> None:
        """Do what the engine would, less the engine."""
        try:
            await self._settle(lease, await self.handler.fetch(lease))
        except Exception as error:  # noqa: BLE001 - as `fail`: a server's fault is never raised
            self.stop(error)

    async def _settle(self, lease: Lease, fetched: Fetched) -> None:
        found, rendered = fetched.found, fetched.rendered
        name = partial(record_id, self.crawl, self.worker, lease.token)
        match found:
            case Wait():
                return  # the loop has given the lease back
            case Event(captures=captures):
                records = tuple((capture, name(hop)) for hop, capture in enumerate(captures))
                made = Finished(lease=lease, records=records, answer=found.answer)
            case Capture():
                said = answer(
                    found, name(), whatever=is_sitemap(lease), digested=bool(lease.note or lease.interval_s)
                )
                # A DOM is Chromium's own writing, and within its limit.
                if rendered is None and (lease.orphan or is_heavy(said.body)):
                    made = await self._read_aside(lease, found, name())
                else:
                    made = answered(
                        lease,
                        found,
                        name(),
                        screen=self.screen,
                        known=self.settler.known,
                        obey=self.obey,
                        found=said,
                        rendered=rendered,
                    )
            case Failure(reason=reason):
                made = Finished(lease=lease, answer=settled(lease, of_failure(reason)))
        self.settler.add(made)

    async def _read_aside(self, lease: Lease, capture: Capture, record_id: UUID) -> Finished:
        records = ((capture, record_id),)
        ended = await self.aside.call(ends, lease, capture, record_id, self.screen, self.obey)
        if ended is None:
            return Finished(lease=lease, records=records, answer=crashed(lease))
        assert isinstance(ended.answer, Settlement)
        return replace(ended, records=records, answer=untold(ended.answer, self.settler.known))

    def _is_plain(self) -> bool:
        """Whether no middleware or extension of a user's, and no spider, is to see requests and responses."""
        engine = self.crawler.engine
        plugged = (
            self.crawler.extensions,
            *((engine.downloader.middleware, engine.scraper.spidermw) if engine else ()),
        )
        return type(self) is LeaseSpider and not any(manager and manager.middlewares for manager in plugged)

    def fail(self, trouble: Trouble) -> None:
        """Stop: whatever a server does is an answer, so what is raised is a fault of ours."""
        self.stop(trouble.value or RuntimeError(str(trouble)))

    def stop(self, error: BaseException) -> None:
        """Lease no more; the worker raises the first error once it has stopped."""
        self.error = self.error or error
        self.loop.stop()
