"""A page that kills its reader costs only itself, and at most one worker."""

import asyncio
import gzip
import os
import signal
import stat
import time
from contextlib import suppress
from multiprocessing import get_context

import pytest

import thresher.crawler.lease_handler
import thresher.crawler.reading.page_reading
import thresher.crawler.replay.replay
from tests.crawler import crashing_parser
from tests.crawler.crawls.test_crawl import everybody, slowly
from tests.crawler.crawls.test_firewall import lines
from tests.crawler.reading.test_page_reading import HTML, capture
from tests.crawler.replay.test_replay_revisit import dead, settle_robots
from tests.crawler.server import page
from thresher.core import Failure
from thresher.crawler.page_process import PageProcess
from thresher.crawler.reading.page_reading import page_response
from thresher.crawler.reading.page_response import HEAVY_PAGE_BYTES, HEAVY_PAGE_LINKS
from thresher.crawler.replay.replay import recover
from thresher.crawler.wire.client import Client
from thresher.crawler.worker import run_worker
from thresher.frontier import Kind, Outcome
from thresher.storage.directory_store import DirectoryStore

FORK = get_context("fork")
"""So that the process of a test reads pages as the test has it."""
DEADLY = crashing_parser.MARK


def fail():
    raise ValueError("no")


def exhaust():
    raise MemoryError


def lie():
    return "a text"


def stall(begin):
    """Begin an answer, and never end it."""
    (pipe,) = (number for number in range(3, 64) if is_socket(number))
    os.write(pipe, begin)
    time.sleep(600)


def is_socket(number):
    with suppress(OSError):
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    return False


@pytest.fixture
def process():
    process = PageProcess(timeout_s=5)
    yield process
    process.close()


async def test_work_is_done_in_another_process(process):
    assert await process.call(os.getpid, returns=int) != os.getpid()


@pytest.mark.parametrize("end", [crashing_parser.die, exhaust, os.abort])
async def test_a_process_that_dies_is_replaced(process, end):
    assert await process.call(end, returns=int) is None
    assert await process.call(abs, -1, returns=int) == 1


async def test_a_process_that_hangs_is_ended(process):
    process._timeout_s = 0.5
    assert await process.call(time.sleep, 600, returns=int) is None
    process._timeout_s = 5
    assert await process.call(abs, -1, returns=int) == 1


@pytest.mark.parametrize("begin", [b"\0\0\1\0", pytest.param(b"\0\0", marks=pytest.mark.slow)])
async def test_a_process_that_does_not_finish_its_answer_is_ended(process, begin):
    await process.call(abs, -1, returns=int)
    process._timeout_s = 0.5
    assert await asyncio.wait_for(process.call(stall, begin, returns=int), 10) is None
    process._timeout_s = 5
    assert await process.call(abs, -1, returns=int) == 1


async def test_a_process_that_does_not_read_its_pipe_is_ended(process):
    await process.call(abs, -1, returns=int)
    os.kill(await process.call(os.getpid, returns=int), signal.SIGSTOP)
    process._timeout_s = 0.5
    question = b"x" * (16 << 20)  # more bytes than a pipe holds
    assert await asyncio.wait_for(process.call(len, question, returns=int), 10) is None
    process._timeout_s = 5
    assert await process.call(abs, -1, returns=int) == 1


async def test_a_process_that_died_between_two_pages_costs_no_page(process):
    os.kill(await process.call(os.getpid, returns=int), signal.SIGKILL)
    await asyncio.sleep(0.2)
    assert await process.call(abs, -1, returns=int) == 1


async def test_an_exception_of_the_work_is_raised_with_its_traceback(process):
    with pytest.raises(
        Failure, match=r"reading: ValueError: no \(page_process\.py:\d+ > test_page_process\.py:\d+\)"
    ) as raised:
        await process.call(fail, returns=int)
    assert raised.value.traceback.endswith("ValueError: no")
    assert await process.call(abs, -1, returns=int) == 1


async def test_a_value_of_another_type_is_refused(process):
    assert await process.call(lie, returns=int) is None
    assert await process.call(abs, -1, returns=int) == 1


async def test_calls_at_the_same_time_are_answered_each_with_its_own(process):
    answers = await asyncio.gather(*(process.call(abs, -n, returns=int) for n in range(20)))
    assert answers == list(range(20))


def is_heavy(body):
    return page_response(capture(body, HTML)).is_heavy


def test_long_pages_and_those_of_many_links_are_heavy():
    assert is_heavy(b"x" * (HEAVY_PAGE_BYTES + 1))
    assert is_heavy(b"<a href=x" * (HEAVY_PAGE_LINKS + 1))
    assert is_heavy(b"<IFRAME/src=x>" * (HEAVY_PAGE_LINKS + 1))
    assert not is_heavy(b"x" * HEAVY_PAGE_BYTES)
    assert not is_heavy(b"<a href=x>" * HEAVY_PAGE_LINKS + b"<abbr>" * 20_000)


@pytest.fixture
def deadly(monkeypatch):
    """Let every process die that looks for the links of a marked page."""
    monkeypatch.setattr(thresher.crawler.reading.page_reading, "extract_links", crashing_parser.links)
    monkeypatch.setattr(thresher.crawler.reading.page_reading, "read_sitemap", crashing_parser.read_sitemap)
    monkeypatch.setattr(thresher.crawler.lease_handler, "read_hop", crashing_parser.read_hop)
    monkeypatch.setattr(thresher.crawler.lease_handler, "read_and_decide", crashing_parser.read_and_decide)
    monkeypatch.setattr(thresher.crawler.replay.replay, "page_settlement", crashing_parser.page_settlement)


def life(config):
    process = FORK.Process(target=run_worker, args=(config,))
    process.start()
    process.join(60)
    return process.exitcode


def test_a_deadly_page_kills_one_worker_and_fails(crawl, site, deadly):
    others = "".join(f"<a href=/{n}>" for n in range(20))
    site.answers["/"] = page(f"<a href=/deadly>{others}")
    site.answers["/deadly"] = page(DEADLY.decode())
    for n in range(20):
        site.answers[f"/{n}"] = page(f"page {n}")
    crawl.seed(f"{site.url}/")

    async def gone(workers):
        return workers

    assert life(crawl.config("w1")) == -signal.SIGSEGV
    crawl.ask(lambda frontier: recover(DirectoryStore(crawl.root), frontier, gone, crawl=crawl.name))
    assert life(crawl.config("w2")) == 0
    assert crawl.stats.reasons == {"failed:parser_crash": 1}
    assert crawl.stats.outcomes[Outcome.FETCHED] == 21
    assert crawl.stats.is_drained


def everything(crawl, crashed):
    """Recover the leases and files of all workers."""
    crawl.ask(
        lambda frontier: recover(
            DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name, crashed_workers=crashed
        )
    )


def test_a_deadly_robots_txt_kills_one_worker_and_forbids_its_pages(crawl, site, deadly):
    """It is read in another process from then on. Nobody knows what it allows, so its pages fail. It is archived."""
    site.answers["/robots.txt"] = page(DEADLY, kind="text/plain")
    crawl.seed(f"{site.url}/1", f"{site.url}/2")
    assert life(crawl.config("w1")) == -signal.SIGSEGV
    everything(crawl, {"w1"})
    assert life(crawl.config("w2")) == 0
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:parser_crash": 2}
    assert site.paths == {"/robots.txt": 2}
    line = lines(crawl)["robots.txt"]
    assert (line.outcome, line.reason) == ("failed", "parser_crash")


def test_a_deadly_sitemap_kills_one_worker_and_fails(crawl, site, deadly):
    site.answers["/robots.txt"] = page("Sitemap: /map.xml", kind="text/plain")
    site.answers["/map.xml"] = page(b"<urlset>" + DEADLY, kind="text/xml")
    site.answers["/1"] = page("one")
    crawl.seed(f"{site.url}/1")
    assert life(crawl.config("w1")) == -signal.SIGSEGV
    everything(crawl, {"w1"})
    assert life(crawl.config("w2")) == 0
    assert crawl.stats.reasons == {"failed:parser_crash": 1}
    assert crawl.stats.outcomes[Outcome.FETCHED] == 1
    assert crawl.stats.is_drained


def test_a_robots_txt_that_kills_a_recovery_forbids_its_pages(crawl, site, monkeypatch):
    crawl.seed(f"{site.url}/1")
    archive, _ = dead(crawl, "dead", pages=1)
    archive.seal()
    monkeypatch.setattr(thresher.crawler.replay.replay, "_read_archived_hop", crashing_parser.robots_record)
    everything(crawl, {"dead"})
    run_worker(crawl.config("w"))
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:parser_crash": 1}


@pytest.mark.slow
def test_a_page_that_kills_every_worker_that_requests_it_fails_alone(crawl, site, monkeypatch):
    """The worker dies before the response, while other, slow pages are in flight."""
    whole = Client.get

    async def get(client, url, *arguments, **named):
        if url.text.endswith("/killer"):
            await asyncio.sleep(0.1)
            crashing_parser.die()
        return await whole(client, url, *arguments, **named)

    monkeypatch.setattr(Client, "get", get)
    slow = [f"/{number}" for number in range(6)]
    site.fallback = slowly(lambda path: page(f"page {path}"), 0.3)
    crawl.seed(*(f"{site.url}{path}" for path in (*slow[:3], "/killer", *slow[3:])))
    settle_robots(crawl)
    deaths = 0
    while life(crawl.config(f"w{deaths}")) != 0:
        dead = {f"w{deaths}"}
        crawl.ask(
            lambda frontier, dead=dead: recover(
                DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name, crashed_workers=dead
            )
        )
        deaths += 1
        assert deaths <= 5
    assert deaths == 5
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {"failed:lease_expired": 1}
    assert crawl.stats.outcomes[Outcome.FETCHED] == len(slow)


def test_a_heavy_page_that_is_deadly_kills_no_worker(crawl, site, deadly):
    site.answers["/"] = page(DEADLY.decode() + " " * HEAVY_PAGE_BYTES)
    crawl.seed(f"{site.url}/")
    assert life(crawl.config("w1")) == 0
    assert crawl.stats.reasons == {"failed:parser_crash": 1}


def test_a_heavy_page_is_read_like_another(crawl, site):
    swollen = gzip.compress(b"<a href=/a>" + b" " * HEAVY_PAGE_BYTES)
    site.answers["/"] = page(swollen, "Content-Encoding: gzip")
    site.answers["/a"] = page("the end")
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w1"))
    assert crawl.stats.outcomes[Outcome.FETCHED] == 2


def test_leases_of_a_dead_worker_are_recovered_leases(crawl):
    crawl.seed("http://example.org/")

    async def leased(frontier, worker):
        for _ in range(2):
            for lease in await frontier.lease(1, worker=worker, lease_ms=60_000):
                if lease.kind is Kind.PAGE:
                    return lease.is_recovered
                await frontier.origins.settle_robots(
                    lease, rule="allow", body=b"", ttl_ms=60_000, delay_ms=None
                )
        return None

    async def held(frontier):
        found = [await leased(frontier, "w1")]
        await frontier.workers.reclaim("w1")
        found.append(await leased(frontier, "w2"))
        await frontier.workers.reclaim("w2", is_worker_dead=True)
        found.append(await leased(frontier, "w3"))
        await frontier.workers.reclaim("w3")
        return [*found, await leased(frontier, "w4")]

    assert crawl.ask(held) == [False, False, True, True]


def test_requests_from_the_errback_of_a_deadly_page_are_accepted(crawl, site, deadly, project):
    """The worker does not look for nofollow in the page, because that would kill it."""
    site.answers["/"] = page("<a href=/deadly>")
    site.answers["/deadly"] = page(DEADLY.decode() + " " * HEAVY_PAGE_BYTES)
    site.answers["/instead"] = page("instead of it")
    code = """
    class Careful(scrapy.Spider):
        name = "careful"

        def parse(self, response):
            for link in response.css("a"):
                yield response.follow(link, errback=self.failed)

        def failed(self, failure):
            yield scrapy.Request(failure.request.url.replace("deadly", "instead"))
    """
    crawl.seed(f"{site.url}/")
    assert life(crawl.config("w1", spider=project.spider_spec(code, "Careful"))) == 0
    assert crawl.stats.reasons == {"failed:parser_crash": 1}
    assert site.paths["/instead"] == 1
