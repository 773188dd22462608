"""A user's spider on the whole hostile web: its callback or its errback is called once for every page, as the guide
says.
"""

import json
from collections import Counter, defaultdict

import pytest
from scrapy.spidermiddlewares.httperror import HttpError

from tests.crawler.spiders.test_failure_exceptions import table
from tests.hostile.crawl_run import run_crawl
from tests.hostile.rows import rows
from tests.hostile.web import Web
from thresher.frontier import canonicalize

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1000)]
SPIDER = """
import scrapy


class Hearing(scrapy.Spider):
    name = "hearing"
    custom_settings = {"FEEDS": {"heard/%(worker)s.jsonl": {"format": "jsonlines"}}, "LOG_LEVEL": "CRITICAL"}

    async def start(self):
        with open("seeds.txt") as seeds:
            for line in seeds:
                yield scrapy.Request(line.strip(), self.parse, errback=self.failed)

    def parse(self, response):
        yield {"url": response.request.url, "status": response.status}
        if isinstance(response, scrapy.http.HtmlResponse):
            for href in response.css("a::attr(href)").getall():
                try:
                    request = response.follow(href, self.parse, errback=self.failed)
                except ValueError:
                    continue
                yield request

    def failed(self, failure):
        yield {
            "url": failure.request.url,
            "type": type(failure.value).__name__,
            "text": str(failure.value),
            "left_out": "download_slot" not in failure.request.meta,
        }
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    (directory / "project").mkdir()
    (directory / "project" / "hearing.py").write_text(SPIDER)
    with Web(rows, directory / "tls").served() as web:
        seeds = [web.url(row) + path for row in web.rows for path in row.seeds]
        (directory / "project" / "seeds.txt").write_text("\n".join(seeds))
        yield run_crawl(web, directory / "project", spider=("main", "--spider", "hearing:Hearing"))


@pytest.fixture(scope="module")
def heard(played):
    """Return what the spider received for each URL that was leased."""
    found = defaultdict(list)
    for path in (played.project.directory / "heard").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            item = json.loads(line)
            if not item.get("left_out"):
                found[canonicalize(item["url"]).text].append(item)
    return found


@pytest.fixture(scope="module")
def ends(played):
    """Return how each page ended for good."""
    return {one["url"]: one for one in played.settled if one["kind"] == "page"}


def is_delivered(end):
    return not (end["outcome"] == "redirected" and end["found"]) and end["outcome"] != "unchanged"


def test_the_crawl_ends_and_every_end_is_a_workers(played, ends):
    assert played.stats["drained"]
    counted = Counter("failed" if one["outcome"] == "retry" else one["outcome"] for one in ends.values())
    assert counted == Counter(played.stats["outcomes"])


def test_of_every_page_the_spider_hears_once(heard, ends):
    for url, end in ends.items():
        assert len(heard[url]) == is_delivered(end), (end, heard[url])
    assert set(heard) == set(ends)
    assert len(ends) > 800
    assert sum("type" in item for items in heard.values() for item in items) > 150


def test_what_it_hears_is_what_the_guide_says(heard, ends):
    told = table()
    kinds = Counter()
    for url, end in ends.items():
        for item in heard[url]:
            reason = end["reason"]
            if "type" not in item:
                assert 200 <= item["status"] < 300, (end, item)
                assert end["outcome"] == "fetched", (end, item)
                assert not reason.startswith("truncated_"), (end, item)
                continue
            text = item["text"].partition(":")[0]
            if reason.startswith("status_") and not text.startswith("truncated_"):
                assert item["type"] == HttpError.__name__, (end, item)
            elif not text.startswith("truncated_"):  # an incomplete body counts first
                assert item["type"] in {kind.__name__ for kind in told[reason]}, (end, item)
                assert text in {reason, "Ignoring non-200 response"}, (end, item)
            else:
                assert item["type"] in {kind.__name__ for kind in told[text]}, (end, item)
            kinds[item["type"]] += 1
    assert {kind.__name__ for many in told.values() for kind in many} == set(kinds), kinds
