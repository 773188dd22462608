"""`find_browser`: the path of the installed browser, or an error that says what to do without one."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from thresher.core import InputError
from thresher.core.installation.extras import missing_extra

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
MAX_TABS = 4
"""Pages that one browser has open at a time."""


def find_browser(configured_path: str, *, need: str = "crawler.render") -> str:
    """Return the path of the browser. `configured_path` is the user's (`crawler.browser`), or empty. `need` is what
    needs it.

    Raise `InputError` if the browser or Playwright is not installed.
    """
    if find_spec("playwright") is None:
        raise missing_extra(
            "render", f"{need} needs Playwright", 'set it to "never"' if need == "crawler.render" else ""
        )
    if configured_path:
        if os.access(configured_path, os.X_OK) and Path(configured_path).is_file():
            return configured_path
        raise InputError(
            f"crawler.browser = {configured_path!r}: no program is there; give the path of Chromium or Chrome"
        )
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise InputError(
        f"{need} needs Chromium and none is found; run `apt install chromium`, "
        "or set crawler.browser to its path"
    )
