"""Add the start requests of a user's spider to the frontier, before the crawl has any worker.

The spider's code runs in a process of its own, as it does in workers, so none of it is in the supervising process.
Known URLs change nothing: a crawl that is run again continues.
"""

from thresher.core import ThresherError
from thresher.crawler.spiders import SpiderSpec
from thresher.crawler.spiders.start_requests import add_start_requests as add_starts
from thresher.pipeline.engine.local.crawl_worker import LocalCrawlWorker, pickle_call
from thresher.pipeline.open_project import OpenProject


def add_start_requests(project: OpenProject, crawl: str, address: str, spider: SpiderSpec) -> None:
    """Add all start requests, and return when they are stored. Raise `InputError` if the spider is at fault."""
    worker_exit = LocalCrawlWorker(pickle_call(add_starts, spider, crawl, address, project.store)).wait()
    if worker_exit.error is not None:
        raise worker_exit.error
    if worker_exit.exitcode:
        raise ThresherError(
            f"crawl {crawl}: the process that starts spider {spider.class_path} died with exit code "
            f"{worker_exit.exitcode}"
        )
