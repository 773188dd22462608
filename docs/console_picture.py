"""Draw the console in Chromium: docs/guides/console.png, while it shows a crawl of the demo's web.

usage: python docs/console_picture.py [--seconds S] [--all DIR]
       python docs/console_picture.py --demo demo-out

The crawl is slow on purpose, and is shown after S seconds. With --all, every view is drawn into DIR, in both themes and
at the width of a phone. With --demo, the picture is docs/console.png, the page of the crawl that `make demo` left.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from PIL import Image
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from demo.web import RunningWeb, Web
from thresher.crawler.render.chromium.program import find_browser

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/guides/console.png"
DEMO_PICTURE = ROOT / "docs/console.png"
SIZE: ViewportSize = {"width": 1280, "height": 1120}
DEMO_SIZE: ViewportSize = {"width": 1280, "height": 1190}
READ_S = 3
"""Seconds in which the console has read the log of the demo's crawl, for the examples of errors."""
COLOURS = 64
"""Colours of the demo's picture, which README shows: 64 make a third of the bytes."""
PHONE: ViewportSize = {"width": 390, "height": 844}
SEARCH_S = 60
TOML = """[project]
contact = "mailto:crawl@example.org"
[crawler]
min_delay = {delay}
allow_networks = ["127.0.0.0/8"]
[filters]
preset = "fineweb"
languages = ["en", "de", "fr", "es"]
"""
VIEWS = (
    *("/", "/crawls/main", "/crawls/news", "/crawls/news/hosts", "/crawls/main/errors", "/crawls/news/log"),
    *(
        "/storage",
        "/runs",
        "/manifests",
        "/actions",
        "/crawls/news/actions/settings",
        "/crawls/news/actions/drop",
    ),
)


def main() -> None:
    """Make a project, crawl, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--all", type=Path, help="directory for pictures of every view")
    parser.add_argument("--demo", type=Path, help="directory that `make demo` has made")
    args = parser.parse_args()
    if args.demo:
        with console(args.demo) as base, browser() as chromium:
            draw(chromium, f"{base}/crawls/main", DEMO_PICTURE)  # it begins to read the log
            time.sleep(READ_S)
            draw(chromium, f"{base}/crawls/main", DEMO_PICTURE, size=DEMO_SIZE, whole=False)
        Image.open(DEMO_PICTURE).convert("RGB").quantize(COLOURS).save(DEMO_PICTURE, optimize=True)
        return
    with tempfile.TemporaryDirectory() as directory, Web().serve() as web:
        project = Path(directory)
        (project / "seeds.txt").write_text("\n".join(web.seeds) + "\n")
        configure(project, delay=0.05)
        thresher(
            project, "run", "seeds.txt", "--out", str(project / "out"), "--scope", "host", "--workers", "1"
        )
        configure(project, delay=2)
        thresher(project, "seed", "seeds.txt", "--crawl", "news", "--scope", "host")
        with started(project, "crawl", "news") as _, console(project) as base:
            # The curves of the picture need a crawl that lasts; the hold comes in the middle of it.
            time.sleep(args.seconds / 2)
            act(base, "hold", {"host": host_of(web), "duration": "1h"})
            time.sleep(args.seconds / 2)
            with browser() as chromium:
                draw(chromium, f"{base}/crawls/news", PICTURE, whole=False)
                if args.all:
                    draw_all(chromium, base, args.all, web)


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium."""
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        started_browser = playwright.chromium.launch(executable_path=find_browser(""), args=sandbox)
        yield started_browser
        started_browser.close()


def draw_all(chromium: Browser, base: str, directory: Path, web: RunningWeb) -> None:
    """Draw every view."""
    directory.mkdir(parents=True, exist_ok=True)
    url = f"/url?u={web.seeds[0]}"
    draw(chromium, base + url, directory / "unread.png")
    wait_for_search(f"{base}/api{url}")
    for view in (*VIEWS, url, *linked(base + url)):
        name = view.partition("?")[0].strip("/").replace("/", "-") or "overview"
        draw(chromium, base + view, directory / f"{name}.png")
        draw(chromium, base + view, directory / f"{name}-dark.png", scheme="dark")
        draw(chromium, base + view, directory / f"{name}-phone.png", size=PHONE)


def wait_for_search(address: str) -> None:
    """Return when the history of a URL is read from end to end. Raise `TimeoutError` if that takes too long."""
    deadline = time.monotonic() + SEARCH_S
    while json.loads(request(address, None))["is_searching"]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{address}: the search has not ended after {SEARCH_S} s")
        time.sleep(0.1)


def linked(address: str) -> list[str]:
    """Return the addresses of the archived copy and of the text to which a URL's history leads."""
    text = request(address, None)
    return [link.replace("&amp;", "&") for link in re.findall(r'href="(/(?:copy|document)\?[^"]*)"', text)][
        :2
    ]


def draw(
    chromium: Browser,
    address: str,
    path: Path,
    *,
    size: ViewportSize = SIZE,
    scheme: Literal["light", "dark"] = "light",
    whole: bool = True,
) -> None:
    """Draw one view."""
    context = chromium.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    page.wait_for_timeout(500)
    page.screenshot(path=str(path), full_page=whole)
    context.close()


def configure(project: Path, *, delay: float) -> None:
    """Write the project's configuration."""
    (project / "thresher.toml").write_text(TOML.format(delay=delay))


def thresher(project: Path, *words: str) -> None:
    """Run a command until it ends."""
    subprocess.run([sys.executable, "-m", "thresher", *words], cwd=project, env=environment(), check=True)


@contextmanager
def started(project: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command as long as the context."""
    command = [sys.executable, "-m", "thresher", *words]
    with subprocess.Popen(
        command, cwd=project, env=environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def console(project: Path) -> Iterator[str]:
    """Serve the console, and yield its address."""
    with started(project, "serve", "--port", "0") as process:
        assert process.stderr
        found = re.search(r"http://[^/]+", process.stderr.readline())
        assert found
        yield found[0]


def act(base: str, action: str, values: dict[str, str]) -> None:
    """Do an action by the API."""
    request(f"{base}/api/crawls/news/{action}", json.dumps(values).encode())


def request(address: str, body: bytes | None) -> str:
    """Return the text of an answer."""
    headers = {"Content-Type": "application/json", "Accept": "text/html"}
    with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:  # noqa: S310 - our own
        text: str = answer.read().decode()
        return text


def host_of(web: RunningWeb) -> str:
    """Return the host of the last seed."""
    return web.seeds[-1].split("/")[2].partition(":")[0]


def environment() -> dict[str, str]:
    """Return the environment of a command."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


if __name__ == "__main__":
    main()
