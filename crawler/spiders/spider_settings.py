"""The settings under which a user's spider runs: the user's own, and above them those that the frontier and the wire
need.

| settings                                                                 | what counts                               |
|--------------------------------------------------------------------------|-------------------------------------------|
| middlewares, pipelines, extensions, feeds, logging, the user's own keys  | what the user says                        |
| what Scrapy switches on by default                                       | `DEFAULT_SETTINGS`                        |
| when, by whom and how a page is fetched: everything in `FORCED_SETTINGS` | ours; `ignored_settings` names the user's |
"""

from collections.abc import Iterator, Mapping
from typing import Any

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, Settings, default_settings

from thresher.crawler.spiders.durable_feed import DurableFile
from thresher.crawler.spiders.feeds import worker_feeds
from thresher.crawler.spiders.spider_spec import SpiderSpec, settings_module

FORCED_PRIORITY = 1_000
"""Priority of forced settings; Scrapy's highest is 40."""
FIRST_MIDDLEWARE = -1_000
"""Place of a downloader middleware that precedes all others; Scrapy's own begin at 50."""

DEFAULT_SETTINGS: Mapping[str, Any] = {
    "CONCURRENT_ITEMS": 8,  # tasks for each response
    "DEFAULT_REQUEST_HEADERS": {},
    "DOWNLOADER_MIDDLEWARES_BASE": {
        "thresher.crawler.spiders.refusal_middleware.RefusalMiddleware": FIRST_MIDDLEWARE,
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": 50,
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": 300,
        "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": 400,
        "scrapy.downloadermiddlewares.stats.DownloaderStats": 850,
    },
    "SPIDER_MIDDLEWARES_BASE": {
        "scrapy.spidermiddlewares.start.StartSpiderMiddleware": 25,
        "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": 50,
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": 800,
        "scrapy.spidermiddlewares.depth.DepthMiddleware": 900,
    },
    "EXTENSIONS_BASE": {
        "scrapy.extensions.corestats.CoreStats": 0,
        "scrapy.extensions.closespider.CloseSpider": 0,
        "scrapy.extensions.feedexport.FeedExporter": 0,
        "scrapy.extensions.logstats.LogStats": 0,
    },
    "FEED_STORAGES_BASE": {
        **default_settings.FEED_STORAGES_BASE,
        "": DurableFile,
        "file": DurableFile,
    },
    "LOG_LEVEL": "WARNING",
}
"""The settings that hold unless the user says otherwise. There is no Referer, because a crawl sends none."""

FORCED_SETTINGS: Mapping[str, Any] = {
    "AUTOTHROTTLE_ENABLED": False,
    "COMPRESSION_ENABLED": False,
    "CONCURRENT_REQUESTS_PER_IP": 0,
    "COOKIES_ENABLED": False,
    "DOWNLOADER": "scrapy.core.downloader.Downloader",
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_MAXSIZE": default_settings.DOWNLOAD_MAXSIZE,
    "DOWNLOAD_SLOTS": {},
    "DOWNLOAD_TIMEOUT": default_settings.DOWNLOAD_TIMEOUT,
    "DUPEFILTER_CLASS": default_settings.DUPEFILTER_CLASS,
    "HTTPCACHE_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "JOBDIR": None,
    "METAREFRESH_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_ENABLED": False,
    "RETRY_HTTP_CODES": default_settings.RETRY_HTTP_CODES,
    "RETRY_TIMES": default_settings.RETRY_TIMES,
    "ROBOTSTXT_OBEY": False,
    "ROBOTSTXT_USER_AGENT": None,
    "TELNETCONSOLE_ENABLED": False,
    "TWISTED_REACTOR_ENABLED": False,
    "USER_AGENT": "",
}
"""Settings that Scrapy receives, besides the scheduler, the handlers and the concurrency, which the worker sets."""

EQUIVALENT_SETTINGS: Mapping[str, Any] = {
    "COMPRESSION_ENABLED": True,
    "CONCURRENT_REQUESTS": None,
    "CONCURRENT_REQUESTS_PER_DOMAIN": None,
    "DOWNLOAD_HANDLERS": {},
    "HTTPPROXY_ENABLED": True,
    "METAREFRESH_ENABLED": True,
    "REDIRECT_ENABLED": True,
    "RETRY_ENABLED": True,
    "ROBOTSTXT_OBEY": True,
    "SCHEDULER": default_settings.SCHEDULER,
}
"""Values of forced settings that need no warning: we do the same ourselves, or the difference does not matter."""


def spider_settings(spec: SpiderSpec) -> Settings:
    """Return the user's settings above the defaults. A spider adds its `custom_settings` itself."""
    found = Settings()
    for name, value in DEFAULT_SETTINGS.items():
        found.set(name, BaseSettings(value, "default") if isinstance(value, dict) else value, "default")
    module = settings_module(spec)
    if module is not None:
        found.setmodule(module, priority="project")
    return found


def force_settings(crawler: Crawler, worker: str, more: Mapping[str, Any]) -> None:
    """Set the forced settings, and `more` of them. Raise `InputError` for feeds that several workers would write."""
    for name, value in {**FORCED_SETTINGS, **more}.items():
        crawler.settings.set(name, value, FORCED_PRIORITY)
    feeds = crawler.settings.getdict("FEEDS")
    if feeds:
        crawler.settings.set("FEEDS", worker_feeds(feeds, worker), FORCED_PRIORITY)
    if crawler.settings["FEED_URI"]:
        (uri,) = worker_feeds({crawler.settings["FEED_URI"]: {}}, worker)
        crawler.settings.set("FEED_URI", uri, FORCED_PRIORITY)


def ignored_settings(settings: BaseSettings) -> Iterator[str]:
    """Yield the names of settings that a user has set and that are ignored. Call it before they are forced."""
    for name in sorted({*FORCED_SETTINGS, *EQUIVALENT_SETTINGS}):
        if (settings.getpriority(name) or 0) <= SETTINGS_PRIORITIES["default"]:
            continue
        value = settings[name]
        plain = value.copy_to_dict() if isinstance(value, BaseSettings) else value
        if plain != EQUIVALENT_SETTINGS.get(name, FORCED_SETTINGS.get(name)):
            yield name
