"""Which settings of a user's spider count."""

from typing import Any

import pytest
import scrapy
from scrapy.crawler import Crawler

from thresher.core import InputError
from thresher.crawler.spiders import SpiderSpec, spider_settings
from thresher.crawler.spiders.feeds import lossy_feeds, worker_feeds


def crawler(**custom):
    class Some(scrapy.Spider):
        name = "some"
        custom_settings = custom

    return Crawler(Some, spider_settings.spider_settings(SpiderSpec(class_path="a:B")))


def test_settings_that_agree_or_are_missing_are_no_contradiction():
    assert list(spider_settings.ignored_settings(crawler().settings)) == []
    agreed = crawler(ROBOTSTXT_OBEY=True, RETRY_ENABLED=True, DOWNLOAD_DELAY=0, LOG_LEVEL="DEBUG", MY_OWN=1)
    assert list(spider_settings.ignored_settings(agreed.settings)) == []


def test_ignored_settings_are_named_once_and_forced():
    made = crawler(
        ROBOTSTXT_OBEY=False,
        USER_AGENT="somebody",
        CONCURRENT_REQUESTS=1000,
        COOKIES_ENABLED=True,
        SCHEDULER="a.Scheduler",
        DOWNLOAD_HANDLERS={"http": "a.Handler"},
        DOWNLOADER_MIDDLEWARES_BASE={},
    )
    assert list(spider_settings.ignored_settings(made.settings)) == [
        "CONCURRENT_REQUESTS",
        "COOKIES_ENABLED",
        "DOWNLOAD_HANDLERS",
        "ROBOTSTXT_OBEY",
        "SCHEDULER",
        "USER_AGENT",
    ]
    spider_settings.force_settings(made, "w", {"CONCURRENT_REQUESTS": 64})
    assert not made.settings.getbool("COOKIES_ENABLED")
    assert made.settings["USER_AGENT"] == ""
    assert made.settings.getint("CONCURRENT_REQUESTS") == 64
    made.settings.set("COOKIES_ENABLED", True, "cmdline")
    assert not made.settings.getbool("COOKIES_ENABLED")


def test_every_worker_has_feeds_of_its_own():
    made = crawler(FEEDS={"a/%(worker)s-%(name)s.jsonl": {"format": "jsonlines"}})
    spider_settings.force_settings(made, "home-life", {})
    assert made.settings.getdict("FEEDS") == {"a/home-life-%(name)s.jsonl": {"format": "jsonlines"}}
    for uri in ("items.jsonl", "s3://bucket/%(name)s.jsonl", "stdout:"):
        with pytest.raises(InputError, match=r"put %\(worker\)s into the name"):
            worker_feeds({uri: {}}, "w")


def test_feeds_of_which_a_killed_worker_may_lose_items_are_named():
    durable = {"a.jsonl": {}, "b": {"format": "csv"}, "file:///c.jl": {"format": "jsonlines"}}
    assert list(lossy_feeds(durable)) == []
    others: dict[str, dict[str, Any]] = {
        "a.json": {"format": "json"},
        "b.xml": {},
        "s3://bucket/c.jsonl": {"format": "jsonlines"},
        "d.jsonl.gz": {
            "format": "jsonlines",
            "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
        },
    }
    assert list(lossy_feeds(others)) == list(others)
