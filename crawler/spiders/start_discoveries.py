"""The start requests of a spider, from its `start` or its `start_urls`, as discoveries."""

import logging
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.utils.log import configure_logging

from thresher.core import InputError, ThresherError
from thresher.crawler.spiders import spider_settings
from thresher.crawler.spiders.feeds import FeedFiles, lossy_feeds
from thresher.crawler.spiders.spider_request import encode_request
from thresher.crawler.spiders.spider_spec import SpiderSpec, project_on_path, spider_class
from thresher.frontier import Discovery, InvalidUrl, Scope, canonicalize
from thresher.frontier.request_state import RequestState

logger = logging.getLogger(__name__)
SEEDER = "seeder"
"""Takes the place of a worker's name: no file is written under it."""


async def start_discoveries(spec: SpiderSpec) -> AsyncIterator[Discovery]:
    """Yield the discoveries to add to the frontier, in the spider's order. Warn about settings that are ignored.

    Their scope is whatever the spider itself lets through. Raise `InputError` for a spider, settings or requests that
    cannot be used here, and for whatever `start` raises.
    """
    with project_on_path(spec):
        crawler = _StartCrawler(spec)
        try:
            async for each in await crawler.start_requests(dict(spec.arguments)):
                found = _discovery(each, crawler)
                if found is not None:
                    yield found
        except ThresherError:
            raise
        except Exception as error:
            line = " ".join(str(error).split())
            raise InputError(
                f"spider {spec.class_path} cannot start: {type(error).__name__}: {line}"
            ) from error


class _StartCrawler(Crawler):
    """Scrapy's crawler as far as `start` and the middlewares around it need it: it fetches nothing."""

    def __init__(self, spec: SpiderSpec) -> None:
        super().__init__(spider_class(spec), spider_settings.spider_settings(spec))
        self.feeds = FeedFiles()
        configure_logging(self.settings)
        self._warn(spec)
        spider_settings.force_settings(self, SEEDER, {})

    async def start_requests(self, arguments: dict[str, Any]) -> AsyncIterator[Any]:
        """Return an iterator over what the spider starts with."""
        self.spider = self._create_spider(**arguments)
        if hasattr(self.spider, "start_requests") and type(self.spider).start is Spider.start:
            raise InputError(
                f"spider {self.spider.name}: nobody calls `start_requests` any more (Scrapy 2.13 replaced it);"
                " make it `async def start(self)`"
            )
        self._apply_settings()
        found = await SpiderMiddlewareManager.from_crawler(self).process_start()
        assert found is not None
        return found

    def _warn(self, spec: SpiderSpec) -> None:
        names = ", ".join(spider_settings.ignored_settings(self.settings))
        if names:
            logger.warning(
                "spider %s: the crawl decides these settings, and not as the spider says: %s",
                spec.class_path,
                names,
            )
        feeds = ", ".join(lossy_feeds(self.settings.getdict("FEEDS")))
        if feeds:
            logger.warning(
                "spider %s: a worker that is killed loses items of these feeds; write local jsonlines or csv: %s",
                spec.class_path,
                feeds,
            )


def _discovery(each: Any, crawler: Crawler) -> Discovery | None:
    spider = crawler.spider
    assert spider is not None
    if not isinstance(each, Request):
        raise InputError(
            f"spider {spider.name}: `start` yields {type(each).__name__}; only requests can be seeds"
        )
    try:
        url = canonicalize(each.url)
    except InvalidUrl as error:
        logger.warning("spider %s: %s is no URL to crawl (%s)", spider.name, each.url, error)
        return None
    return Discovery(
        url=url,
        scope=Scope.of("any", url),
        priority=each.priority,
        listed=True,
        state=RequestState(spider_request=encode_request(each, spider)),
        notify=each.errback is not None,
    )
