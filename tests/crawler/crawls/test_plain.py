"""A plain crawl imports nothing that it does not use, because each library costs every command and worker time and memory."""

import pickle
import subprocess
import sys
from pathlib import Path

from tests.crawler.server import page
from thresher.frontier import Outcome

CRAWLED = """
import pickle, sys
UNUSED = {"scrapy", "twisted", "sqlalchemy", "sqlmodel", "pydantic", "fasttext", "pypdfium2", "playwright", "ray"}
import thresher.pipeline.fleet.crawl_command  # modules that the command itself imports
from thresher.crawler.worker import run_worker
run_worker(pickle.load(sys.stdin.buffer))
print(*sorted({module.partition(".")[0] for module in sys.modules} & UNUSED))
"""


def test_a_plain_crawl_imports_neither_spiders_nor_catalog_nor_readers_of_text(crawl, site):
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
