"""A Scrapy project that is moved over, as the guide says it: each example of the guide is run."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawler.server import Server, page
from tests.end_to_end.conftest import ROOT, User
from tests.end_to_end.test_spider_command import items
from thresher.core import InputError
from thresher.crawler.render.chromium.program import find_browser
from thresher.crawler.spiders import spider_settings

GUIDE = (ROOT / "docs/guides/scrapy.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", GUIDE, re.DOTALL))
ORDERS = """
<!doctype html><title>Orders</title><body><div id=root></div><script>
fetch('/api/orders').then(answer => answer.json()).then(orders => {
  for (const order of orders) root.innerHTML += `<a class="order" href="/order/${order}">${order}</a>`;
});
</script>"""


@pytest.fixture
def user(calling_user):
    return calling_user


@pytest.fixture
def site():
    with Server().in_thread() as server:
        yield server


@pytest.fixture
def chromium():
    try:
        return find_browser("")
    except InputError as error:
        pytest.skip(str(error))


def members(answer):
    """Only who is logged in gets an answer."""

    async def serve(raw, writer):
        is_member = b"\r\nCookie: session=7\r\n" in raw
        writer.write(answer if is_member else page("log in first", status="403 Forbidden"))

    return serve


def told(user, site, name):
    """A file of the guide, where the shop is a server on this machine."""
    text = FILES[name].replace("https://shop.example", site.url).replace("shop.example", "127.0.0.1")
    text = text.replace("min_delay = 1.0", 'min_delay = 0.0\nallow_networks = ["127.0.0.0/8"]')
    path = Path(user.directory, name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.replace('"env:SHOP_COOKIE" }', '"env:SHOP_COOKIE" }\nhttp = true'))
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("chromium")
def test_a_project_with_a_login_and_a_list_made_by_a_script(user, site, monkeypatch):
    async def login(raw, writer):
        writer.write(page("welcome", "Set-Cookie: session=7; Path=/; HttpOnly"))
        assert raw.startswith(b"POST")

    site.answers |= {
        "/login": login,
        "/orders": members(page(ORDERS)),
        "/api/orders": members(page("[1, 2, 3]", kind="application/json")),
        "/order/1": members(page("<b class=total>10.00</b>")),
        "/order/2": members(page("<b class=total>20.00</b>")),
    }
    paths = [told(user, site, name) for name in FILES]
    assert len(paths) == 5
    commands = re.findall(r"```sh\nexport (SHOP_USER=.*?)\n```", GUIDE, re.DOTALL)[0].splitlines()
    for word in commands[0].split():
        monkeypatch.setenv(*word.split("="))
    assert commands[1] == 'export SHOP_COOKIE="$(python login.py)"'
    cookie = subprocess.run(
        [sys.executable, user.directory / "login.py"], check=True, capture_output=True, text=True
    ).stdout
    monkeypatch.setenv("SHOP_COOKIE", cookie.strip())
    words = commands[2].replace("https://shop.example", site.url).split()
    assert words.pop(0) == "thresher"
    assert user.run(*words, "--json").json["drained"]
    assert sorted(items(user.directory / "orders"), key=lambda item: item["url"]) == [
        {"url": f"{site.url}/order/1", "total": "10.00"},
        {"url": f"{site.url}/order/2", "total": "20.00"},
        {"url": f"{site.url}/order/3", "failed": "Ignoring non-200 response"},
    ]
    archived = b"".join(path.read_bytes() for path in (user.directory / "data").rglob("*.warc.gz"))
    assert b"session=7" not in gzip.decompress(archived)


SPIDER = """
import scrapy

class Small(scrapy.Spider):
    name = "small"
    site = ""
    custom_settings = {{"FEEDS": {{"items/%(worker)s.jsonl": {{"format": "jsonlines"}}}}}}

{code}
"""


def example(beginning):
    """The example of the guide that begins so."""
    (found,) = re.findall(rf"```python\n({re.escape(beginning)}.*?)```", GUIDE, re.DOTALL)
    return "".join(f"    {line}" for line in found.splitlines(keepends=True))


def small(user, site, code):
    text = SPIDER.format(code=code).replace("https://shop.example", site.url)
    (user.directory / "small.py").write_text(text)
    return ("crawl", "small", "--spider", "small:Small")


@pytest.mark.slow
def test_start_requests_becomes_start(user, site):
    code = (
        example("async def start")
        + "\n    def parse_list(self, response):\n        yield {'url': response.url}\n"
    )
    site.answers |= {f"/list/{number}": page("x") for number in range(10)}
    user.run(*small(user, site, code))
    assert {item["url"] for item in items(user.directory / "items")} == {
        f"{site.url}/list/{number}" for number in range(10)
    }


def test_a_spider_that_still_has_start_requests_is_told_so_in_one_line(user, site):
    code = example("async def start").replace("async def start(", "def start_requests(")
    line = user.run(*small(user, site, code), code=2).line
    assert line.endswith(
        "spider small: nobody calls `start_requests` any more (Scrapy 2.13 replaced it); make it `async def start(self)`"
    )


@pytest.mark.slow
def test_json_needs_no_browser(user, site):
    start = "    async def start(self):\n        yield scrapy.Request('https://shop.example/api?page=1', self.parse_list)\n\n"
    for number in (1, 2):
        following = f', "next": "/api?page={number + 1}"' if number < 2 else ""
        body = f'{{"orders": [{{"number": {number}}}]{following}}}'
        site.answers[f"/api?page={number}"] = page(body, kind="application/json")
    user.run(*small(user, site, start + example("def parse_list")))
    assert [item["number"] for item in items(user.directory / "items")] == [1, 2]


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        (
            "{'playwright': True, 'playwright_page_methods': ['click']}",
            "it has meta['playwright_page_methods']",
        ),
        pytest.param(
            "{'playwright': True, 'playwright_include_page': True}",
            "it has meta['playwright_include_page']",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_only_a_page_in_a_browser_could_do_ends_the_crawl_with_one_line(user, site, meta, why):
    code = f"    async def start(self):\n        yield scrapy.Request('https://shop.example/', meta={meta})\n"
    assert why in user.run(*small(user, site, code), code=2).line


@pytest.mark.slow
def test_who_asks_for_a_browser_where_there_is_none_is_told_so_once(user, site):
    code = """
    async def start(self):
        for number in range(3):
            yield scrapy.Request(f'https://shop.example/{number}', meta={'playwright': True})

    def parse(self, response):
        yield {'url': response.url}
"""
    site.fallback = lambda _: page("x")
    said = User(user.directory).run(*small(user, site, code)).err
    assert said.count('meta["playwright"] asks for a browser; set crawler.render') == 1
    assert len(items(user.directory / "items")) == 3


KINDS = """
import scrapy
from scrapy.spiders import CSVFeedSpider, SitemapSpider, XMLFeedSpider

FEEDS = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

class Pages(SitemapSpider):
    name = "pages"
    sitemap_urls = ["SITE/sitemap.xml"]
    custom_settings = FEEDS

    def parse(self, response):
        yield {"found": response.css("p::text").get()}

class Rows(CSVFeedSpider):
    name = "rows"
    start_urls = ["SITE/rows.csv"]
    custom_settings = FEEDS

    def parse_row(self, response, row):
        yield {"found": row["name"]}

class Nodes(XMLFeedSpider):
    name = "nodes"
    start_urls = ["SITE/feed.xml"]
    itertag = "item"
    custom_settings = FEEDS

    def parse_node(self, response, node):
        yield {"found": node.xpath("title/text()").get()}

class Form(scrapy.Spider):
    name = "form"
    start_urls = ["SITE/form"]
    custom_settings = FEEDS

    def parse(self, response):
        yield scrapy.FormRequest.from_response(response, formdata={"q": "chairs"}, callback=self.parse_found)

    def parse_found(self, response):
        yield {"found": response.css("p::text").get()}
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Pages", "Rows", "Nodes", "Form"])
def test_scrapys_own_kinds_of_spiders_work_as_they_are(user, site, name):
    sitemap = f"<urlset><url><loc>{site.url}/page</loc></url></urlset>"
    site.answers |= {
        "/sitemap.xml": page(sitemap, kind="application/xml"),
        "/page": page("<p>chair</p>"),
        "/rows.csv": page("name,price\nchair,7\n", kind="text/csv"),
        "/feed.xml": page("<rss><item><title>chair</title></item></rss>", kind="application/xml"),
        "/form": page("<form method=get action=/search><input name=q></form>"),
        "/search?q=chairs": page("<p>chair</p>"),
    }
    (user.directory / "kinds.py").write_text(KINDS.replace("SITE", site.url))
    user.run("crawl", "kinds", "--spider", f"kinds:{name}")
    assert items(user.directory / "items") == [{"found": "chair"}]


def test_the_guide_says_of_every_setting_that_is_not_followed_what_takes_its_place():
    named = set(re.findall(r"`([A-Z_]+)`", GUIDE))
    assert {*spider_settings.FORCED_SETTINGS, *spider_settings.EQUIVALENT_SETTINGS} - named == set()


def test_the_guide_names_no_key_that_is_not_there():
    keys = (ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8")
    for key in re.findall(r"`crawler\.(\w+)`", GUIDE):
        assert f"| `{key}` |" in keys, key
