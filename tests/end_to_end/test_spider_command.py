"""A user's own spider, as the command runs it; the guide's example is the one that is run."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.crawler.crawls.test_crawl import slowly, web
from tests.crawler.server import Server, page
from tests.end_to_end.conftest import ROOT, User, kill_tree, wait_until

GUIDE = (ROOT / "docs/guides/spiders.md").read_text(encoding="utf-8")
FOLLOW = """
import scrapy
from scrapy.exceptions import CloseSpider

class Follow(scrapy.Spider):
    name = "follow"
    custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}
    last = None

    async def start(self):
        yield scrapy.Request(self.first)

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
        if self.last and response.url.endswith(self.last):
            raise CloseSpider("enough")
"""


@pytest.fixture
def user(calling_user):
    return calling_user


@pytest.fixture
def site():
    with Server().in_thread() as server:
        yield server


def items(directory):
    return [
        json.loads(line)
        for path in sorted(directory.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


@pytest.mark.slow
def test_the_guides_example_does_what_the_guide_says(user, site):
    files = re.findall(r"`(shop/\w+\.py)`:\n\n```python\n(.*?)```", GUIDE, re.DOTALL)
    assert len(files) == 4
    for name, text in files:
        path = Path(user.directory, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for number in range(1, 4):
        products = "".join(f'<a class="product" href="/{number}-{n}">x</a>' for n in range(5))
        following = f'<a class="next" href="/list/{number + 1}">next</a>' if number < 3 else ""
        site.answers[f"/list/{number}"] = page(f'{products}<a href="/about">us</a>{following}')
        for n in range(5):
            price = f'<p class="price">{number}.{n}9</p>' if n else ""
            site.answers[f"/{number}-{n}"] = page(f"<h1>Thing {number}-{n}</h1>{price}")
    command = re.findall(r"\nthresher (crawl shop .* --workers 2)\n", GUIDE)[0]
    words = command.replace("https://shop.example/", f"{site.url}/list/1").split()
    for turn in range(2):
        stats = user.run(*words, "--json").json
        assert stats["drained"]
        assert stats["outcomes"]["fetched"] == 18, turn
    found = items(user.directory / "prices")
    assert len(found) == 12
    assert {
        "url": f"{site.url}/2-3",
        "name": "Thing 2-3",
        "price": "2.39",
        "listed_on": f"{site.url}/list/2",
        "cents": 239,
    } in found
    assert "/about" not in site.paths
    assert set(site.paths.values()) == {1}
    assert all(b"Accept-Language: de" in raw for raw in site.requests if b"robots" not in raw.split(b" ")[1])


@pytest.mark.slow
def test_killed_with_all_its_processes_the_same_command_goes_on_and_every_item_is_there(user, site):
    (user.directory / "follow.py").write_text(FOLLOW)
    site.fallback = slowly(web(80), 0.01)
    words = ("crawl", "x", "--spider", "follow:Follow", "-a", f"first={site.url}/0", "--workers", "2")
    process = user.start(*words)
    assert wait_until(lambda: len(site.requests) > 25, process)
    kill_tree(process)
    stats = user.run(*words, "--json").json
    assert stats["drained"]
    assert stats["outcomes"]["fetched"] == 80
    found = Counter(item["url"].rpartition("/")[2] for item in items(user.directory / "items"))
    assert set(found) == {str(n) for n in range(80)}
    assert found.total() - 80 <= 2 * 64


@pytest.mark.slow
def test_a_spider_that_has_had_enough_ends_the_crawl_for_all_workers(user, site):
    (user.directory / "follow.py").write_text(FOLLOW)
    site.fallback = slowly(web(2000), 0.02)
    arguments = ("-a", f"first={site.url}/0", "-a", "last=/7")
    said = user.run("crawl", "x", "--spider", "follow:Follow", *arguments, "--workers", "2", "--json")
    assert not said.json["drained"]
    assert said.json["leased"] == 0
    assert said.json["outcomes"]["fetched"] < 2000


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_fleet_runs_a_spider_until_everything_is_fetched_or_the_spider_has_had_enough(user, site):
    (user.directory / "follow.py").write_text(FOLLOW)
    site.fallback = web(40)
    words = ("--spider", "follow:Follow", "-a", f"first={site.url}/0", "--crawlers", "2")
    user.run("fleet", "start", "x", *words, "--until-drained")
    (source,) = user.run("status", "--json").json["sources"]
    assert source["frontier"]["drained"]
    assert {item["url"] for item in items(user.directory / "items")} == {f"{site.url}/{n}" for n in range(40)}

    site.fallback = slowly(web(2000), 0.02)
    ended = user.run("fleet", "start", "y", *words, "-a", "last=/7")
    assert "ended: its spider has closed the crawl" in ended.err
    (_, source) = user.run("status", "--json").json["sources"]
    assert not source["frontier"]["drained"]
    assert source["frontier"]["leased"] == 0
    assert source["frontier"]["outcomes"]["fetched"] < 2000


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-a", "x=1"], "name it with --spider"),
        (["--spider", "follow:Follow", "-a", "x"], "give NAME=VALUE"),
        (["--spider", "follow:Nobody"], "has no such class"),
        (["--spider", "follow:Follow"], "AttributeError: 'Follow' object has no attribute 'first'"),
    ],
)
def test_what_is_wrong_with_a_spider_is_one_line(user, words, why):
    (user.directory / "follow.py").write_text(FOLLOW)
    assert why in user.run("crawl", "x", *words, code=2).line


def test_settings_that_the_crawl_decides_are_named_in_one_line(user, site):
    (user.directory / "follow.py").write_text(FOLLOW)
    settings = "ROBOTSTXT_OBEY = False\nDOWNLOAD_DELAY = 3\nRETRY_ENABLED = True\nMY_OWN = 1\n"
    (user.directory / "own.py").write_text(settings)
    site.answers["/"] = page("x")
    words = ("--spider", "follow:Follow", "--settings", "own", "-a", f"first={site.url}/")
    said = User(user.directory).run("crawl", "x", *words)
    (line,) = [line for line in said.err.splitlines() if "the crawl decides these settings" in line]
    assert line.endswith(": DOWNLOAD_DELAY, ROBOTSTXT_OBEY")
