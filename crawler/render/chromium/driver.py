"""`driver`: Playwright's driver, a Node.js process between us and the browser, started without secrets.

A page may have taken over the browser whose messages the driver reads. Playwright passes our whole environment to the
driver, and takes the path of Node.js from a variable (`PLAYWRIGHT_NODEJS_PATH`). So that variable names a script, which
clears the environment and becomes Node.js.
"""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright._impl._driver import compute_driver_executable
from playwright.async_api import Playwright, async_playwright

from thresher.isolation.environment import scrub_environment

NODE = "PLAYWRIGHT_NODEJS_PATH"
"""The variable that names Node.js (Playwright's documentation, "Installation behind a firewall or a proxy")."""


async def start_driver(directory: Path) -> Playwright:
    """Start the driver; it and its children write their files under `directory`."""
    node, _ = compute_driver_executable()
    environment = {**scrub_environment(os.environ), "TMPDIR": str(directory)}
    words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), node]
    script = directory / "node"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o700)
    try:
        with _node_path(script):
            return await async_playwright().start()
    finally:
        script.unlink()


@contextmanager
def _node_path(script: Path) -> Iterator[None]:
    before = os.environ.get(NODE)
    os.environ[NODE] = str(script)
    try:
        yield
    finally:
        if before is None:
            del os.environ[NODE]
        else:
            os.environ[NODE] = before
