"""What a user's spider begins with is added to its crawl's frontier, before the crawl has any worker.

The spider's code runs in a process of its own, as it does in the workers, so nothing of it is in the process that watches
them. Known URLs change nothing: a crawl that is run again goes on.
"""

from core import ThresherError
from crawler.spiders import SpiderSpec
from crawler.spiders.start_requests import add_start_requests as add_starts
from pipeline.engine.local.crawl_worker import LocalCrawlWorker, pickle_call
from pipeline.project import Project


def add_start_requests(project: Project, crawl: str, address: str, spider: SpiderSpec) -> None:
    """Add them all; returns when they are in. Raises what is wrong with the spider, as an `InputError`."""
    left = LocalCrawlWorker(pickle_call(add_starts, spider, crawl, address, project.store)).wait()
    if left.error is not None:
        raise left.error
    if left.exitcode:
        raise ThresherError(
            f"crawl {crawl}: the process that starts spider {spider.class_path} died with exit code {left.exitcode}"
        )
