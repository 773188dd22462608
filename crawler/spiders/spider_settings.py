"""The settings under which a guest's spider runs: its own, and over them what the frontier and the wire rest on.

| whose                                                                            | counts                        |
|----------------------------------------------------------------------------------|-------------------------------|
| middlewares, pipelines, extensions, feeds, logging, keys of the user's own       | as the user says              |
| what Scrapy has switched on where nobody says otherwise                          | what is in `BASE`             |
| when is fetched, by whom, over what: everything in `FORCED`                      | never; `contradictions` names it |
"""

from collections.abc import Iterator, Mapping
from typing import Any

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, Settings, default_settings

from crawler.spiders.durable_feed import DurableFile
from crawler.spiders.feeds import worker_feeds
from crawler.spiders.spider_spec import SpiderSpec, settings_module

FORCED_PRIORITY = 1_000
"""Priority of what is forced; Scrapy's highest is 40."""
FIRST_MIDDLEWARE = -1_000
"""Place of a downloader middleware that no other one precedes; Scrapy's own begin at 50."""

DEFAULT_SETTINGS: Mapping[str, Any] = {
    "CONCURRENT_ITEMS": 8,  # so many tasks for each response
    "DEFAULT_REQUEST_HEADERS": {},
    "DOWNLOADER_MIDDLEWARES_BASE": {
        "crawler.spiders.refusal_middleware.RefusalMiddleware": FIRST_MIDDLEWARE,
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
"""What holds where the user says nothing. No Referer: a crawl sends none."""

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
"""What Scrapy is told, beside the scheduler, the handlers and the concurrency, which the worker gives."""

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
"""Of what is forced, what is done all the same, by us, or is nothing to speak of; in a user's words."""


def spider_settings(spec: SpiderSpec) -> Settings:
    """Return what the user says, over what holds else. Spiders add their `custom_settings` themselves."""
    found = Settings()
    for name, value in DEFAULT_SETTINGS.items():
        found.set(name, BaseSettings(value, "default") if isinstance(value, dict) else value, "default")
    module = settings_module(spec)
    if module is not None:
        found.setmodule(module, priority="project")
    return found


def force_settings(crawler: Crawler, worker: str, more: Mapping[str, Any]) -> None:
    """Set what is not the user's to choose, and `more` of it. `InputError` for feeds that several workers would write."""
    for name, value in {**FORCED_SETTINGS, **more}.items():
        crawler.settings.set(name, value, FORCED_PRIORITY)
    feeds = crawler.settings.getdict("FEEDS")
    if feeds:
        crawler.settings.set("FEEDS", worker_feeds(feeds, worker), FORCED_PRIORITY)
    if crawler.settings["FEED_URI"]:
        (uri,) = worker_feeds({crawler.settings["FEED_URI"]: {}}, worker)
        crawler.settings.set("FEED_URI", uri, FORCED_PRIORITY)


def ignored_settings(said: BaseSettings) -> Iterator[str]:
    """Names of settings that a user has set and that are not followed. To be asked before they are forced."""
    for name in sorted({*FORCED_SETTINGS, *EQUIVALENT_SETTINGS}):
        if (said.getpriority(name) or 0) <= SETTINGS_PRIORITIES["default"]:
            continue
        value = said[name]
        plain = value.copy_to_dict() if isinstance(value, BaseSettings) else value
        if plain != EQUIVALENT_SETTINGS.get(name, FORCED_SETTINGS.get(name)):
            yield name
