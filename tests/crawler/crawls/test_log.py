"""A crawl's log has every settled page once, with its outcome and all that is needed to request it again."""

import json
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawler.crawls.test_crawl import SPAWN, everybody, slowly, start, wait_for, web
from tests.crawler.server import links, page, redirect
from tests.storage.captures import RECORD_ID, capture
from thresher.core import CorruptData
from thresher.crawler.log_entry import conclusion_line, discovery_from_line
from thresher.crawler.machine.system import System
from thresher.crawler.replay.outbox import OutboxRelay
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.frontier import Discovery, FrontierSettlement, Outcome, Scope, canonicalize
from thresher.frontier.request_state import RequestState
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.crawllog import log_line
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests
from thresher.storage.warc.records import read_records

BROKEN = page("", status="500 Internal Server Error")


def logged(crawl):
    return list(log_line.lines(DirectoryStore(crawl.root), crawl.name))


def by_path(crawl, site):
    return {line.url.removeprefix(site.url): line for line in logged(crawl)}


def test_every_page_has_a_line_with_its_outcome(crawl, site):
    site.answers |= {
        "/": links("/a", "/moved", "/none", "/private/x"),
        "/a": page("a" * 100),
        "/moved": redirect("/moved/here"),
        "/moved/here": page("here"),
        "/robots.txt": page("User-agent: *\nDisallow: /private", kind="text/plain"),
    }
    crawl.seed(f"{site.url}/", max_depth=4)
    before = int(time.time() * 1000)
    run_worker(crawl.config("w"))
    found = by_path(crawl, site)
    assert {path: (line.outcome, line.reason, line.status) for path, line in found.items()} == {
        "/robots.txt": ("fetched", "rules", 200),
        "/": ("fetched", "", 200),
        "/a": ("fetched", "", 200),
        "/moved": ("redirected", "", 301),
        "/moved/here": ("fetched", "", 200),
        "/none": ("gone", "status_404", 404),
        "/private/x": ("refused", "robots", None),
    }
    assert len(logged(crawl)) == len(found)
    assert {
        path: line.referrer.removeprefix(site.url) for path, line in found.items() if line.kind == "page"
    } == {
        "/": "",
        "/a": "/",
        "/moved": "/",
        "/moved/here": "/moved",
        "/none": "/",
        "/private/x": "/",
    }
    assert found["/a"].bytes == len(site.answers["/a"])
    assert (found["/private/x"].bytes, found["/private/x"].ms) == (0, None)
    assert all(before <= line.time_ms <= time.time() * 1000 for line in found.values())
    asked = discovery_from_line(found["/moved/here"])
    assert (str(asked.scope), asked.depth, asked.max_depth, asked.hops) == ("host:127.0.0.1", 1, 4, 1)
    (manifest,) = manifests(DirectoryStore(crawl.root), "log", crawl.name)
    assert manifest.counts == {"fetched": 3, "redirected": 1, "gone:status_404": 1, "refused:robots": 1}


def test_a_line_says_where_its_record_is(crawl, site):
    site.answers |= {"/": links("/a"), "/a": page("a")}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    store = DirectoryStore(crawl.root)
    for line in logged(crawl):
        with store.open(line.file) as file:
            (record,) = read_records(file, line.offset, line.offset + 1, name=line.file)
        assert (record.record_id, record.url) == (line.record, line.url)


def test_an_attempt_before_the_last_is_logged_as_a_retry(crawl, site):
    site.answers["/"] = BROKEN
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    lines = [line for line in logged(crawl) if line.kind == "page"]
    assert [(line.outcome, line.reason, line.attempt) for line in lines] == [
        ("retry", "status_500", 0),
        ("retry", "status_500", 1),
        ("failed", "status_500", 2),
    ]
    assert [line.is_final for line in lines] == [False, False, True]
    assert crawl.stats.reasons == {"failed:status_500": 1}


def test_a_page_without_a_response_is_logged_without_a_record(crawl, names):
    crawl.seed("http://nowhere.test/")
    run_worker(crawl.config("w", max_time_s=1.0))
    lines = logged(crawl)
    assert {(line.kind, line.outcome, line.reason) for line in lines} == {("robots", "retry", "dns")}
    assert {(line.bytes, line.file) for line in lines} == {(0, "")}


@pytest.mark.slow
@pytest.mark.parametrize("after", [30, 120])
def test_every_settled_page_is_in_the_log_after_a_kill(crawl, site, after):
    """Every archived page is in the log, and every page that the log says was fetched is archived."""
    site.fallback = slowly(web(200), 0.01)
    crawl.seed(f"{site.url}/0")
    process = start(crawl.config("burnt", concurrency=16))
    wait_for(lambda: crawl.stats.outcomes["fetched"] > after)
    process.kill()
    process.join()
    store = DirectoryStore(crawl.root)
    crawl.ask(lambda frontier: recover(store, frontier, everybody, crawl=crawl.name))
    settled = crawl.stats.outcomes["fetched"]
    lines = [line for line in logged(crawl) if line.kind == "page"]
    assert len({line.url for line in lines}) >= settled
    records = set()
    for name in store.list(f"warc/{crawl.name}/"):
        if name.endswith(".warc.gz"):
            with store.open(name) as file:
                records |= {r.record_id for r in read_records(file, name=name) if r.type == "response"}
    assert records <= {line.record for line in logged(crawl)}
    assert not list((crawl.root / "log" / crawl.name / ".open").iterdir())
    worker = SPAWN.Process(target=run_worker, args=(crawl.config("next"),))
    worker.start()
    worker.join(60)
    every = Counter(line.url for line in logged(crawl) if line.is_final)
    assert len(every) == 200
    assert sum(every.values()) - 200 <= 64  # pages that were settled from the archive may have two lines


def test_no_record_reaches_the_disk_before_its_line(tmp_path):
    """Every record that a kill leaves in the archive has its line in the log: `before_sync` is called first, every time."""
    store, events = DirectoryStore(tmp_path), []
    archive = ArchiveWriter(
        store,
        "main",
        writer="w",
        user_agent="t",
        max_bytes=3 << 20,
        before_sync=lambda: events.append("line"),
    )

    class Watched:
        def __init__(self, inner):
            self.inner = inner

        def write(self, data, at):
            events.append("record")
            self.inner.write(data, at)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    for number in range(12):
        archive.append(capture(bytes([number]) * (600 << 10) if number % 2 else b"x"), RECORD_ID)
        assert archive._open
        if not isinstance(archive._open.unfinished, Watched):
            archive._open.unfinished = Watched(archive._open.unfinished)
    archive.commit()
    archive.seal()
    assert "record" in events
    assert all(before == "line" for before, now in pairwise(events) if now == "record")


# The outbox


def test_the_outbox_is_logged_when_it_is_full_or_old(crawl, monkeypatch):
    store, now = DirectoryStore(crawl.root), [0.0]
    monkeypatch.setattr("thresher.crawler.replay.outbox.BATCH_PAGES", 20)

    async def drop(frontier, urls):
        found = [canonicalize(url) for url in urls]
        await frontier.add([Discovery(url=url, scope=Scope.of("host", url)) for url in found])
        await frontier.operator.drop(Scope.parse(f"host:{found[0].host}"))

    async def told(frontier):
        log = OutboxRelay(frontier, frontier.tail(store), store, crawl.name, System(clock=lambda: now[0]))
        await drop(frontier, ["http://a.test/1"])
        first = await log.log_due()
        now[0] += 29
        second = await log.log_due()
        now[0] += 2
        third = await log.log_due()
        await drop(frontier, [f"http://b.test/{i}" for i in range(50)])
        now[0] += 2
        fourth = [await log.log_due(), await log.log_due(), await log.log_due()]
        return [first, second, third], fourth, await log.log_all()

    few, many, rest = crawl.ask(told)
    assert few == [0, 0, 1]
    assert many == [20, 20, 0]
    assert rest == 10
    lines = logged(crawl)
    assert {(line.outcome, line.reason) for line in lines} == {("refused", "dropped")}
    assert len({line.url for line in lines}) == len(lines) == 51
    assert crawl.stats.unlogged == 0


def test_the_outbox_survives_the_process_that_logs_it(crawl, monkeypatch):
    store = DirectoryStore(crawl.root)

    async def interrupted(frontier):
        url = canonicalize("http://a.test/1")
        await frontier.add([Discovery(url=url, scope=Scope.of("host", url))])
        await frontier.operator.drop(Scope.parse("host:a.test"))
        await frontier.unlogged_batch()  # read, and never acknowledged
        return (await frontier.stats()).unlogged

    assert crawl.ask(interrupted) == 1
    crawl.ask(lambda frontier: OutboxRelay(frontier, frontier.tail(store), store, crawl.name).log_all())
    assert [line.url for line in logged(crawl)] == ["http://a.test/1"]


# The request of a line

texts = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)
STATES = st.builds(
    RequestState, kind=st.sampled_from(["page", "seeds"]), etag=texts, chain=st.binary(max_size=40)
)


@given(
    st.builds(
        Discovery,
        url=st.sampled_from(["http://a.test/%7e/x?b=1", "https://b.test:8443/é", "http://a.test/"]).map(
            canonicalize
        ),
        scope=st.sampled_from(["any", "host:a.test", "domain:b.test", "prefix:http://a.test/x"]).map(
            Scope.parse
        ),
        depth=st.integers(0, 9),
        max_depth=st.none() | st.integers(0, 9),
        hops=st.integers(0, 9),
        referrer=texts,
        priority=st.integers(-9, 9),
        generation=st.integers(0, 1 << 45),
        interval_s=st.integers(0, 1 << 20),
        listed=st.booleans(),
        again=st.integers(0, 1 << 60),
        state=STATES,
    )
)
def test_a_line_has_all_that_the_frontier_knew(found):
    page = FrontierSettlement(discovery=found, attempt=1, outcome=Outcome.FAILED, reason="dns", at_ms=1)
    line = conclusion_line(page)
    assert discovery_from_line(line) == found
    assert discovery_from_line(log_line.decode(log_line.encode(line))) == found
    assert json.loads(log_line.encode(line))["request"].keys() <= {
        *("identity", "scope", "depth", "max_depth", "hops", "priority", "generation", "interval_s", "note"),
        *("listed", "again"),
    }


@pytest.mark.parametrize(
    "broken",
    [
        {"url": "no address"},
        {"request": {"scope": "nowhere"}},
        {"request": {"scope": "any", "depth": -1}},
        {"request": {"scope": "any", "note": "!"}},
        {"request": {"scope": "any", "colour": 1}},
        {"request": {}},
        {"request": []},
    ],
)
def test_a_line_without_a_request_that_can_be_repeated_is_an_error(broken):
    line = log_line.LogLine(
        time_ms=1, url="http://a.test/", kind="page", outcome="failed", request={"scope": "any"}
    )
    with pytest.raises(CorruptData, match="has no request that can be repeated"):
        discovery_from_line(replace(line, **broken))
