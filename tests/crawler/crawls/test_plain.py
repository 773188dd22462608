"""A crawl without a spider of the user's has nothing of Scrapy's in it."""

import pickle
import subprocess
import sys
from pathlib import Path

from frontier import Outcome
from tests.crawler.server import page

CRAWLED = """
import pickle, sys
import pipeline.fleet.crawl_command  # what the command itself imports
from crawler import run_worker
run_worker(pickle.load(sys.stdin.buffer))
print(*sorted({module.partition(".")[0] for module in sys.modules} & {"scrapy", "twisted"}))
"""


def test_a_plain_crawl_imports_neither_scrapy_nor_twisted(crawl, site):
    site.answers["/"] = page("<a href=/a>")
    site.answers["/a"] = page("the end")
    crawl.seed(f"{site.url}/")
    told = pickle.dumps(crawl.config("w1"))
    ran = subprocess.run(
        [sys.executable, "-c", CRAWLED],
        input=told,
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert crawl.stats.outcomes[Outcome.FETCHED] == 2
    assert ran.stdout.split() == []
