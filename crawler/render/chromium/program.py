"""`program`: the browser that is installed here, or what to do where there is none."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from core import InputError

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
TABS = 4
"""Pages that one browser has open at a time."""


def program(named: str) -> str:
    """Path of the program. `named` is the user's (`crawler.browser`), or empty.

    Raises `InputError` where it, or Playwright, is not there.
    """
    if find_spec("playwright") is None:
        raise InputError(
            "crawler.render needs Playwright; install the extra 'render' (docs/guides/install.md), or set it to \"never\""
        )
    if named:
        if os.access(named, os.X_OK) and Path(named).is_file():
            return named
        raise InputError(
            f"crawler.browser = {named!r}: no program is there; give the path of Chromium or Chrome"
        )
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise InputError(
        "crawler.render needs Chromium and none is found; run `apt install chromium`, or set crawler.browser to its path"
    )
