"""What a user's spider begins with is added to its crawl's frontier, before the crawl has any worker.

The spider's code runs in a process of its own, as it does in the workers, so nothing of it is in the process that watches
them. Known URLs change nothing: a crawl that is run again goes on.
"""

from core import ThresherError
from crawler.spiders import Guest
from crawler.spiders.start_requests import sow as add_starts
from pipeline.engine.local.crawl_worker import LocalBerth, told
from pipeline.project import Project


def sow(project: Project, crawl: str, address: str, guest: Guest) -> None:
    """Add them all; returns when they are in. Raises what is wrong with the spider, as an `InputError`."""
    left = LocalBerth(told(add_starts, guest, crawl, address, project.store)).wait()
    if left.said is not None:
        raise left.said
    if left.exitcode:
        raise ThresherError(
            f"crawl {crawl}: the process that starts spider {guest.spider} died with exit code {left.exitcode}"
        )
