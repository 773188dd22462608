"""A user's own Scrapy spider over a real frontier, a real archive and a real server."""

import gzip
from collections import Counter

import pytest

from tests.crawler.crawls.test_crawl import everybody, pages, slowly, start, wait_for, web
from tests.crawler.server import links, page, redirect
from tests.crawler.spiders.spider_project import FOLLOW, Project, paths_of
from tests.crawler.test_archive_filter import odd
from thresher.core import InputError
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.frontier import Outcome
from thresher.storage.directory_store import DirectoryStore


def test_callbacks_name_the_next_pages_and_their_items_are_in_the_feed(crawl, site, project):
    site.fallback = web(40)
    crawl.seed(f"{site.url}/0")
    run_worker(crawl.config("w", spider=project.spider_spec(FOLLOW)))
    assert crawl.stats.is_drained
    assert crawl.stats.outcomes["fetched"] == 40
    every = {f"/{n}": 1 for n in range(40)}
    assert site.paths == pages(crawl) == Counter({"/robots.txt": 1, **every})
    assert paths_of(project.items) == every
    assert [path.name for path in (project.root / "items").iterdir()] == ["w.jsonl"]


def test_a_request_keeps_callback_arguments_meta_and_headers_through_the_frontier(
    crawl, site, project: Project
):
    code = """
    class Shop(scrapy.Spider):
        name = "shop"
        custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

        def parse(self, response):
            yield response.follow(
                "/list?page=2", self.parse_list, cb_kwargs={"page": 2}, meta={"seen": ["ä"]},
                headers={"X-Shop": "one"}, priority=3,
            )

        def parse_list(self, response, page):
            for href in response.css("a::attr(href)").getall():
                yield response.follow(href, callback=self.parse_item, cb_kwargs={"page": page}, meta=response.meta)

        async def parse_item(self, response, page):
            await asyncio.sleep(0)
            yield {"url": response.url, "page": page, "seen": response.meta["seen"], "depth": response.meta["depth"],
                   "kind": type(response).__name__, "text": response.text, "country": self.country}
    """
    site.answers |= {
        "/": page("x"),
        "/list?page=2": links("/item", "/old"),
        "/item": page(gzip.compress("<p>žluť</p>".encode()), "Content-Encoding: gzip"),
        "/old": redirect("/data.json"),
        "/data.json": page('{"a": 1}', kind="application/json"),
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Shop", country="de")))
    about = {"page": 2, "seen": ["ä"], "depth": 2, "country": "de"}
    found = {item.pop("url").rpartition("/")[2]: item for item in project.items}
    assert found == {
        "item": {**about, "kind": "HtmlResponse", "text": "<p>žluť</p>"},
        "data.json": {**about, "kind": "JsonResponse", "text": '{"a": 1}'},
    }
    asked = {raw.split(b" ")[1]: raw for raw in site.requests}
    assert b"X-Shop: one" in asked[b"/list?page=2"]
    assert b"X-Shop" not in asked[b"/item"]
    counts = {outcome: count for outcome, count in crawl.stats.outcomes.items() if count}
    assert counts == {"fetched": 4, "redirected": 1}
    assert all(request in b"".join(site.requests) for request in site.requests)


def test_rules_of_a_crawl_spider_are_followed_and_go_no_further_than_the_scope(crawl, site, project: Project):
    code = """
    class Rules(CrawlSpider):
        name = "rules"
        rules = [Rule(LinkExtractor(allow="/keep"), callback="parse_item", follow=True)]
        custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

        def parse_item(self, response):
            yield {"url": response.url, "rule": response.meta["rule"]}
    """
    site.answers |= {
        "/": links("/keep/1", "/leave/1", "http://elsewhere.test/keep/"),
        "/keep/1": links("/keep/2", "/leave/2"),
        "/keep/2": page("end"),
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Rules")))
    assert crawl.stats.outcomes["fetched"] == 3
    assert crawl.stats.seen == 3
    assert paths_of(project.items) == {"/keep/1": 1, "/keep/2": 1}


def test_a_closed_spider_ends_the_worker_and_loses_nothing(crawl, site, project):
    code = """
    class Enough(scrapy.Spider):
        name = "enough"
        custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

        def parse(self, response):
            yield {"url": response.url}
            yield from response.follow_all(css="a")
            if response.url.endswith("/7"):
                raise CloseSpider("enough")
    """
    site.fallback = web(60)
    crawl.seed(f"{site.url}/0")
    spider_spec = project.spider_spec(code, "Enough")
    run_worker(crawl.config("w1", spider=spider_spec))
    stats = crawl.stats
    assert stats.leased == stats.robots == 0
    assert stats.outcomes["fetched"] == len(project.items) < 60
    run_worker(crawl.config("w2", spider=spider_spec))
    assert crawl.stats.is_drained
    assert paths_of(project.items) == {f"/{n}": 1 for n in range(60)}


@pytest.mark.slow
@pytest.mark.parametrize("after", [5, 30])
@pytest.mark.usefixtures("quickly_recovered")
def test_killed_and_run_again_every_page_has_its_item_and_one_settlement(crawl, site, project, after):
    site.fallback = slowly(web(60), 0.01)
    crawl.seed(f"{site.url}/0")
    spider_spec = project.spider_spec(FOLLOW)
    process = start(crawl.config("killed", spider=spider_spec))
    wait_for(lambda: len(site.requests) > after)
    process.kill()
    process.join()
    held = len(crawl.ask(lambda frontier: frontier.workers.leases("killed")))
    settled = crawl.stats.outcomes["fetched"]
    assert len({item["url"] for item in project.items}) >= settled
    crawl.ask(lambda frontier: recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name))
    assert crawl.stats.leased == 0
    run_worker(crawl.config("next", spider=spider_spec))
    assert crawl.stats.is_drained
    assert crawl.stats.outcomes[Outcome.FETCHED] == 60
    items = paths_of(project.items)
    assert set(items) == {f"/{n}" for n in range(60)}
    again = sum(items.values()) - 60
    assert again <= held
    assert pages(crawl).total() - 61 <= held


def test_a_feed_that_several_workers_would_write_is_refused(crawl, site, project):
    code = FOLLOW.replace("%(worker)s", "all")
    crawl.seed(f"{site.url}/")
    with pytest.raises(InputError, match=r"put %\(worker\)s into the name"):
        run_worker(crawl.config("w", spider=project.spider_spec(code)))


def test_allowed_domains_hold_and_a_veto_of_an_extension_ends_in_a_reason(crawl, site, project):
    code = """
    from scrapy import signals
    from scrapy.exceptions import DontCloseSpider

    class Stubborn:
        @classmethod
        def from_crawler(cls, crawler):
            made = cls()
            crawler.signals.connect(made.scheduled, signals.request_scheduled)
            crawler.signals.connect(made.idle, signals.spider_idle)
            return made

        def scheduled(self, request, spider):
            if request.url.endswith("/veto"):
                raise IgnoreRequest

        def idle(self):
            raise DontCloseSpider

    class Bounded(scrapy.Spider):
        name = "bounded"
        allowed_domains = ["127.0.0.1"]
        custom_settings = {"EXTENSIONS": {Stubborn: 1}}

        def parse(self, response):
            there = response.url.replace("127.0.0.1", "localhost")
            yield scrapy.Request(there + "left-out")
            yield scrapy.Request(there + "let-in", dont_filter=True)
            yield response.follow("/veto")
    """
    site.answers["/"] = page("x")
    crawl.seed(f"{site.url}/", scope="any")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Bounded")))
    assert crawl.stats.is_drained
    assert set(site.paths) == {"/robots.txt", "/", "/let-in"}
    assert crawl.stats.reasons == {"gone:status_404": 1, "refused:ignored": 1}


def test_an_archive_filter_hides_nothing_from_a_spider(crawl, site, project):
    site.fallback = web(20)
    crawl.seed(f"{site.url}/0")
    run_worker(crawl.config("w", spider=project.spider_spec(FOLLOW), archive_filter=odd))
    assert crawl.stats.outcomes["fetched"] == 20
    assert paths_of(project.items) == {f"/{n}": 1 for n in range(20)}
    assert pages(crawl) == {"/robots.txt": 1, **{f"/{n}": 1 for n in range(0, 20, 2)}}


def test_a_crawl_without_a_spider_imports_nothing_of_spiders(crawl, site):
    site.fallback = web(20)
    crawl.seed(f"{site.url}/0")
    run_worker(crawl.config("w"))
    assert crawl.stats.outcomes["fetched"] == 20
    assert not (crawl.root.parent / "items").exists()
