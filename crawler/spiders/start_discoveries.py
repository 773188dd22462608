"""What a guest's spider begins with: its `start`, or its `start_urls`, as discoveries."""

import logging
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.utils.log import configure_logging

from core import InputError, ThresherError
from crawler.reading import request_state
from crawler.spiders import spider_settings
from crawler.spiders.feeds import Feeds, late
from crawler.spiders.spider_request import errand
from crawler.spiders.spider_spec import Guest, at_home, spider_class
from frontier import Discovery, NotAUrl, Scope, canonical

logger = logging.getLogger(__name__)
SEEDER = "seeder"
"""Stands for the name of a worker: nothing is written under it."""


async def starts(guest: Guest) -> AsyncIterator[Discovery]:
    """Yield what is to be added to the frontier, in the spider's order; says what of its settings is not followed.

    They have no scope but what the spider itself lets through. Raises `InputError` for a spider, settings or requests that
    cannot be had here, and for whatever `start` raises.
    """
    with at_home(guest):
        crawler = _Beginning(guest)
        try:
            async for each in await crawler.begin(dict(guest.arguments)):
                found = _discovery(each, crawler)
                if found is not None:
                    yield found
        except ThresherError:
            raise
        except Exception as error:
            line = " ".join(str(error).split())
            raise InputError(f"spider {guest.spider} cannot start: {type(error).__name__}: {line}") from error


class _Beginning(Crawler):
    """Scrapy's crawler as far as `start` and the middlewares around it need it: nothing is fetched."""

    def __init__(self, guest: Guest) -> None:
        super().__init__(spider_class(guest), spider_settings.settings(guest))
        self.feeds = Feeds()
        configure_logging(self.settings)
        self._warn(guest)
        spider_settings.force(self, SEEDER, {})

    async def begin(self, arguments: dict[str, Any]) -> AsyncIterator[Any]:
        """What the spider starts with."""
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

    def _warn(self, guest: Guest) -> None:
        names = ", ".join(spider_settings.contradictions(self.settings))
        if names:
            logger.warning(
                "spider %s: the crawl decides these settings, and not as the spider says: %s",
                guest.spider,
                names,
            )
        feeds = ", ".join(late(self.settings.getdict("FEEDS")))
        if feeds:
            logger.warning(
                "spider %s: a worker that is killed loses items of these feeds; write local jsonlines or csv: %s",
                guest.spider,
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
        url = canonical(each.url)
    except NotAUrl as error:
        logger.warning("spider %s: %s is no URL to crawl (%s)", spider.name, each.url, error)
        return None
    return Discovery(
        url=url,
        scope=Scope.of("any", url),
        priority=each.priority,
        listed=True,
        note=request_state.encode(request_state.Note(errand=errand(each, spider))),
        notify=each.errback is not None,
    )
