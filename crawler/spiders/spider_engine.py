"""`SpiderEngine`: Scrapy's engine with a user's spider in it.

Three private methods of Scrapy are replaced here, and none anywhere else:

- `_handle_downloader_output` sees everything that comes back from the downloader, whatever middlewares made of it, and
  the spider has ended its work on it when the method returns.
- `_spider_idle` would let an extension keep a worker for ever that has nothing left to do.
- `Crawler._create_engine` alone says which engine there is.

1. Leases take the place of the spider's `start`. A robots.txt or a sitemap does not concern the spider: it is fetched
   and settled beside the engine, and no middleware sees it.
2. Every request that a callback, an errback or a spider middleware yields comes through `crawl`. `_VISIT` names the
   page on which it was found; every task that Scrapy starts for a page inherits it.
3. A page is settled only after its callback has ended and its items have left the pipelines.
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

from thresher.core import Failure, InputError, ThresherError
from thresher.crawler.lease_handler import LeaseHandler
from thresher.crawler.spiders import spider_settings
from thresher.crawler.spiders.blocking_watch import BlockingWatch, source_location
from thresher.crawler.spiders.delivery import delivery
from thresher.crawler.spiders.download_handler import SpiderDownloadHandler
from thresher.crawler.spiders.feeds import FeedFiles
from thresher.crawler.spiders.lease_scheduler import LeaseScheduler
from thresher.crawler.spiders.spider_spec import SpiderSpec, project_on_path, spider_class
from thresher.crawler.spiders.visit import (
    IGNORED,
    Visit,
    discovery_of,
    failed_result,
    forbids_links,
    rejection_reason,
    scrapy_request,
    visit_result,
)
from thresher.frontier import Kind
from thresher.storage.archive.record_ids import spider_record_id

RENEW_S = 60.0
"""Seconds between renewals. A lease lasts minutes longer, whatever the limits of an exchange are (`crawler.worker`)."""
_VISIT: ContextVar[Visit | None] = ContextVar("visit", default=None)


async def run_spider(
    spec: SpiderSpec, lease_handler: LeaseHandler, feeds: FeedFiles, *, concurrency: int
) -> bool:
    """Let a user's spider work on leases until there are no more. Return whether the spider itself closed the crawl
    (`CloseSpider`). An error is in `lease_handler.error`.

    `lease_handler` fetches and settles the leases, and does not know the engine.
    """
    with project_on_path(spec):
        crawler = SpiderCrawler(spec, lease_handler, feeds)
        spider_settings.force_settings(crawler, lease_handler.worker, _engine_settings(concurrency))
        configure_logging(crawler.settings)
        crawler.signals.connect(crawler.on_spider_error, signals.spider_error)
        watch = BlockingWatch(crawler.describe, crawler.interrupt)
        background = [asyncio.create_task(work) for work in (watch.run(), crawler.renew())]
        try:
            await crawler.crawl_async(**dict(spec.arguments))
        except ThresherError:
            raise
        except Exception as error:
            raise InputError(
                f"spider {spec.class_path} cannot begin: {type(error).__name__}: {' '.join(str(error).split())}"
            ) from error
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
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
    """Scrapy's crawler of a user's spider."""

    engine: "SpiderEngine"

    def __init__(self, spec: SpiderSpec, lease_handler: LeaseHandler, feeds: FeedFiles) -> None:
        super().__init__(spider_class(spec), spider_settings.spider_settings(spec))
        self.lease_handler, self.feeds = lease_handler, feeds
        self._directory = str(spec.directory.resolve())
        self.visits: dict[Request, Visit] = {}
        """The open visits, by the request that the engine has of each."""
        self.is_closed_early = False

    def on_spider_error(self, **_: Any) -> None:
        """Note that a callback or an errback raised; Scrapy has logged it."""
        visit = _VISIT.get()
        if visit is not None:
            visit.has_callback_error = True

    async def renew(self) -> None:
        """Renew the leases of all visits every `RENEW_S`, until cancelled."""
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await self.lease_handler.scheduler.renew([visit.lease for visit in self.visits.values()])
            except ThresherError as error:
                self.lease_handler.stop(error)
                return

    def describe(self, stack: list[FrameType]) -> str:
        """Return which method of the spider is at work, on which page and line."""
        visit = _VISIT.get()
        what = f"{visit.active_method} of {visit.lease.url.wire}" if visit is not None else "a component"
        return f"spider {self.spidercls.name}: {what}, at {source_location(stack, self._directory, self.spider)},"

    def interrupt(self, error: InputError) -> None:
        """End the crawl with an error that is about to be raised in the code at work; its page is not settled."""
        visit = _VISIT.get()
        if visit is not None:
            visit.is_aborted = True
        self.lease_handler.stop(error)

    def _create_engine(self) -> "SpiderEngine":
        return SpiderEngine(self, lambda _: self.stop_async())


class SpiderEngine(ExecutionEngine):
    """Fetches the leased pages; what the spider finds goes to the frontier."""

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
        """Close the spider: nothing more is leased, whoever closes it."""
        self.crawler.is_closed_early |= self._start is not None
        self._lease_handler.scheduler.stop()
        await super().close_spider_async(reason=reason)

    def crawl(self, request: Request) -> None:
        """Pass a leased request to the downloader, and a request that the spider yields to the settlement of
        its page.
        """
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
            async for lease, refusal in self._lease_handler.scheduler.leases():
                if lease.kind is Kind.ROBOTS or lease.state.is_list:
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
        _VISIT.set(visit)  # in this generator's context only
        yield deferred_from_coro(self._read(visit))
        value = result.value if isinstance(result, Trouble) else result
        assert value is not None
        delivered = delivery(visit, value, request, self.spider, self._lease_handler.options)
        if isinstance(delivered, Response):
            delivered.request = request
            visit.active_method = _method_name(request.callback, "parse")
            yield super()._handle_downloader_output(delivered, request)
        elif delivered is not None:
            visit.active_method = _method_name(request.errback, "the errback")
            yield super()._handle_downloader_output(
                result if delivered is value else _twisted_failure(delivered), request
            )
        # Requests that their errbacks yield may be rejected as well; then no errback is called.
        for one, reason in tuple(visit.rejections):
            yield self.scraper.enqueue_scrape(_twisted_failure(IgnoreRequest(reason)), one)
        self._settle(visit, value, request)

    async def _read(self, visit: Visit) -> None:
        if visit.fetch_result is None or visit.is_aborted:
            return
        # The spider chooses its links: we look for none, nor for the pages that a list names.
        lease, lease_handler = visit.lease, self._lease_handler
        blind = replace(lease, max_depth=lease.depth, listed=False)
        try:
            name = spider_record_id(lease_handler.crawl, lease_handler.worker, lease.token)
            visit.result = await lease_handler.read(blind, visit.fetch_result, name)
        except Exception as error:  # noqa: BLE001 - it would be lost otherwise
            visit.is_aborted = True
            lease_handler.stop(error)
            return

    def _spider_idle(self) -> None:
        super()._spider_idle()
        # It does nothing if the spider was closed just now.
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
        lease_handler, lease = self._lease_handler, visit.lease
        lease_handler.decode_budget.release(visit.reserved_bytes)
        try:
            with lease_handler.reading_page(lease):
                finished = visit_result(
                    visit,
                    result,
                    request,
                    self.spider,
                    known_urls=lease_handler.queue.known_urls,
                    options=lease_handler.options,
                )
        except Failure as failure:
            finished = failed_result(visit, failure)
        except Exception as error:  # noqa: BLE001 - it would be lost otherwise
            lease_handler.stop(error)
            return
        if visit.fetch_result is None and visit.refusal is None and not visit.is_aborted:
            lease_handler.queue.release_unrequested(lease)
        if finished is not None:
            lease_handler.queue.add_result(finished)


def _method_name(method: Callable[..., Any] | None, default: str) -> str:
    return getattr(method, "__name__", default)


def _twisted_failure(error: BaseException) -> Trouble:
    return Trouble(error)  # type: ignore[no-untyped-call]
