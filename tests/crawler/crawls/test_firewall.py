"""An exception while a response is read costs only its page, whichever call raises it."""

import logging
from collections import Counter

import pytest

import thresher.crawler.lease_handler
import thresher.crawler.lease_result
import thresher.crawler.reading.page_reading
import thresher.crawler.reading.page_response
import thresher.crawler.replay.relink
import thresher.crawler.replay.replay
import thresher.crawler.robots.robots_rules
import thresher.crawler.robots.robots_txt
import thresher.crawler.spiders.download_handler
import thresher.crawler.spiders.spider_engine
import thresher.crawler.spiders.visit
import thresher.crawler.worker
import thresher.storage.archive.archive_writer
from tests.crawler import crashing_parser
from tests.crawler.crashing_parser import UnexpectedError, fail
from tests.crawler.replay.test_replay_revisit import dead, recovered, settle_robots
from tests.crawler.server import links, page
from tests.crawler.spiders.spider_project import FOLLOW
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS
from thresher.crawler.reading.page_response import HEAVY_PAGE_BYTES
from thresher.crawler.wire.client import Client
from thresher.crawler.worker import run_worker
from thresher.frontier import Outcome
from thresher.frontier.request_state import RequestState
from thresher.storage.crawllog import log_line
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc.records import read_records

POISON = "POISON"
PAGES = 6


def poisoned(function):
    """Return the function, changed to raise if an argument contains the word."""

    def made(*arguments, **named):
        if POISON in repr((arguments, named)):
            raise UnexpectedError("of a page")
        return function(*arguments, **named)

    return made


@pytest.fixture
def poison(monkeypatch):
    def put(where, name):
        monkeypatch.setattr(where, name, poisoned(getattr(where, name)))

    return put


@pytest.fixture
def web(site):
    """Return a site of some pages, one of which has the word in every part of its response."""
    site.answers |= {f"/{number}": page(f"page {number}") for number in range(PAGES)}
    site.answers[f"/{POISON}"] = page(
        f"<p>{POISON}</p><a href=/{POISON}/x>",
        f'ETag: "{POISON}"',
        f"Retry-After: {POISON}",
        kind=f"text/html; x={POISON}",
    )
    return site


def seed(crawl, web, **fields):
    crawl.seed(*(f"{web.url}/{name}" for name in (*range(PAGES), POISON)), **fields)


def lines(crawl):
    return {
        line.url.rpartition("/")[2]: line for line in log_line.lines(DirectoryStore(crawl.root), crawl.name)
    }


def is_archived(crawl, line):
    store = DirectoryStore(crawl.root)
    with store.open(line.file) as file:
        (record,) = read_records(file, line.offset, line.offset + 1, name=line.file)
    return record.url == line.url


def check(crawl, *, archived=True):
    """Check that the page has failed with its traceback in the log, that its record is archived, and that all others were fetched."""
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:reading": 1}
    assert crawl.stats.outcomes[Outcome.FETCHED] == PAGES
    line = lines(crawl)[POISON]
    assert (line.outcome, line.reason) == ("failed", "reading")
    assert line.error.endswith("UnexpectedError: of a page")
    assert 'File "' in line.error
    assert bool(line.file) == archived
    assert not archived or is_archived(crawl, line)
    assert [each.error for path, each in lines(crawl).items() if path != POISON] == [""] * (PAGES + 1)


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (thresher.crawler.lease_handler, "leased_response"),
        (thresher.crawler.lease_handler, "judge_capture"),
        (thresher.crawler.lease_handler, "read_page"),
        (thresher.crawler.lease_handler, "decide_page"),
        (thresher.crawler.reading.page_reading, "page_response"),
        (thresher.crawler.reading.page_reading, "decode_content"),
        (thresher.crawler.reading.page_reading, "mime_of"),
        (thresher.crawler.reading.page_response, "mime_of"),
        (thresher.crawler.lease_result, "decide_settlement"),
        (thresher.crawler.lease_result, "_capture_metadata"),
        (thresher.crawler.reading.page_reading, "to_utf8"),
        (thresher.crawler.reading.page_reading, "detect_soft_error"),
        (thresher.crawler.reading.page_reading, "sketch"),
        (thresher.crawler.reading.page_reading, "extract_links"),
        (thresher.crawler.reading.page_reading, "link_targets"),
        (thresher.crawler.reading.page_reading, "rights"),
        (thresher.crawler.lease_result, "settlement_for"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_an_exception_costs_one_page(crawl, web, poison, caplog, where, name):
    poison(where, name)
    seed(crawl, web)
    with caplog.at_level(logging.WARNING):
        run_worker(crawl.config("w", obey=("nofollow", "noarchive")))
    check(crawl)
    assert f"/{POISON}: reading: UnexpectedError: of a page (" in caplog.text
    assert Counter(web.paths)[f"/{POISON}"] == 1


@pytest.mark.parametrize("where", [HEAVY_PAGE_BYTES, 0], ids=["heavy", "orphan"])
def test_an_exception_in_the_page_process_costs_one_page(crawl, web, monkeypatch, where):
    monkeypatch.setattr(thresher.crawler.lease_handler, "read_and_decide", fail)
    if where:
        web.answers[f"/{POISON}"] = page(POISON + " " * where)
    else:
        is_heavy = property(lambda response: POISON.encode() in response.body)
        monkeypatch.setattr(thresher.crawler.reading.page_response.PageResponse, "is_heavy", is_heavy)
    seed(crawl, web)
    run_worker(crawl.config("w"))
    check(crawl)
    assert "in fail" in lines(crawl)[POISON].error


@pytest.mark.parametrize("name", ["get", "_request", "_exchange_on"])
def test_an_exception_before_the_response_costs_one_page(crawl, web, monkeypatch, name):
    whole = getattr(Client, name)

    def made(client, where, *arguments, **named):
        if POISON in str(getattr(where, "url", where)):
            raise UnexpectedError("of a page")
        return whole(client, where, *arguments, **named)

    monkeypatch.setattr(Client, name, made)
    seed(crawl, web)
    run_worker(crawl.config("w"))
    check(crawl, archived=False)


def test_an_exception_over_a_stored_request_state_costs_one_page(crawl, web, poison):
    poison(thresher.crawler.lease_handler, "conditional_headers")
    web.answers[f"/{POISON}"] = page("x")
    known = RequestState(etag=POISON, digest="x", date_ms=1)
    crawl.seed(*(f"{web.url}/{number}" for number in range(PAGES)))
    crawl.seed(f"{web.url}/{POISON}", state=known)
    run_worker(crawl.config("w"))
    check(crawl, archived=False)


def test_a_record_that_cannot_be_written_costs_one_page(crawl, web, poison):
    poison(thresher.storage.archive.archive_writer, "capture_records")
    seed(crawl, web)
    run_worker(crawl.config("w"))
    assert crawl.stats.reasons == {"failed:no_record": 1}
    assert crawl.stats.outcomes[Outcome.FETCHED] == PAGES
    assert lines(crawl)[POISON].error.endswith("UnexpectedError: of a page")


def test_a_full_disk_ends_the_worker(crawl, web, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(thresher.crawler.lease_handler, "decide_page", full)
    seed(crawl, web)
    with pytest.raises(OSError, match="No space left"):
        run_worker(crawl.config("w"))
    assert not any(crawl.stats.outcomes.values())


@pytest.mark.parametrize("name", ["parse_rules", "decode_content", "redirect_target"])
def test_a_robots_txt_whose_reading_raises_forbids_its_pages_and_is_archived(crawl, web, monkeypatch, name):
    web.answers["/robots.txt"] = page("User-agent: *\nDisallow: /x", kind="text/plain")
    monkeypatch.setattr(thresher.crawler.robots.robots_txt, name, fail)
    seed(crawl, web)
    run_worker(crawl.config("w"))
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:reading": PAGES + 1}
    line = lines(crawl)["robots.txt"]
    assert (line.outcome, line.reason) == ("failed", "reading")
    assert "in fail" in line.error
    assert is_archived(crawl, line)
    assert web.paths == {"/robots.txt": 1}


def test_rules_that_raise_for_a_page_cost_that_page(crawl, web, poison):
    web.answers["/robots.txt"] = page("User-agent: *\nDisallow: /x", kind="text/plain")
    poison(thresher.crawler.robots.robots_rules.ParsedRobots, "allows")
    seed(crawl, web)
    run_worker(crawl.config("w"))
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:reading": 1}
    assert crawl.stats.outcomes[Outcome.FETCHED] == PAGES


def test_a_sitemap_whose_reading_raises_fails(crawl, web, monkeypatch):
    web.answers["/robots.txt"] = page("Sitemap: /map.xml", kind="text/plain")
    web.answers["/map.xml"] = page("<urlset/>", kind="text/xml")
    monkeypatch.setattr(thresher.crawler.reading.page_reading, "read_sitemap", fail)
    web.answers[f"/{POISON}"] = page("x")
    seed(crawl, web)
    run_worker(crawl.config("w"))
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:reading": 1}
    assert lines(crawl)["map.xml"].reason == "reading"
    assert is_archived(crawl, lines(crawl)["map.xml"])


@pytest.mark.parametrize("raises", ["page_settlement", "archived_response"])
def test_a_page_whose_reading_raises_is_settled_by_a_recovery(crawl, web, monkeypatch, raises):
    crawl.seed(f"{web.url}/1")
    settle_robots(crawl)
    archive, _ = dead(crawl, "dead", pages=1)
    archive.seal()
    monkeypatch.setattr(thresher.crawler.replay.replay, raises, fail)
    assert recovered(crawl) == 1
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:reading": 1}
    assert "in fail" in lines(crawl)["1"].error


def test_a_robots_txt_whose_reading_raises_is_settled_by_a_recovery(crawl, web, monkeypatch):
    crawl.seed(f"{web.url}/1")
    archive, _ = dead(crawl, "dead", pages=1)
    archive.seal()
    monkeypatch.setattr(thresher.crawler.replay.replay, "_read_archived_hop", fail)
    assert recovered(crawl) == 1
    assert lines(crawl)["robots.txt"].reason == "reading"
    run_worker(crawl.config("w"))
    assert crawl.stats.reasons == {"failed:reading": 1}


@pytest.mark.parametrize(
    "ends", [crashing_parser.raising, crashing_parser.page_settlement], ids=["raises", "dies"]
)
def test_a_frontier_is_rebuilt_from_an_archive_with_an_unreadable_page(crawl, site, monkeypatch, ends):
    site.answers["/0"] = page(crashing_parser.MARK + b"<a href=/a>")
    site.answers["/1"] = links("/b")
    crawl.seed(f"{site.url}/0", f"{site.url}/1", max_depth=1)
    run_worker(crawl.config("w"))
    store = DirectoryStore(crawl.root)
    (name,) = (name for name in store.list(f"warc/{crawl.name}/") if name.endswith(".warc.gz"))
    logged = {line.record: line for line in log_line.lines(store, crawl.name)}

    async def led(_):
        found = thresher.crawler.replay.relink.archived_links(store, name, logged, options=DEFAULT_OPTIONS)
        return sorted([each.url.text.removeprefix(site.url) async for some in found for each in some])

    assert crawl.ask(led) == ["/a", "/b"]
    monkeypatch.setattr(thresher.crawler.replay.replay, "page_settlement", ends)
    assert crawl.ask(led) == ["/b"]


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (thresher.crawler.spiders.download_handler, "scrapy_response"),
        (thresher.crawler.spiders.spider_engine, "visit_result"),
        (thresher.crawler.lease_handler, "decide_page"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__.rpartition(".")[2],
)
def test_an_exception_costs_one_page_of_a_spider(crawl, web, poison, project, where, name):
    poison(where, name)
    web.answers[f"/{POISON}"] = page(f"<p>{POISON}</p><a href=/1>x</a>", f'ETag: "{POISON}"')
    seed(crawl, web)
    run_worker(crawl.config("w", spider=project.spider_spec(FOLLOW)))
    check(crawl)


class Browser:
    """A renderer that fails at one page."""

    async def start(self):
        pass

    async def render_page(self, lease, *_):
        return fail() if POISON in lease.url.text else None

    async def close(self):
        pass


def test_an_exception_while_rendering_costs_one_page(crawl, web, monkeypatch):
    monkeypatch.setattr(thresher.crawler.worker, "_renderer", lambda *_: Browser())
    seed(crawl, web)
    run_worker(crawl.config("w"))
    check(crawl)
