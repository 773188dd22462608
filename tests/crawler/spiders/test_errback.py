"""For every request that a spider yields, its callback or its errback is called once, whatever happens to the page."""

import asyncio
import socket
from collections import Counter

from tests.crawler.authority import Authority
from tests.crawler.clock_leaps import hurry
from tests.crawler.reading.test_page_reading import BLOCK
from tests.crawler.server import Server, links, page, redirect
from thresher.crawler.worker import run_worker
from thresher.frontier import Budget

EVERY = """
class Every(scrapy.Spider):
    name = "every"
    custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

    def parse(self, response):
        for url in response.css("a::attr(href)").getall():
            yield scrapy.Request(url, self.parse_page, errback=self.failed, cb_kwargs={"asked": url})

    def parse_page(self, response, asked):
        yield {"asked": asked, "answer": str(response.status)}

    def failed(self, failure):
        answer = f"{type(failure.value).__name__} {failure.value}".partition(":")[0].partition(" Ignoring")[0]
        yield {"asked": failure.request.cb_kwargs["asked"], "answer": answer}
"""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


async def breaks_off(_, writer):
    writer.write(HEAD + b"Content-Length: 1000\r\n\r\n<p>half")
    await writer.drain()
    writer.close()


async def silence(_, writer):
    await asyncio.sleep(30)


async def reset(_, writer):
    writer.transport.abort()


ANSWERS = {
    "/good": (page("good"), "200"),
    "/moved": (redirect("/arrived"), "200"),
    "/arrived": (page("arrived"), None),
    "/gone": (page("x", status="404 Not Found"), "HttpError"),
    "/forbidden": (page("x", status="403 Forbidden"), "HttpError"),
    "/teapot": (page("x", status="418 Teapot"), "HttpError"),
    "/unchanged": (b"HTTP/1.1 304 Not Modified\r\n\r\n", "HttpError"),
    "/broken": (page("x", status="500 Broken"), "HttpError"),
    "/busy": (page("x", "Retry-After: 0", status="503 Busy"), "HttpError"),
    "/private": (page("x"), "IgnoreRequest robots"),
    "/itself": (redirect("/itself"), "IgnoreRequest to_itself"),
    "/ring-1": (redirect("/ring-2"), "IgnoreRequest loop"),
    "/ring-2": (redirect("/ring-3"), None),
    "/ring-3": (redirect("/ring-1"), None),
    **{f"/hop-{n}": (redirect(f"/hop-{n + 1}"), None) for n in range(1, 12)},
    "/hop-0": (redirect("/hop-1"), "IgnoreRequest too_many_hops"),
    "/away": (redirect("http://127.0.0.77/"), "IgnoreRequest out_of_scope"),
    "/deeper": (redirect("/a/b/a/b/a/b/a/b/"), "IgnoreRequest trap"),
    "/nowhere": (redirect("ftp://example.org/"), "HttpError"),
    "/unsaid": (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "HttpError"),
    "/guarded": (page(BLOCK), "HttpError block_page"),
    "/guarded-403": (page(BLOCK, status="403 Forbidden"), "HttpError"),
    "/long": (page("x" * 70_000), "DownloadCancelledError truncated_length"),
    "/cut": (breaks_off, "ResponseDataLossError truncated_disconnect"),
    "/noise": (b"SSH-2.0-OpenSSH\r\n\r\n", "DownloadFailedError protocol"),
}
"""Paths of one host, which goes on whatever they do: what they answer, and what the spider receives (None: nothing)."""


def answers_of(items):
    found = Counter(item["asked"] for item in items)
    assert set(found.values()) <= {1}, found
    return {item["asked"]: item["answer"] for item in items}


def run(crawl, project, listed, **changes):
    """Return what the spider receives for these URLs, which a page lists."""
    with Server({"/": links(*listed)}, address="127.0.0.9").in_thread() as index:
        crawl.seed(f"{index.url}/", scope="any")
        with hurry(crawl.redis, crawl.name):
            run_worker(crawl.config("w", spider=project.spider_spec(EVERY, "Every"), **changes))
    assert crawl.stats.is_drained
    return answers_of(project.items)


def test_every_response_of_a_host_is_delivered_once(crawl, site, project):
    code = EVERY.replace("scrapy.Request(url", "response.follow(url")
    site.answers |= {path: answer for path, (answer, _) in ANSWERS.items()}
    site.answers["/robots.txt"] = page("User-agent: *\nDisallow: /private", kind="text/plain")
    heard = {path: said for path, (_, said) in ANSWERS.items() if said}
    site.answers["/"] = links(*heard)
    crawl.seed(f"{site.url}/")
    with hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w", spider=project.spider_spec(code, "Every"), max_body=64 << 10))
    assert crawl.stats.is_drained
    assert answers_of(project.items) == heard
    assert "/private" not in site.paths


def test_every_failure_of_a_host_is_delivered_once_for_waiting_pages_too(crawl, project, names, tmp_path):
    names |= {"nobody.test": 3, "inward.test": ["10.0.0.1"]}
    with (
        socket.socket() as closed,
        Server({"/robots.txt": silence}, address="127.0.0.2").in_thread() as silent,
        Server({"/": silence, "/1": page("one")}, address="127.0.0.3").in_thread() as slow,
        Server({"/": reset}, address="127.0.0.4").in_thread() as resetting,
        Server(address="127.0.0.5").in_thread() as plain,
        Server(address="127.0.0.7").in_thread(
            tls=Authority(tmp_path).server("127.0.0.7", self_signed=True)
        ) as own,
    ):
        closed.bind(("127.0.0.6", 0))
        several = {
            f"http://127.0.0.6:{closed.getsockname()[1]}": "DownloadConnectionRefusedError dead_refused",
            "http://nobody.test": "CannotResolveHostError dead_dns",
            "http://inward.test": "IgnoreRequest address_blocked",
            "http://10.1.1.1": "IgnoreRequest address_blocked",
            silent.url: "DownloadTimeoutError dead_timeout_first_byte",
            plain.url.replace("http:", "https:"): "DownloadTimeoutError dead_timeout_tls",
            own.url.replace("http:", "https:"): "DownloadFailedError dead_tls_self_signed",
        }
        expected = {f"{origin}/{n}": said for origin, said in several.items() for n in range(3)}
        expected |= {
            f"{slow.url}/": "DownloadTimeoutError timeout_first_byte",
            f"{slow.url}/1": "200",
            f"{resetting.url}/": "DownloadFailedError reset",
        }
        assert run(crawl, project, expected, timeout_s=0.4) == expected


def test_requests_that_a_budget_has_no_room_for_are_counted_and_reach_no_errback(crawl, site, project):
    code = EVERY.replace("scrapy.Request(url", "response.follow(url")
    site.answers |= {"/": links("/1", "/2", "/3", "/4"), "/1": page("x"), "/2": page("x")}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Every"), budget=Budget(host=3)))
    assert answers_of(project.items) == {"/1": "200", "/2": "200"}
    assert crawl.stats.discarded == {"host_budget": 2}
    assert crawl.stats.is_drained


def test_rejected_requests_reach_their_errback_at_once(crawl, site, project):
    code = """
    class Left(scrapy.Spider):
        name = "left"
        allowed_domains = ["127.0.0.1"]
        custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

        def parse(self, response):
            there = response.url.replace("127.0.0.1", "localhost")
            for url in (there, "ftp://127.0.0.1/", response.urljoin("/a/b/a/b/a/b/a/b/"), response.urljoin("/public")):
                yield scrapy.Request(url, self.parse_page, errback=self.failed, cb_kwargs={"asked": url})
            yield scrapy.Request(there + "silent")

        def parse_page(self, response, asked):
            yield {"asked": asked, "answer": str(response.status)}
            yield response.follow("/hidden", errback=self.failed, cb_kwargs={"asked": "hidden"})

        def failed(self, failure):
            yield {"asked": failure.request.cb_kwargs["asked"], "answer": repr(failure.value)}
            yield failure.request.copy()
    """
    site.answers |= {
        "/": page("x"),
        "/public": page('<meta name="robots" content="nofollow">'),
        "/hidden": page("x"),
    }
    crawl.seed(f"{site.url}/", scope="any")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Left")))
    assert answers_of(project.items) == {
        f"{site.url.replace('127.0.0.1', 'localhost')}/": "IgnoreRequest('off_site')",
        "ftp://127.0.0.1/": "IgnoreRequest('no_url')",
        f"{site.url}/a/b/a/b/a/b/a/b/": "IgnoreRequest('trap')",
        f"{site.url}/public": "200",
        "hidden": "IgnoreRequest('nofollow')",
    }
    assert "/hidden" not in site.paths


def test_requests_that_middlewares_and_extensions_stop_reach_their_errback(crawl, site, project):
    code = (
        EVERY.replace("scrapy.Request(url", "response.follow(url").replace(
            "custom_settings = {", "custom_settings = {**SETTINGS, "
        )
        + """
    """
    )
    head = """
from scrapy import signals

class Stops:
    @classmethod
    def from_crawler(cls, crawler):
        made = cls()
        crawler.signals.connect(made.scheduled, signals.request_scheduled)
        return made

    def scheduled(self, request, spider):
        if request.url.endswith("/veto"):
            raise IgnoreRequest

    def process_request(self, request):
        if request.url.endswith("/ignored"):
            raise IgnoreRequest("not that one")
        if request.url.endswith("/crash"):
            raise ValueError("no such luck")
        if request.url.endswith("/elsewhere"):
            return request.replace(url="ftp://example.org/")

    def process_response(self, request, response):
        if request.url.endswith("/again"):
            return request.copy()
        if request.url.endswith("/unwanted"):
            raise IgnoreRequest("not this one")
        return response

SETTINGS = {"DOWNLOADER_MIDDLEWARES": {Stops: 500}}
"""
    expected = {
        "/veto": "IgnoreRequest ignored",
        "/ignored": "IgnoreRequest not that one",
        "/crash": "ValueError no such luck",
        "/elsewhere": "IgnoreRequest no_url",
        "/again": "DownloadFailedError middleware",
        "/unwanted": "IgnoreRequest not this one",
        "/private": "IgnoreRequest robots",
    }
    site.answers |= {path: page("x") for path in expected} | {"/": links(*expected)}
    site.answers["/robots.txt"] = page("User-agent: *\nDisallow: /private", kind="text/plain")
    crawl.seed(f"{site.url}/")
    with hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w", spider=project.spider_spec(head + code, "Every")))
    assert answers_of(project.items) == expected
    assert crawl.stats.is_drained


def test_a_page_that_is_given_up_without_a_spider_is_settled(crawl, site, project):
    with socket.socket() as closed:
        closed.bind(("127.0.0.6", 0))
        dead = f"http://127.0.0.6:{closed.getsockname()[1]}/"
        site.answers["/"] = links(dead)
        crawl.seed(f"{site.url}/", scope="any")
        run_worker(crawl.config("w1", spider=project.spider_spec(EVERY, "Every"), max_pages=1))
        assert not crawl.stats.is_drained
        with hurry(crawl.redis, crawl.name):
            run_worker(crawl.config("w2"))
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:dead_refused": 1}


def test_a_callback_receives_the_redirects_that_led_to_its_page(crawl, site, project):
    code = """
    class Way(scrapy.Spider):
        name = "way"
        custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

        def parse(self, response):
            yield {"url": response.url, "way": response.meta.get("redirect_urls"),
                   "why": response.meta.get("redirect_reasons"), "times": response.meta.get("redirect_times")}
            if response.url.endswith("/end"):
                yield response.follow("/again-1", meta=response.meta)
    """
    site.answers |= {
        "/1": redirect("/2"),
        "/2": redirect("/end", status="307 Over there"),
        "/end": page("x"),
        "/again-1": redirect("/again-2"),
        "/again-2": page("x"),
    }
    crawl.seed(f"{site.url}/1")
    run_worker(crawl.config("w", spider=project.spider_spec(code, "Way")))
    end, again = sorted(project.items, key=lambda item: item["times"])
    assert end == {
        "url": f"{site.url}/end",
        "way": [f"{site.url}/1", f"{site.url}/2"],
        "why": [301, 307],
        "times": 2,
    }
    assert (again["way"][-1], again["times"]) == (f"{site.url}/again-1", 3)
