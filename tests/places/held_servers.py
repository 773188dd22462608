"""What `tests/places/test_orphans.py` runs to kill it: a test that starts one of each server that tests use, and waits.

It is not one of the suite: its name does not begin with `test_`.
"""

import json
import os
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.crawler.render.browser_thread import BrowserThread
from tests.pipeline import raycluster
from tests.storage.postgres import Server as PostgresServer
from tests.storage.s3server import running_server
from thresher.core import InputError
from thresher.crawler.render.chromium.program import find_browser
from thresher.frontier.link.embedded import embedded_server


def test_servers_are_held(tmp_path):
    report = Path(os.environ["SERVERS_FILE"])
    with embedded_server(tmp_path / "frontier"), running_server(tmp_path / "s3"), raycluster.cluster(1):
        PostgresServer().start()
        with suppress(InputError):  # there is no browser
            find_browser("")
            BrowserThread(sandbox=False)
        names = {process.pid: process.name() for process in psutil.Process().children(recursive=True)}
        report.with_suffix(".new").write_text(json.dumps({"worker": os.getpid(), "servers": names}))
        report.with_suffix(".new").rename(report)
        time.sleep(600)
