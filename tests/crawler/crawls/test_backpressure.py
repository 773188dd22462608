"""A crawl that is followed never runs far ahead, seals its files, and ends like any other crawl."""

import asyncio
import os
import signal
import threading
import time
from collections import Counter

import pytest

from tests.crawler.conftest import Crawl
from tests.crawler.crawls.test_crawl import pages, slowly, start, wait_for, web
from tests.crawler.server import page
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests

LIMIT = 40_000


def sealed(crawl):
    """Return the bytes of all sealed WARC files."""
    outputs = (
        output
        for made in manifests(DirectoryStore(crawl.root), "archive", crawl.name)
        for output in made.outputs
    )
    return sum(output.bytes for output in outputs if output.name.endswith(".warc.gz"))


def follow(crawl, backlog, limit=LIMIT):
    return crawl.ask(lambda frontier: frontier.backlog.report(follower="p", backlog=backlog, limit=limit))


def flow(crawl):
    return crawl.ask(lambda frontier: frontier.backlog.gate_state())


@pytest.mark.slow
def test_a_crawl_waits_for_its_follower_and_ends_with_every_page_once(crawl: Crawl, site):
    site.fallback = slowly(web(200), 0.02)
    crawl.seed(f"{site.url}/0")
    follow(crawl, 0)
    process = start(crawl.config("w", concurrency=8))
    processed = rounds = 0

    def is_all_sealed():
        return crawl.stats.leased == 0 and flow(crawl).estimate == sealed(crawl) - processed

    while not crawl.stats.is_drained:
        wait_for(lambda: flow(crawl).shut or crawl.stats.is_drained)
        # The gate is shut: exchanges in flight end, the file is sealed, and nothing more is requested.
        wait_for(is_all_sealed)
        before = len(site.requests)
        time.sleep(0.3)
        assert len(site.requests) == before
        processed = sealed(crawl)
        rounds += 1
        follow(crawl, 0)
    process.join(30)
    assert process.exitcode == 0
    assert rounds >= 2
    assert pages(crawl) == Counter({"/robots.txt": 1, **{f"/{n}": 1 for n in range(200)}})


def test_every_archived_byte_is_reported_to_the_frontier(crawl, site):
    site.fallback = web(50)
    crawl.seed(f"{site.url}/0")
    follow(crawl, 0, limit=1 << 40)
    process = start(crawl.config("w", warc_bytes=5_000))
    process.join(60)
    assert flow(crawl).estimate == sealed(crawl)
    assert len(list(manifests(DirectoryStore(crawl.root), "archive", crawl.name))) > 2


def test_an_open_file_is_sealed_by_the_clock_while_nothing_is_appended(crawl: Crawl, site):
    is_sealed = threading.Event()

    async def later(_, writer):
        await asyncio.to_thread(is_sealed.wait, 30)
        writer.write(page("late"))

    site.answers["/slow"] = site.answers["/robots.txt"]
    site.fallback = lambda path: later
    crawl.seed(f"{site.url}/slow", f"{site.url}/0")
    process = start(crawl.config("w", warc_age=1, timeout_s=20))
    wait_for(lambda: sealed(crawl) > 0)
    assert process.is_alive()
    assert crawl.stats.leased > 0
    is_sealed.set()
    os.kill(process.pid, signal.SIGTERM)
    process.join(30)
    assert process.exitcode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_drain_ends_a_worker_that_waits_at_the_gate(crawl: Crawl, site, number):
    site.fallback = slowly(web(500), 0.02)
    crawl.seed(f"{site.url}/0")
    process = start(crawl.config("w", concurrency=4))
    wait_for(lambda: len(site.requests) > 10)
    follow(crawl, LIMIT + 1)
    wait_for(lambda: crawl.stats.leased == 0)
    assert process.is_alive()
    os.kill(process.pid, number)
    process.join(30)
    assert process.exitcode == 0
    assert crawl.stats.waiting > 0
    assert pages(crawl) == site.paths


def test_a_drained_crawl_ends_at_a_shut_gate(crawl: Crawl, site):
    site.fallback = slowly(web(1), 0.5)
    crawl.seed(f"{site.url}/0")
    follow(crawl, 0)
    process = start(crawl.config("w"))
    wait_for(lambda: site.paths["/0"])
    follow(crawl, LIMIT + 1)
    process.join(30)
    assert process.exitcode == 0
    assert crawl.stats.is_drained
