"""What a user's spider does wrong, and what it may not do."""

import pytest

from tests.crawler.crawls.test_crawl import pages
from tests.crawler.server import links, page, redirect
from tests.crawler.spiders.spider_project import FOLLOW, Project, paths_of
from thresher.core import InputError
from thresher.crawler.spiders import SpiderSpec
from thresher.crawler.worker import run_worker


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
