"""`python -m tests.hostile.command`: the thresher command itself, which also logs how every lease ended (`lease_log`).

Its crawl workers do the same: each starts in a function of that module.
"""

from unittest.mock import patch

from tests.hostile.lease_log import run_with_log
from thresher.__main__ import main
from thresher.pipeline.engine.local.crawl_worker import pickle_call
from thresher.pipeline.fleet import crawl_command


def told_noted(work, *args):
    return pickle_call(run_with_log, work, *args)


if __name__ == "__main__":
    with patch.object(crawl_command, "pickle_call", told_noted):
        main()
