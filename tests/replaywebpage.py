"""ReplayWeb.page, the player that opens a WACZ in a browser: served on loopback, and driven in Chromium."""

import fcntl
import os
import shutil
import subprocess
import tarfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tarfile import ExFileObject
from urllib.parse import urlencode

import pytest
import uvicorn
from playwright import sync_api as playwright
from starlette.applications import Starlette
from starlette.responses import FileResponse, HTMLResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tests.expect import expect
from thresher.core import InputError
from thresher.crawler.render.chromium.program import find_browser

PACKAGE = "replaywebpage@2.4.6"
SECONDS = 20
ATTEMPTS = 3
VERIFICATION = """name => new Promise(done => {
  const opening = indexedDB.open(name)
  opening.onsuccess = () => {
    const rows = opening.result.transaction("verification").objectStore("verification").getAll()
    rows.onsuccess = () => done(rows.result)
  }
})"""
"""The table of the player in which it notes what it verified."""


def replaywebpage(cache):
    """The directory of the npm package; fetched on first use, then kept. The test skips where it cannot be fetched."""
    directory = Path(cache.mkdir("replaywebpage"))
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "package" / "sw.js").exists():
            if shutil.which("npm") is None:
                pytest.skip("there is no npm to fetch ReplayWeb.page with")
            done = subprocess.run(
                ["npm", "pack", PACKAGE], cwd=directory, check=False, capture_output=True, text=True
            )
            if done.returncode:
                pytest.skip(f"ReplayWeb.page cannot be fetched: {done.stderr.strip().splitlines()[-1]}")
            (archive,) = directory.glob("*.tgz")
            (directory / "package").mkdir(exist_ok=True)
            with tarfile.open(archive) as package:
                for name in ("package/ui.js", "package/sw.js"):
                    file = expect(ExFileObject, package.extractfile(name))
                    (directory / name).write_bytes(file.read())
            archive.unlink()
    return directory / "package"


@dataclass(frozen=True)
class Replayed:
    """A page as the player shows it."""

    text: str
    broken_images: int
    """Those that the page has asked for, and that are no images."""
    colour: str
    """Of the text, as the stylesheets want it."""


class Player:
    def __init__(self, browser, address):
        self._browser, self._address = browser, address

    def open(self, wacz, url, timestamp="", wanted=""):
        """Open a page of a WACZ file in the directory that is served, and wait until it shows the `wanted` text."""
        found = self._tried(wacz, url, timestamp, wanted, self._shown)
        return found if found.text else Replayed("(nothing is shown)", 0, "")

    def verified(self, wacz, url):
        """What the player has verified of a WACZ file, by its id, after opening a page of it."""
        seen = {}

        def look(frame):
            shown = self._shown(frame)
            if shown.text:
                collection = frame.url.partition("/w/")[2].partition("/")[0]
                found = frame.parent_frame.evaluate(VERIFICATION, f"db:{collection}")
                seen.update({each["id"]: each["matched"] for each in found})
            return shown

        assert self._tried(wacz, url, "", "", look).text
        return seen

    def _tried(self, wacz, url, timestamp, wanted, look):
        """Open a page again if it does not show what is wanted: now and then the player's service worker starts too late
        for its own frame.
        """
        found = Replayed("", 0, "")
        for _ in range(ATTEMPTS):
            found = self._opened(wacz, url, timestamp, wanted, look)
            if found.text and wanted in found.text:
                break
        return found

    def _opened(self, wacz, url, timestamp, wanted, look):
        context = self._browser.new_context(service_workers="allow")
        try:
            page = context.new_page()
            words = urlencode({"source": f"/files/{wacz}", "url": url, "ts": timestamp})
            page.goto(f"{self._address}/?{words}")
            until, found = time.monotonic() + SECONDS, Replayed("", 0, "")
            while time.monotonic() < until:
                for frame in page.frames:
                    if f"mp_/{url}" in frame.url and (found := look(frame)).text and wanted in found.text:
                        return found
                page.wait_for_timeout(100)  # the events of the browser are taken meanwhile
            return found
        finally:
            context.close()

    def _shown(self, frame):
        try:
            frame.wait_for_load_state("load", timeout=5_000)
            return Replayed(
                frame.evaluate("document.body.innerText").strip(),
                frame.evaluate(
                    "[...document.images].filter(one => one.complete && one.currentSrc && !one.naturalWidth).length"
                ),
                frame.evaluate("getComputedStyle(document.body).color"),
            )
        except playwright.Error:  # it went elsewhere meanwhile
            return Replayed("", 0, "")


@contextmanager
def launched_browser():
    """Yield Chromium. A thread can have one at a time."""
    try:
        program = find_browser("")
    except InputError as error:
        pytest.skip(str(error))
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=[*arguments, "--no-proxy-server"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def player(browser, package, directory):
    """Yield a player of the WACZ files in a directory."""
    with _served(package, directory) as address:
        yield Player(browser, address)


async def _page(request):
    query = request.query_params
    return HTMLResponse(
        '<!doctype html><body style="margin:0"><script src="/ui.js"></script><replay-web-page embed="replayonly"'
        f' style="width:1280px;height:900px" replayBase="/replay/" source="{query["source"]}" url="{query["url"]}"'
        f' ts="{query["ts"]}"></replay-web-page>'
    )


@contextmanager
def _served(package, directory):
    async def script(request):
        return FileResponse(package / request.url.path.rpartition("/")[2])

    routes = [
        Route("/", _page),
        Route("/ui.js", script),
        Route("/replay/sw.js", script),
        Mount("/files", StaticFiles(directory=directory)),
    ]
    config = uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        (port,) = (each.getsockname()[1] for one in server.servers for each in one.sockets)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
