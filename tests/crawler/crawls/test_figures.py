"""A worker reports what it did; the sums of the crawl have it, whatever becomes of the worker."""

import multiprocessing
import os
import time

from tests.crawler.crawls.test_politeness import few
from thresher.crawler.worker import run_worker

SPAWN = multiprocessing.get_context("spawn")


def figures(crawl):
    return crawl.ask(lambda frontier: frontier.workers.figures())


def test_the_sums_have_what_the_worker_sent_received_stored_and_used(crawl, site):
    site.fallback = few(5)
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    found = figures(crawl)
    sums = found.sums["crawler"]
    assert found.workers == {}, "it has left"
    assert sums.requests == len(site.requests) == 7
    assert sums.bytes_received == sum(len(sent) for sent in site.sent)
    sealed = list((crawl.root / "warc").rglob("*.warc.gz"))
    assert sums.bytes_stored == sum(path.stat().st_size for path in sealed)
    assert sum(sums.store_calls) > 0
    assert 0 < sums.store_us < 60 * 10**6
    # The worker ran in this process, whose CPU time is that of all tests before it too.
    assert 0 < sums.cpu_us <= sum(os.times()[:4]) * 10**6
    assert sums.politeness_violations == sums.parts == 0


def test_a_worker_that_is_killed_takes_nothing_away(crawl, site):
    site.fallback = few(400)
    crawl.seed(f"{site.url}/")
    process = SPAWN.Process(target=run_worker, args=(crawl.config("victim", min_delay_s=0.01, ttl_s=0.9),))
    process.start()
    while not (before := figures(crawl).sums.get("crawler")) or before.requests < 20:
        assert process.is_alive()
        time.sleep(0.05)
    live = figures(crawl).workers["victim"]
    assert live.kind == "crawler"
    assert live.rss_bytes > 10 << 20
    process.kill()
    process.join()
    after = figures(crawl).sums["crawler"]
    crawl.ask(lambda frontier: frontier.workers.take_over(["victim"]))
    assert figures(crawl).sums["crawler"] == after
    assert after.requests >= before.requests
    assert figures(crawl).workers == {}
    crawl.ask(lambda frontier: frontier.workers.reclaim("victim", is_worker_dead=True))
    run_worker(crawl.config("next", min_delay_s=0.01, max_pages=crawl.stats.outcomes["fetched"] + 5))
    assert figures(crawl).sums["crawler"].requests > after.requests
