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
from collections.abc import AsyncIterator, Callable, Generator
from contextvars import ContextVar
from dataclasses import replace
from types import FrameType
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.defer import _schedule_coro, deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.log import configure_logging
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.python.failure import Failure as Trouble

from core import Failure, InputError, ThresherError
from crawler.identifiers import spider_record_id
from crawler.lease_handler import LeaseHandler
from crawler.reading.sitemap_discoveries import is_sitemap
from crawler.spiders import spider_settings
from crawler.spiders.blocking_watch import BlockingWatch, source_location
from crawler.spiders.delivery import delivery
from crawler.spiders.download_handler import SpiderDownloadHandler
from crawler.spiders.feeds import FeedFiles
from crawler.spiders.lease_scheduler import LeaseScheduler
from crawler.spiders.spider_spec import SpiderSpec, project_on_path, spider_class
from crawler.spiders.visit import (
    IGNORED,
    Visit,
    discovery_of,
    failed_result,
    forbids_links,
    rejection_reason,
    scrapy_request,
    visit_result,
)
from frontier import Kind

RENEW_S = 60.0
"""A lease is good for minutes longer, whatever the limits of an exchange are (`crawler.worker`)."""
_VISIT: ContextVar[Visit | None] = ContextVar("visit", default=None)


async def run_spider(
    spec: SpiderSpec, lease_handler: LeaseHandler, feeds: FeedFiles, *, concurrency: int
) -> bool:
    """Let a guest's spider work on what is leased, until there is no more; returns whether the spider itself has had
    enough of the crawl (`CloseSpider`). What goes wrong is in `steward.error`.

    `steward` has what leases are fetched and settled with; the engine does not know it.
    """
    with project_on_path(spec):
        crawler = SpiderCrawler(spec, lease_handler, feeds)
        spider_settings.force_settings(crawler, lease_handler.worker, _engine_settings(concurrency))
        configure_logging(crawler.settings)
        crawler.signals.connect(crawler.on_spider_error, signals.spider_error)
        watch = BlockingWatch(crawler.describe, crawler.interrupt)
        beside = [asyncio.create_task(work) for work in (watch.run(), crawler.renew())]
        try:
            await crawler.crawl_async(**dict(spec.arguments))
        except ThresherError:
            raise
        except Exception as error:
            raise InputError(
                f"spider {spec.class_path} cannot begin: {type(error).__name__}: {' '.join(str(error).split())}"
            ) from error
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        return crawler.is_closed_early


def _engine_settings(concurrency: int) -> dict[str, Any]:
    return {
        "SCHEDULER": LeaseScheduler,
        "DOWNLOAD_HANDLERS": {
            "http": SpiderDownloadHandler,
            "https": SpiderDownloadHandler,
            "data": None,
            "file": None,
            "ftp": None,
            "s3": None,
        },
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
    }


class SpiderCrawler(Crawler):
    """Scrapy's crawler of a guest's spider."""

    engine: "SpiderEngine"

    def __init__(self, guest: SpiderSpec, steward: LeaseHandler, feeds: FeedFiles) -> None:
        super().__init__(spider_class(guest), spider_settings.spider_settings(guest))
        self.lease_handler, self.feeds = steward, feeds
        self._directory = str(guest.directory.resolve())
        self.visits: dict[Request, Visit] = {}
        """Those that are open, by the request that the engine has of each."""
        self.is_closed_early = False

    def on_spider_error(self, **_: Any) -> None:
        """A callback or an errback raised; Scrapy has logged it."""
        visit = _VISIT.get()
        if visit is not None:
            visit.has_callback_error = True

    async def renew(self) -> None:
        """Renew the leases of all visits, now and then, until cancelled."""
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await self.lease_handler.scheduler.renew([visit.lease for visit in self.visits.values()])
            except ThresherError as error:
                self.lease_handler.stop(error)
                return

    def describe(self, stack: list[FrameType]) -> str:
        """What of the spider is at work."""
        visit = _VISIT.get()
        what = f"{visit.active_method} of {visit.lease.url.wire}" if visit is not None else "a component"
        return f"spider {self.spidercls.name}: {what}, at {source_location(stack, self._directory, self.spider)},"

    def interrupt(self, error: InputError) -> None:
        """End the crawl with an error that is about to be raised in what is at work; its page is not settled."""
        visit = _VISIT.get()
        if visit is not None:
            visit.is_aborted = True
        self.lease_handler.stop(error)

    def _create_engine(self) -> "SpiderEngine":
        return SpiderEngine(self, lambda _: self.stop_async())


class SpiderEngine(ExecutionEngine):
    """Fetches what is leased; what the spider finds goes to the frontier."""

    crawler: SpiderCrawler
    spider: Spider

    def __init__(self, crawler: SpiderCrawler, spider_closed_callback: Any) -> None:
        super().__init__(crawler, spider_closed_callback)
        self._visits = crawler.visits
        self._lease_handler = crawler.lease_handler
        self._offsite: OffsiteMiddleware | None = None

    async def open_spider_async(self, *, close_if_idle: bool = True) -> None:
        """Open the spider; leases take the place of its `start`."""
        await super().open_spider_async(close_if_idle=close_if_idle)
        self._offsite = self.crawler.get_downloader_middleware(OffsiteMiddleware)
        self._start = self._leases()

    async def close_spider_async(self, *, reason: str = "cancelled") -> None:
        """Close the spider: no more is leased, whoever asked for it."""
        self.crawler.is_closed_early |= self._start is not None
        self._lease_handler.scheduler.stop()
        await super().close_spider_async(reason=reason)

    def crawl(self, request: Request) -> None:
        """Take what is leased to the downloader, and what the spider yields to the settlement of the page it is from."""
        visit = _VISIT.get()
        if visit is not None:
            self._discover(visit, request)
        elif request in self._visits:
            super().crawl(request)
        else:
            self._lease_handler.stop(
                InputError(f"spider {self.spider.name}: {request} comes from no page; yield it from `start`")
            )

    async def _leases(self) -> AsyncIterator[Request]:
        ours: set[asyncio.Task[None]] = set()
        try:
            async for lease, refusal in self._lease_handler.scheduler.leases(self._lease_handler.settler):
                if lease.kind is Kind.ROBOTS or is_sitemap(lease):
                    if refusal is not None:
                        self._lease_handler.refuse(lease, refusal)
                        continue
                    task = asyncio.create_task(self._lease_handler.exchange(lease))
                    ours.add(task)
                    task.add_done_callback(ours.discard)
                    continue
                request = scrapy_request(lease, self.spider)
                visit = self._visits[request] = Visit(lease=lease, refusal=refusal)
                yield request
                if not visit.is_enqueued:
                    veto = IgnoreRequest(f"{IGNORED}: an extension refused it")
                    await maybe_deferred_to_future(
                        self._handle_downloader_output(_twisted_failure(veto), request)
                    )
        except ThresherError as error:
            self._lease_handler.stop(error)
        await asyncio.gather(*ours)

    @inlineCallbacks
    def _handle_downloader_output(
        self, result: Request | Response | Trouble, request: Request
    ) -> Generator[Deferred[Any], Any, None]:
        visit = self._visits[request]
        _VISIT.set(visit)  # of this generator's context alone
        yield deferred_from_coro(self._read(visit))
        came = result.value if isinstance(result, Trouble) else result
        assert came is not None
        delivered = delivery(visit, came, request, self.spider, self._lease_handler.options)
        if isinstance(delivered, Response):
            delivered.request = request
            visit.active_method = _method_name(request.callback, "parse")
            yield super()._handle_downloader_output(delivered, request)
        elif delivered is not None:
            visit.active_method = _method_name(request.errback, "the errback")
            yield super()._handle_downloader_output(
                result if delivered is came else _twisted_failure(delivered), request
            )
        # What their errbacks yield may be left out as well; of that nobody hears.
        for one, reason in tuple(visit.rejections):
            yield self.scraper.enqueue_scrape(_twisted_failure(IgnoreRequest(reason)), one)
        self._settle(visit, came, request)

    async def _read(self, visit: Visit) -> None:
        if visit.fetch_result is None or visit.is_aborted:
            return
        # Its links are the spider's to choose: none is looked for, nor what a list would lead to.
        lease, steward = visit.lease, self._lease_handler
        blind = replace(lease, max_depth=lease.depth, listed=False)
        try:
            name = spider_record_id(steward.crawl, steward.worker, lease.token)
            visit.result = await steward.read(blind, visit.fetch_result, name)
        except Exception as error:  # noqa: BLE001 - nobody else would hear of it
            visit.is_aborted = True
            steward.stop(error)
            return

    def _spider_idle(self) -> None:
        super()._spider_idle()
        # It does nothing where it was closed just now.
        _schedule_coro(self.close_spider_async(reason="finished"))

    def _discover(self, visit: Visit, request: Request) -> None:
        try:
            reason = rejection_reason(visit.lease, request, self._lease_handler.options) or self._off_site(
                request
            )
            if not reason and forbids_links(visit, self._lease_handler.options):
                reason = "nofollow"
            if reason:
                self.crawler.stats.inc_value(f"thresher/left_out/{reason}")
                if request.errback is not None:
                    visit.rejections.append((request, reason))
                return
            found = discovery_of(visit.lease, request, self.spider)
        except InputError as error:
            visit.is_aborted = True
            self._lease_handler.stop(error)
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
        steward, lease = self._lease_handler, visit.lease
        steward.decode_budget.release(visit.reserved_bytes)
        try:
            with steward.reading_page(lease):
                finished = visit_result(
                    visit,
                    result,
                    request,
                    self.spider,
                    known_urls=steward.settler.known_urls,
                    options=steward.options,
                )
        except Failure as failure:
            finished = failed_result(visit, failure)
        except Exception as error:  # noqa: BLE001 - nobody else would hear of it
            steward.stop(error)
            return
        if visit.fetch_result is None and visit.refusal is None and not visit.is_aborted:
            steward.scheduler.release_unrequested(lease)
        if finished is not None:
            steward.settler.add(finished)


def _method_name(method: Callable[..., Any] | None, default: str) -> str:
    return getattr(method, "__name__", default)


def _twisted_failure(error: BaseException) -> Trouble:
    return Trouble(error)  # type: ignore[no-untyped-call]
