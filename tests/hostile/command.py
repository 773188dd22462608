"""`python -m tests.hostile.command`: the thresher command itself, which also writes down how every lease ended (`ledger`).

Its crawl workers do the same: what each is told to begin with is a function of that module.
"""

from pipeline.__main__ import main
from pipeline.engine.local.crawl_worker import told
from pipeline.fleet import crawl_command
from tests.hostile.lease_log import noted


def told_noted(work, *args):
    return told(noted, work, *args)


if __name__ == "__main__":
    crawl_command.told = told_noted
    main()
