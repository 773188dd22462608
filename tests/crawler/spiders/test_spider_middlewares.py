"""Middlewares, pipelines and settings of a user take effect, over a real frontier and a real server."""

from tests.crawler.clock_leaps import hurry
from tests.crawler.crawls.test_crawl import archived, pages
from tests.crawler.server import links, page
from thresher.crawler.worker import run_worker


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
    with hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w", spider=project.spider_spec(code, "Sent")))
    assert {(item["url"].rpartition("/")[2], item["n"]) for item in project.items} == {
        ("new", 1),
        ("again", 2),
    }
    stats = crawl.stats
    assert stats.is_drained
    assert stats.outcomes["redirected"] == 1
    assert site.paths["/again"] == pages(crawl)["/again"] == 2, "the frontier asks again, in its own time"
