"""A crawl, and then the same pages again: the crawler asks servers whether a page has changed, and the archive names
the unchanged ones.
"""

import asyncio
import time
from contextlib import closing
from typing import Any

import pytest
from redis import Redis

from tests.crawler.server import page
from tests.expect import expect
from tests.hostile import warc
from tests.hostile.archive import CHECKS
from tests.hostile.host import Exchange
from tests.hostile.observed import CrawlRun, RowObservation
from tests.hostile.project import Project
from tests.hostile.rows.answers import in_turn
from tests.hostile.rows.row import Row
from tests.hostile.web import Web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1000)]
TOML = """
[project]
contact = "mailto:hostile@example.org"
[crawler]
min_delay = 0.01
min_ip_delay = 0
allow_networks = ["127.1.0.0/16"]
"""
DATE = "Tue, 15 Nov 1994 12:45:26 GMT"


TWIN = " ".join(f"the same words on two pages, line {n}" for n in range(100))


def later(answer):
    """Return an answer that comes once the records of earlier requests are durable."""

    async def wait(exchange: Exchange):
        await asyncio.sleep(0.5)
        if callable(answer):
            await answer(exchange)
        else:
            await exchange.send(answer)

    return wait


def validated(name, value, asked, *more, text="a page that says what it is"):
    """Answer 304 to a request with the validator that was given."""

    async def answer(exchange: Exchange):
        if exchange.header(asked) == value:
            lines = "".join(f"{line}\r\n" for line in (f"{name}: {value}", *more))
            await exchange.send(f"HTTP/1.1 304 Not Modified\r\n{lines}\r\n".encode())
        else:
            await exchange.send(page(f"{text} {name} {value}", f"{name}: {value}"))

    return answer


def rows(_):
    return [
        Row(
            number=52,
            name="pages that are asked for again",
            answers={
                "/etag": validated("ETag", '"abc"', "If-None-Match"),
                "/weak": validated("ETag", 'W/"abc"', "If-None-Match"),
                "/date": validated("Last-Modified", DATE, "If-Modified-Since"),
                "/other-head": validated(
                    "ETag", '"abc"', "If-None-Match", "X-New: yes", "Content-Type: text/odd"
                ),
                "/same": page("the same bytes, and no validator"),
                "/changed": in_turn(page("before", 'ETag: "1"'), page("after, and longer", 'ETag: "2"')),
                "/gone": in_turn(page("was here"), page("gone", status="404 Not Found")),
                "/twin-a": page(TWIN),
                "/twin-b": later(page(TWIN)),
                "/tagged-a": validated("ETag", '"twin"', "If-None-Match", text=TWIN[::-1]),
                "/tagged-b": later(validated("ETag", '"twin"', "If-None-Match", text=TWIN[::-1])),
                "/moving-etag": in_turn(page("one text", 'ETag: "1"'), page("one text", 'ETag: "2"')),
            },
        )
    ]


@pytest.fixture(scope="module", params=["rescrape", "visits"])
def again(tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("again")
    with Web(rows, directory / "tls").served() as web:
        project = Project(directory / "project", web, toml=TOML)
        begun = time.time()
        seeds = [web.url(web.rows[0]) + "/"]
        with project.frontier() as address:
            if request.param == "rescrape":
                project.seed(seeds, scope="host")
                project.run("crawl")
                before = len(web.hosts[web.rows[0].name].log)
                project.run("rescrape", "main")
            else:
                project.seed(seeds, scope="host", more=("--revisit", "2h"))
                project.run("crawl")
                before = len(web.hosts[web.rows[0].name].log)
                for _ in range(2):  # the second time what the first has written down is the truth
                    due(address)
                    project.run("crawl")
        played = CrawlRun(
            web=web,
            project=project,
            records=project.records,
            settled=project.settled,
            leaps=[],
            stats={"reasons": {}},
            begun=begun,
            ended=time.time(),
        )
        yield RowObservation(played, web.rows[0]), before, played


def due(address: str) -> None:
    """Make every page that is visited again due."""
    with closing(Redis(unix_socket_path=address.removeprefix("unix://"))) as redis:
        for key in redis.scan_iter("*visits"):
            members: Any = redis.zrange(key, 0, -1)
            redis.zadd(key, dict.fromkeys(members, 1))


def revisits(seen, path) -> list[warc.Record]:
    found = seen.responses(path)
    assert [record.type for record in found] == ["response", *["revisit"] * (len(found) - 1)]
    assert len(found) > 1
    return found[1:]


@pytest.mark.parametrize("path", ["/etag", "/weak", "/date", "/other-head"])
def test_a_page_that_says_304_becomes_a_revisit_of_what_is_there(again, path):
    seen, before, _ = again
    original = seen.responses(path)[0]
    later = [one for one in seen.host.log[before:] if one.path == path]
    for record, exchange in zip(revisits(seen, path), later, strict=True):
        assert expect(str, record.get("WARC-Profile")).endswith("/revisit/server-not-modified")
        assert record.get("WARC-Refers-To") == original.id
        assert record.get("WARC-Refers-To-Target-URI") == original.url
        assert record.get("WARC-Refers-To-Date") == original.get("WARC-Date")
        assert record.status == 304
        assert record.block == bytes(exchange.sent)


@pytest.mark.parametrize("path", ["/same", "/moving-etag"])
def test_the_same_bytes_become_a_revisit_without_them(again, path):
    seen, _, _ = again
    original = seen.responses(path)[0]
    for record in revisits(seen, path):
        assert expect(str, record.get("WARC-Profile")).endswith("/revisit/identical-payload-digest")
        assert record.get("WARC-Payload-Digest") == original.get("WARC-Payload-Digest")
        assert record.body == b""


@pytest.mark.parametrize("twin", ["twin", "tagged"])
def test_a_page_that_came_as_another_did_is_a_revisit_of_a_response(again, twin):
    """A page that comes only once is a revisit of the other page; one that is visited again, of its own first
    response.
    """
    seen, _, _ = again
    records = [*seen.responses(f"/{twin}-a"), *seen.responses(f"/{twin}-b")]
    first, others = records[0], records[1:]
    assert first.type == "response"
    responses = {record.id: record.url for record in [first, *others] if record.type == "response"}
    for record in others:
        if record.type == "revisit":
            assert responses[record.get("WARC-Refers-To")] == record.get("WARC-Refers-To-Target-URI")


@pytest.mark.parametrize("path", ["/changed", "/gone"])
def test_what_has_changed_is_a_response_again(again, path):
    seen, _, _ = again
    assert [record.type for record in seen.responses(path)][:2] == ["response", "response"]


def test_whoever_has_no_copy_asks_for_none(again):
    seen, before, _ = again
    assert not [
        one
        for one in seen.host.log[:before]
        if one.header("if-none-match") or one.header("if-modified-since")
    ]


@pytest.mark.parametrize(
    "name",
    [
        "revisits lead to responses that are there",
        "the index leads to every response",
        "every response has its request and says so",
        "block digests are of the blocks",
        "fastwarc checks every file",
        "warcio reads every record",
        "nothing is half visible",
    ],
)
def test_archive(again, name):
    CHECKS[name](again[2])
