"""A worker that is killed after it archives a rendered page and before it settles the lease."""

import os
import signal

from thresher.crawler import settler
from thresher.crawler.worker import run_worker


def die_before_settling(config):
    end = settler.settle_leases

    async def ending(frontier, batch, **options):
        if any(finished.rendered for finished in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        return await end(frontier, batch, **options)

    settler.settle_leases = ending
    run_worker(config)
