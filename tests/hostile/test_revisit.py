"""A crawl, and then the same pages again: servers are asked whether something has changed, and the archive says what had not."""

import pytest

from tests.crawler.server import page
from tests.hostile import warc
from tests.hostile.archive import CHECKS
from tests.hostile.failing import FAILING_REVISIT
from tests.hostile.host import Exchange
from tests.hostile.project import Project
from tests.hostile.rows.robots import in_turn
from tests.hostile.rows.row import Row
from tests.hostile.seen import Played, Seen
from tests.hostile.web import Web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TOML = """
[project]
contact = "mailto:hostile@example.org"
[crawler]
min_delay = 0.01
min_ip_delay = 0
allow_networks = ["127.1.0.0/16"]
"""
DATE = "Tue, 15 Nov 1994 12:45:26 GMT"


def validated(name, value, asked, *more):
    """Answers 304 to whoever asks with the validator that it gave."""

    async def answer(exchange: Exchange):
        if exchange.header(asked) == value:
            lines = "".join(f"{line}\r\n" for line in (f"{name}: {value}", *more))
            await exchange.send(f"HTTP/1.1 304 Not Modified\r\n{lines}\r\n".encode())
        else:
            await exchange.send(page(f"a page with {name} {value}", f"{name}: {value}"))

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
                "/moving-etag": in_turn(page("one text", 'ETag: "1"'), page("one text", 'ETag: "2"')),
            },
        )
    ]


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    directory = tmp_path_factory.mktemp("again")
    with Web(rows, directory / "tls").served() as web:
        project = Project(directory / "project", web, toml=TOML)
        project.seed([web.url(web.rows[0]) + "/"], scope="host")
        project.run("crawl")
        before = len(web.hosts[web.rows[0].name].log)
        project.run("rescrape", "main")
        played = Played(
            web=web,
            project=project,
            records=project.records,
            settled=project.settled,
            leaps=[],
            stats={"reasons": {}},
            begun=0,
            ended=2**40,
        )
        yield Seen(played, web.rows[0]), before, played


def revisit(seen, path) -> warc.Record:
    found = [record for record in seen.responses(path) if record.type == "revisit"]
    assert len(found) == 1, [record.head for record in seen.responses(path)]
    return found[0]


@pytest.mark.parametrize("path", ["/etag", "/weak", "/date", "/other-head"])
def test_a_page_that_says_304_becomes_a_revisit_of_what_is_there(again, path):
    seen, before, _ = again
    record = revisit(seen, path)
    original = next(one for one in seen.responses(path) if one.type == "response")
    assert record.get("WARC-Profile").endswith("/revisit/server-not-modified")
    assert record.get("WARC-Refers-To") in {None, original.id}
    assert record.get("WARC-Refers-To-Target-URI") == original.url
    assert record.get("WARC-Refers-To-Date") == original.get("WARC-Date")
    assert record.status == 304
    later = [one for one in seen.host.log[before:] if one.path == path]
    assert len(later) == 1
    assert record.block == bytes(later[0].sent)


@pytest.mark.parametrize("path", ["/same", "/moving-etag"])
def test_the_same_bytes_become_a_revisit_without_them(again, path):
    seen, _, _ = again
    record = revisit(seen, path)
    original = next(one for one in seen.responses(path) if one.type == "response")
    assert record.get("WARC-Profile").endswith("/revisit/identical-payload-digest")
    assert record.get("WARC-Payload-Digest") == original.get("WARC-Payload-Digest")
    assert record.body == b""


@pytest.mark.parametrize("path", ["/changed", "/gone"])
def test_what_has_changed_is_a_response_again(again, path):
    seen, _, _ = again
    assert [record.type for record in seen.responses(path)] == ["response", "response"]


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
    if name in FAILING_REVISIT:
        pytest.xfail(FAILING_REVISIT[name])
    CHECKS[name](again[2])
