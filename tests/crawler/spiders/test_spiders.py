"""A user's own Scrapy spider over a real frontier, a real archive and a real server."""

import gzip
import json
import textwrap
from collections import Counter

import pytest

from core import InputError
from crawler.replay.replay import recover
from crawler.spiders import SpiderSpec
from crawler.worker import run_worker
from frontier import Outcome
from storage.directory_store import DirectoryStore
from tests.crawler.crawls.test_crawl import archived, everybody, pages, slowly, start, wait_for, web
from tests.crawler.server import links, page, redirect
from tests.crawler.test_archive_filter import odd

HEAD = """
import asyncio
import scrapy
from scrapy.exceptions import CloseSpider, DropItem, IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
"""
FOLLOW = """
class Follow(scrapy.Spider):
    name = "follow"
    custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a"):
            yield response.follow(link)
"""


class Project:
    """A directory with a module of spiders."""

    count = 0

    def __init__(self, root):
        self.root = root
        root.mkdir()

    def spider_spec(self, code, name="Follow", *, settings="", **arguments):
        """Return the spider of that name in a module of its own."""
        Project.count += 1
        module = f"guests_{self.root.parent.name.replace('-', '_')}_{Project.count}"
        text = HEAD + textwrap.dedent(code).replace("items/", f"{self.root}/items/")
        (self.root / f"{module}.py").write_text(text)
        if settings:
            (self.root / f"{module}_settings.py").write_text(
                textwrap.dedent(settings).replace("HERE", module).replace("items/", f"{self.root}/items/")
            )
        return SpiderSpec(
            class_path=f"{module}:{name}",
            arguments=tuple(arguments.items()),
            settings_path=f"{module}_settings" if settings else "",
            directory=self.root,
        )

    @property
    def items(self):
        """Return the items of all workers' feeds."""
        return [
            json.loads(line)
            for path in sorted((self.root / "items").glob("*.jsonl"))
            for line in path.read_text().splitlines()
        ]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def paths_of(items):
    return Counter("/" + item["url"].split("/", 3)[3] for item in items)


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


def test_middlewares_pipelines_and_settings_of_the_user_take_effect(crawl, site, project):
    code = """
    class Key:
        @classmethod
        def from_crawler(cls, crawler):
            made = cls()
            made.key = crawler.settings["SHOP_KEY"]
            return made

        def process_request(self, request):
            request.headers["X-Key"] = self.key
            request.headers["User-Agent"] = "somebody else"
            if "unwanted" in request.url:
                raise IgnoreRequest("unwanted")
            if "made" in request.url:
                return HtmlResponse(request.url, body=b"made up", request=request)

        def process_response(self, request, response):
            return response.replace(body=response.body.replace(b"wire", b"middleware"))

    class Tag:
        async def process_spider_output(self, response, result):
            async for each in result:
                if isinstance(each, dict):
                    each["tagged"] = True
                yield each

    class Even:
        def process_item(self, item):
            if item["url"].endswith("odd"):
                raise DropItem("odd")
            return {**item, "piped": True}

    class Plain(scrapy.Spider):
        name = "plain"

        def parse(self, response):
            yield {"url": response.url, "text": response.css("body::text").get()}
            yield from response.follow_all(css="a")
    """
    settings = """
    SHOP_KEY = "secret"
    DOWNLOADER_MIDDLEWARES = {"HERE.Key": 500}
    SPIDER_MIDDLEWARES = {"HERE.Tag": 500}
    ITEM_PIPELINES = {"HERE.Even": 300}
    FEEDS = {"items/%(worker)s.jsonl": {"format": "jsonlines"}}
    DEFAULT_REQUEST_HEADERS = {"Accept-Language": "cs"}
    """
    site.answers |= {
        "/": links("/unwanted", "/made", "/odd", "/even", text="from the wire"),
        "/odd": page("x"),
        "/even": page("<body>on the wire"),
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Plain", settings=settings)))
    found = {item["url"].rpartition("/")[2]: item for item in project.items}
    assert {name: item["text"] for name, item in found.items()} == {
        "": "from the middleware",
        "even": "on the middleware",
        "made": "made up",
    }
    assert all(item["tagged"] and item["piped"] for item in found.values())
    assert crawl.stats.reasons == {"refused:ignored": 1, "fetched:middleware": 1}
    assert set(site.paths) == {"/robots.txt", "/", "/odd", "/even"} == set(pages(crawl))
    for raw in site.requests:
        assert (b"X-Key: secret" in raw) == (b"/robots.txt" not in raw)
        assert (b"Accept-Language: cs" in raw) == (b"/robots.txt" not in raw)
        assert b"somebody else" not in raw
        assert b"thresher/" in raw
    bodies = b"".join(record.payload for record in archived(crawl))
    assert b"on the wire" in bodies
    assert b"on the middleware" not in bodies


def test_a_callback_that_raises_changes_only_the_reason_of_its_page(crawl, site, project, capfd):
    code = """
    class Careless(scrapy.Spider):
        name = "careless"
        custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

        def parse(self, response):
            yield from response.follow_all(css="a", callback=self.parse_some)

        def parse_some(self, response):
            yield {"url": response.url}
            yield response.follow("/more", callback=self.parse_more)
            raise ValueError("no such luck")

        def parse_more(self, response):
            return 1 / 0
    """
    site.answers |= {"/": links("/a", "/b"), "/a": page("a"), "/b": page("b"), "/more": page("m")}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Careless")))
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"fetched:callback_error": 3}
    assert set(pages(crawl)) == {"/robots.txt", "/", "/a", "/b", "/more"}
    assert paths_of(project.items) == {"/a": 1, "/b": 1}
    said = capfd.readouterr().err
    assert 'raise ValueError("no such luck")' in said
    assert "ZeroDivisionError" in said


def test_a_failed_page_goes_to_the_errback_once_the_frontier_gives_it_up(crawl, site, project):
    code = """
    class Wary(scrapy.Spider):
        name = "wary"
        custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

        def parse(self, response):
            for path in ("/gone", "/busy", "/noise", "/asked", "/plain"):
                yield response.follow(path, self.parse_page, errback=self.failed, cb_kwargs={"path": path})
            yield response.follow("/taken", self.parse_page, cb_kwargs={"path": "/taken"},
                                  meta={"handle_httpstatus_list": [404]})

        def parse_page(self, response, path):
            yield {"url": response.url, "status": response.status}

        def failed(self, failure):
            path = failure.request.cb_kwargs["path"]
            yield {"url": failure.request.url, "failed": type(failure.value).__name__}
            if path == "/gone":
                yield scrapy.Request(failure.request.url.replace("gone", "instead"), self.parse_page,
                                     cb_kwargs={"path": "/instead"})
    """
    site.answers |= {
        "/": page("x"),
        "/busy": page("later", "Retry-After: 0", status="503 Busy"),
        "/noise": b"SSH-2.0-OpenSSH\r\n\r\n",
        "/asked": redirect("/plain"),
        "/plain": page("x"),
        "/instead": page("x"),
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Wary")))
    found = {item.pop("url").rpartition("/")[2]: item for item in project.items}
    assert len(project.items) == len(found)
    assert found == {
        "gone": {"failed": "HttpError"},
        "busy": {"failed": "HttpError"},
        "noise": {"failed": "DownloadFailedError"},
        "plain": {"status": 200},
        "instead": {"status": 200},
        "taken": {"status": 404},
    }
    assert crawl.stats.reasons == {
        "gone:status_404": 2,
        "failed:status_503": 1,
        "failed:protocol": 1,
    }
    assert site.paths["/busy"] == 3


def test_a_spider_cannot_switch_off_robots_rules_nofollow_or_the_guard(crawl, site, project):
    settings = """
    ROBOTSTXT_OBEY = False
    COOKIES_ENABLED = True
    DOWNLOAD_DELAY = 0
    CONCURRENT_REQUESTS = 1000
    """
    site.answers |= {
        "/robots.txt": page("User-agent: *\nDisallow: /private", kind="text/plain"),
        "/": page(
            '<a href="/private/x">x</a><a href="/public">x</a><a href="http://10.0.0.1/">x</a>',
            "Set-Cookie: a=b",
        ),
        "/public": page('<meta name="robots" content="nofollow"><a href="/hidden">x</a>'),
        "/hidden": page("x"),
    }
    crawl.seed(f"{site.url}/", scope="any")
    spider_spec = project.spider_spec(FOLLOW, settings=settings)
    run_worker(crawl.config("w", spider=spider_spec))
    assert crawl.stats.reasons == {"refused:robots": 1, "refused:address_blocked": 1}
    assert set(site.paths) == {"/robots.txt", "/", "/public"}
    assert not any(b"Cookie" in raw for raw in site.requests)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ("scrapy.FormRequest(response.url, formdata={'a': 'b'})", "it is a POST"),
        ("response.follow('/x', callback=lambda response: None)", "its callback is"),
        ("response.follow('/x', cb_kwargs={'x': {1, 2}})", "cb_kwargs['x'] is set"),
        ("response.follow('/x', meta={'x': (1, 2)})", "meta['x'] is tuple"),
        ("response.follow('/x', meta={'x': 'x' * 5000})", "bytes, 3,725 can be kept"),
        ("response.follow('/x', meta={'proxy': 'http://127.0.0.1'})", "proxies are the crawl's"),
        ("response.follow('/x', cookies={'a': 'b'})", "it has cookies"),
        ("response.follow('/x', priority=10**10)", "priority must lie within"),
    ],
)
def test_a_request_that_cannot_be_carried_ends_the_worker_in_one_line(
    crawl, site, project: Project, request_, why
):
    code = f"""
    class Wrong(scrapy.Spider):
        name = "wrong"

        def parse(self, response):
            yield {request_}
    """
    site.answers["/"] = page("x")
    crawl.seed(f"{site.url}/")
    with pytest.raises(InputError) as raised:
        run_worker(crawl.config("w", spider=project.spider_spec(code, "Wrong")))
    assert why in str(raised.value)
    assert "\n" not in str(raised.value)
    assert crawl.stats.outcomes["fetched"] == 0
    assert crawl.stats.leased == 1


def test_nothing_is_fetched_without_the_frontier(crawl, site, project: Project):
    code = """
    class Past(scrapy.Spider):
        name = "past"

        async def parse(self, response):
            await self.crawler.engine.download_async(response.follow("/x"))
            yield {}
    """
    site.answers["/"] = page("x")
    crawl.seed(f"{site.url}/")
    with pytest.raises(InputError, match="was requested without the frontier"):
        run_worker(crawl.config("w", spider=project.spider_spec(code, "Past")))
    assert "/x" not in site.paths


def test_a_middleware_may_redirect_or_retry(crawl, site, project):
    code = """
    class Elsewhere:
        tried = 0

        def process_request(self, request):
            if request.url.endswith("/old"):
                return request.replace(url=request.url.replace("old", "new"))

        def process_response(self, request, response):
            if response.body == b"captcha" and not self.tried:
                self.tried = 1
                return request.copy()
            return response

    class Sent(scrapy.Spider):
        name = "sent"
        custom_settings = {
            "FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}},
            "DOWNLOADER_MIDDLEWARES": {Elsewhere: 1},
        }

        def parse(self, response):
            yield response.follow("/old", self.parse_page, cb_kwargs={"n": 1})
            yield response.follow("/again", self.parse_page, cb_kwargs={"n": 2})

        def parse_page(self, response, n):
            yield {"url": response.url, "n": n}
    """
    site.answers |= {"/": page("x"), "/new": page("x"), "/again": page("captcha")}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Sent")))
    assert {(item["url"].rpartition("/")[2], item["n"]) for item in project.items} == {
        ("new", 1),
        ("again", 2),
    }
    stats = crawl.stats
    assert stats.is_drained
    assert stats.outcomes["redirected"] == 1
    assert site.paths["/again"] == pages(crawl)["/again"] == 2, "the frontier asks again, in its own time"


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


@pytest.mark.parametrize("after", [pytest.param(5, marks=pytest.mark.slow), 30])
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


@pytest.mark.parametrize(
    ("spider", "why"),
    [
        ("nowhere.spiders:Spider", "no such module"),
        ("json:Nobody", "has no such class"),
        ("json:JSONDecoder", "no subclass of scrapy.Spider"),
        ("json", "name it package.module:Class"),
    ],
)
def test_a_spider_that_cannot_be_imported_is_an_error_of_one_line(crawl, site, spider, why):
    crawl.seed(f"{site.url}/")
    with pytest.raises(InputError, match=why):
        run_worker(crawl.config("w", spider=SpiderSpec(class_path=spider)))


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
