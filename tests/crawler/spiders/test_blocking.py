"""A callback that holds up its worker costs only time: no page is fetched twice, and no item is emitted twice."""

import asyncio
import os
import re
import signal
import threading
import time

import pytest

from tests.crawler.crawls.test_crawl import SPAWN, pages
from tests.crawler.server import links, page
from tests.crawler.spiders.spider_project import Project, paths_of
from thresher.core import InputError
from thresher.crawler.scheduling.scheduler import Scheduler
from thresher.crawler.spiders import blocking_watch, spider_engine
from thresher.crawler.worker import run_worker

BLOCKING = """
import collections, itertools, re, time

class Blocking(scrapy.Spider):
    name = "blocking"
    custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

    async def parse(self, response):
        yield {"url": response.url}
        for request in response.follow_all(css="a"):
            yield request
        if response.url.endswith("/slow"):
            WHAT
"""
SLEEP = "time.sleep(1.6)"
SPIN = "until = time.monotonic() + 1.6\n            while time.monotonic() < until: pass"
REGEX = "re.match('(a+)+b', 'a' * LENGTH)"
"""Holds the interpreter's lock as long as it runs."""
FOR_EVER = "while True: time.sleep(0.01)"
STUBBORN = """while True:
                try:
                    while True: pass
                except Exception:
                    self.caught = getattr(self, "caught", 0) + 1
                    if self.caught == 3: break
"""
NATIVE = "collections.deque(itertools.repeat(0), maxlen=0)"
"""Never ends, holds the interpreter's lock, and checks no signal."""


def hasten(longest_s=300.0):
    """Shorten the limits: half a minute takes a third of a second."""
    limits = {"warn_s": 0.3, "longest_s": longest_s}
    return (blocking_watch.BlockingWatch.__init__, "__kwdefaults__", limits)


def worker_in_haste(config):
    blocking_watch.NATIVE_GRACE_S = 0.3
    setattr(*hasten(longest_s=0.3))
    run_worker(config)


def length():
    """Return how many letters the expression needs to take a second or more on this machine."""
    for number in range(18, 40):
        begun = time.monotonic()
        re.match("(a+)+b", "a" * number)
        took = time.monotonic() - begun
        if took > 0.05:  # it doubles with every letter
            return number + round(1.2 / took).bit_length()
    raise AssertionError


def spider(project, what):
    return project.spider_spec(BLOCKING.replace("WHAT", what), "Blocking")


@pytest.mark.parametrize(
    "what", [SLEEP, pytest.param(SPIN, marks=pytest.mark.slow), REGEX], ids=["sleep", "spin", "regex"]
)
def test_a_page_whose_callback_blocks_is_fetched_once_and_its_items_come_once(
    crawl, site, project, what, caplog, monkeypatch
):
    """`ttl_s` is the half minute after which a worker without heartbeats counts as dead."""

    async def soon(_, writer):
        await asyncio.sleep(0.2)
        writer.write(page("soon"))

    monkeypatch.setattr(*hasten())
    spider_spec = spider(project, what.replace("LENGTH", str(length()) if what is REGEX else ""))
    site.answers |= {"/slow": links("/next"), "/next": page("x"), "/soon": soon}
    crawl.seed(f"{site.url}/slow", f"{site.url}/soon")
    run_worker(crawl.config("w", spider=spider_spec, ttl_s=0.4, timeout_s=0.5))
    assert crawl.stats.is_drained
    assert crawl.stats.reasons == {}
    assert paths_of(project.items) == {"/slow": 1, "/next": 1, "/soon": 1}
    assert pages(crawl) == site.paths == {"/robots.txt": 1, "/slow": 1, "/next": 1, "/soon": 1}
    lines = [each.getMessage() for each in caplog.records if "has held up its worker" in each.getMessage()]
    # On a busy machine another callback may be named as well.
    slow = f"spider blocking: parse of {site.url}/slow, at {project.root}/"
    assert len([line for line in lines if line.startswith(slow)]) == 1


def test_a_lease_is_renewed_as_long_as_its_callback_waits(crawl, site, project: Project, monkeypatch):
    begin = Scheduler.__init__
    monkeypatch.setattr(
        Scheduler,
        "__init__",
        lambda self, *args, **named: begin(self, *args, **{**named, "lease_ms": lambda: 600}),
    )
    monkeypatch.setattr(spider_engine, "RENEW_S", 0.2)
    site.answers["/slow"] = page("x")
    crawl.seed(f"{site.url}/slow")
    run_worker(crawl.config("w", spider=spider(project, "await asyncio.sleep(2)")))
    assert crawl.stats.outcomes["fetched"] == 1
    assert paths_of(project.items) == {"/slow": 1}
    assert site.paths == {"/robots.txt": 1, "/slow": 1}


@pytest.mark.parametrize("what", [FOR_EVER, STUBBORN], ids=["for ever", "stubborn"])
def test_a_callback_that_blocks_too_long_ends_the_crawl_with_one_line_that_names_it(
    crawl, site, project, what, monkeypatch
):
    monkeypatch.setattr(*hasten(longest_s=0.6))
    monkeypatch.setattr(blocking_watch, "INTERRUPT_INTERVAL_S", 0.2)
    site.answers |= {"/": links("/other"), "/other": links("/slow"), "/slow": page("x")}
    crawl.seed(f"{site.url}/")
    with pytest.raises(InputError) as raised:
        run_worker(crawl.config("w", spider=spider(project, what)))
    line = str(raised.value)
    assert "\n" not in line
    assert re.fullmatch(
        rf"spider blocking: parse of {site.url}/slow, at {project.root}/\w+\.py:\d+, has held up its worker for \d s; "
        r"use `await`, or `await asyncio.to_thread\(...\)` for what blocks",
        line,
    )
    assert crawl.stats.outcomes["fetched"] == 2
    assert crawl.stats.leased == 1


def test_native_code_that_blocks_too_long_ends_its_worker(crawl, site, project, capfd):
    site.answers["/slow"] = page("x")
    crawl.seed(f"{site.url}/slow")
    worker = SPAWN.Process(target=worker_in_haste, args=(crawl.config("w", spider=spider(project, NATIVE)),))
    worker.start()
    worker.join(20)
    assert worker.exitcode == 1
    assert re.search(rf'File "{project.root}/\w+\.py", line \d+ in parse', capfd.readouterr().err)
    assert crawl.stats.leased == 1


def test_a_process_that_was_stopped_while_its_loop_waited_is_not_blocked():
    ended = []

    async def stopped():
        watch = blocking_watch.BlockingWatch(lambda _: "x", ended.append)
        watching = asyncio.create_task(watch.run())
        await asyncio.sleep(0.05)
        watch._turn -= 1_000
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGALRM)).start()
        await asyncio.sleep(0.3)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    before = signal.getsignal(signal.SIGALRM)
    asyncio.run(stopped())
    assert ended == []
    assert signal.getsignal(signal.SIGALRM) == before
