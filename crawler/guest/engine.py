"""`GuestEngine`: Scrapy's engine with a guest's spider in it.

Three of Scrapy's methods that are not for the public are replaced here, and none anywhere else: everything that comes
back from the downloader passes `_handle_downloader_output`, whatever middlewares made of it, and is through with the
spider when that returns; `_spider_idle` would let an extension keep a worker for ever that has nothing left to do; and
only `Crawler._create_engine` says which engine there is.

1. Leases take the place of the spider's `start`. A robots.txt or a sitemap is no business of the spider's: it is fetched
   and settled beside the engine, and no middleware sees it.
2. Every request that a callback, an errback or a spider middleware yields comes through `crawl`. Which page it was found
   on says `_VISIT`, which every task that Scrapy begins for a page inherits.
3. Nothing is settled before the callback is through and its items have left the pipelines.
"""

import asyncio
from collections.abc import AsyncIterator, Generator
from contextvars import ContextVar
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.defer import _schedule_coro
from scrapy.utils.log import configure_logging
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.python.failure import Failure as Trouble

from core import InputError, ThresherError
from crawler.guest import terms
from crawler.guest.feeds import Feeds
from crawler.guest.handler import GuestHandler
from crawler.guest.load import Guest, at_home, spider_class
from crawler.guest.scheduler import GuestScheduler
from crawler.guest.visit import Visit, discovery, ended, is_for_spider, left_out, request_of
from crawler.identity import read_by_guest
from crawler.listed import is_sitemap
from crawler.steward import Steward
from frontier import Kind

_VISIT: ContextVar[Visit | None] = ContextVar("visit", default=None)


async def entertain(guest: Guest, steward: Steward, feeds: Feeds, *, concurrency: int) -> bool:
    """Let a guest's spider work on what is leased, until there is no more; returns whether the spider itself has had
    enough of the crawl (`CloseSpider`). What goes wrong is in `steward.error`.

    `steward` has what leases are fetched and settled with; the engine does not know it.
    """
    with at_home(guest):
        crawler = GuestCrawler(guest, steward, feeds)
        terms.force(crawler, steward.worker, _house(concurrency))
        configure_logging(crawler.settings)
        crawler.signals.connect(crawler.failed, signals.spider_error)
        try:
            await crawler.crawl_async(**dict(guest.arguments))
        except ThresherError:
            raise
        except Exception as error:
            raise InputError(
                f"spider {guest.spider} cannot begin: {type(error).__name__}: {' '.join(str(error).split())}"
            ) from error
        return crawler.closed_early


def _house(concurrency: int) -> dict[str, Any]:
    return {
        "SCHEDULER": GuestScheduler,
        "DOWNLOAD_HANDLERS": {
            "http": GuestHandler,
            "https": GuestHandler,
            "data": None,
            "file": None,
            "ftp": None,
            "s3": None,
        },
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
    }


class GuestCrawler(Crawler):
    """Scrapy's crawler of a guest's spider."""

    engine: "GuestEngine"

    def __init__(self, guest: Guest, steward: Steward, feeds: Feeds) -> None:
        super().__init__(spider_class(guest), terms.settings(guest))
        self.steward, self.feeds = steward, feeds
        self.visits: dict[Request, Visit] = {}
        """Those that are open, by the request that the engine has of each."""
        self.closed_early = False

    def failed(self, **_: Any) -> None:
        """A callback or an errback raised; Scrapy has logged it."""
        visit = _VISIT.get()
        if visit is not None:
            visit.failed = True

    def _create_engine(self) -> "GuestEngine":
        return GuestEngine(self, lambda _: self.stop_async())


class GuestEngine(ExecutionEngine):
    """Fetches what is leased; what the spider finds goes to the frontier."""

    crawler: GuestCrawler
    spider: Spider

    def __init__(self, crawler: GuestCrawler, spider_closed_callback: Any) -> None:
        super().__init__(crawler, spider_closed_callback)
        self._visits = crawler.visits
        self._steward = crawler.steward
        self._offsite: OffsiteMiddleware | None = None

    async def open_spider_async(self, *, close_if_idle: bool = True) -> None:
        """Open the spider; leases take the place of its `start`."""
        await super().open_spider_async(close_if_idle=close_if_idle)
        self._offsite = self.crawler.get_downloader_middleware(OffsiteMiddleware)
        self._start = self._leases()

    async def close_spider_async(self, *, reason: str = "cancelled") -> None:
        """Close the spider: no more is leased, whoever asked for it."""
        self.crawler.closed_early |= self._start is not None
        self._steward.loop.stop()
        await super().close_spider_async(reason=reason)

    def crawl(self, request: Request) -> None:
        """Take what is leased to the downloader, and what the spider yields to the settlement of the page it is from."""
        visit = _VISIT.get()
        if visit is not None:
            self._discover(visit, request)
        elif request in self._visits:
            super().crawl(request)
        else:
            self._steward.stop(
                InputError(f"spider {self.spider.name}: {request} comes from no page; yield it from `start`")
            )

    async def _leases(self) -> AsyncIterator[Request]:
        ours: set[asyncio.Task[None]] = set()
        try:
            async for lease in self._steward.loop.leases(self._steward.settler):
                if lease.kind is Kind.ROBOTS or is_sitemap(lease):
                    task = asyncio.create_task(self._steward.exchange(lease))
                    ours.add(task)
                    task.add_done_callback(ours.discard)
                    continue
                request = request_of(lease, self.spider)
                visit = self._visits[request] = Visit(lease=lease)
                yield request
                if not visit.begun:  # an extension refused it
                    self._settle(visit, IgnoreRequest(), request)
        except ThresherError as error:
            self._steward.stop(error)
        await asyncio.gather(*ours)

    @inlineCallbacks
    def _handle_downloader_output(
        self, result: Request | Response | Trouble, request: Request
    ) -> Generator[Deferred[Any], Any, None]:
        visit = self._visits[request]
        _VISIT.set(visit)  # of this generator's context alone
        if is_for_spider(visit, result, request, self.spider):
            if isinstance(result, Response):
                result.request = request
            yield super()._handle_downloader_output(result, request)
        self._settle(visit, result.value if isinstance(result, Trouble) else result, request)

    def _spider_idle(self) -> None:
        super()._spider_idle()
        # It does nothing where it was closed just now.
        _schedule_coro(self.close_spider_async(reason="finished"))

    def _discover(self, visit: Visit, request: Request) -> None:
        try:
            reason = left_out(visit.lease, request, self._steward.options) or self._off_site(request)
            if reason:
                self.crawler.stats.inc_value(f"thresher/left_out/{reason}")
                return
            found = discovery(visit.lease, request, self.spider)
        except InputError as error:
            visit.broken = True
            self._steward.stop(error)
            return
        visit.discoveries.setdefault(found.url.text, found)

    def _off_site(self, request: Request) -> str:
        try:
            if self._offsite is not None:
                self._offsite.process_request(request)
        except IgnoreRequest:
            return "off_site"
        return ""

    def _settle(
        self, visit: Visit, result: Request | Response | BaseException | None, request: Request
    ) -> None:
        del self._visits[request]
        steward, lease = self._steward, visit.lease
        try:
            finished = ended(
                visit,
                result,
                request,
                self.spider,
                record_id=read_by_guest(steward.crawl, steward.worker, lease.token),
                screen=steward.screen,
                known=steward.settler.known,
                options=steward.options,
            )
        except Exception as error:  # noqa: BLE001 - nobody else would hear of it
            steward.stop(error)
            return
        if visit.found is None and not visit.broken:
            steward.loop.spared(lease)
        if finished is not None:
            steward.settler.add(finished)
