"""The frontier's server loses its last second under living workers: no page is lost, and none is fetched twice."""

import time
from contextlib import ExitStack

import pytest

from tests.crawler.conftest import Crawl
from tests.crawler.crawls.test_crawl import pages, slowly, start, wait_for, web
from tests.frontier.power_loss import PowerLossServer

PAGES = 300


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "lost_s", "moments"), [(1, 0.3, (20, 100)), (2, 1.0, (120,))])
def test_the_server_loses_power_under_living_workers(site, tmp_path, workers, lost_s, moments):
    with ExitStack() as stack:
        server = PowerLossServer(tmp_path / "server", stack)
        crawl = Crawl(server.address, "crawl", tmp_path / "data")
        site.fallback = slowly(web(PAGES), 0.02)
        crawl.seed(f"{site.url}/0")
        processes = [start(crawl.config(f"w{i}", concurrency=4)) for i in range(workers)]
        for moment in moments:
            wait_for(lambda after=moment: len(site.requests) > after)
            durable = server.size()
            time.sleep(lost_s)
            server.lose_power(durable)
        for process in processes:
            process.join(60)
            assert process.exitcode == 0
        assert crawl.stats.is_drained
        everything = {"/robots.txt", *(f"/{n}" for n in range(PAGES))}
        assert set(pages(crawl)) == everything
        assert {path for path, times in site.paths.items() if times > 1} <= {"/robots.txt"}
        assert {path for path, times in pages(crawl).items() if times > 1} <= {"/robots.txt"}
