"""What behaviours cost a rendered page, and what they bring.

usage: python bench/crawler/behaviours.py [--rounds N] [--no-sandbox]

Renders pages of ours from a server on loopback, with all behaviours that are on by default and with none, in turns, so
that both meet the same machine. In `short` (one line) and `long` (400 paragraphs, 1,600 elements) behaviours find
nothing to do; `listening` is the long page with a listener for scrolling that adds nothing; `watching` has an observer
for its last element; `posts` loads 50 posts as its end comes into view, `endless` never ends. CPU is user + system time
of this process, which fetches and serves, of the browser's driver and of the browser. Prints one JSON line: medians a
page, in seconds; the bytes of the DOM; the bound that cut the behaviours.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.crawler.render.behaviours.test_scrolling import LISTENER, STYLE, posts
from tests.crawler.render.browser_thread import BrowserThread, client
from tests.crawler.server import Server, page
from thresher.crawler.render.chromium.processes import process_tree
from thresher.crawler.render.render_settings import RenderSettings

BLOCK = "<div class=block><h2>Heading</h2><p>{}<a href=/{{}}>more of it</a></p></div>".format(
    "Plain words of a page. " * 20
)
LONG = "<!doctype html><title>long</title>" + "".join(BLOCK.format(number) for number in range(400))
PAGES = {
    "short": {
        "/": page("<!doctype html><title>short</title><p>few words</p><script>document.title = 'x'</script>")
    },
    "long": {"/": page(f"{LONG}<script>document.title = 'x'</script>")},
    "listening": {
        "/": page(f"{LONG}<script>addEventListener('scroll', () => document.title = 'x')</script>")
    },
    "watching": {
        "/": page(
            f"{LONG}<script>new IntersectionObserver(() => 0).observe(document.body.lastElementChild)</script>"
        )
    },
    "posts": posts(50),
    "endless": {"/": page(LISTENER % (STYLE, 10**9))},
}


def cpu_s() -> float:
    """Return the CPU time so far of this process and all its descendants."""
    total = 0
    for process in process_tree(os.getpid()):
        try:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15])
    return total / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Render, and print the line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10, help="times that each page is rendered each way")
    parser.add_argument("--no-sandbox", action="store_true", help="start Chromium without its own sandbox")
    args = parser.parse_args()
    stage = BrowserThread(sandbox=not args.no_sandbox)
    try:
        print(
            json.dumps({name: stage.run(measure(stage, PAGES[name], args.rounds), 3_600) for name in PAGES})
        )
    finally:
        stage.close()


async def measure(stage: BrowserThread, answers: dict[str, bytes], rounds: int) -> dict[str, object]:
    """Return the medians of one page."""
    ways = {"off": (), "on": RenderSettings().behaviours}
    cpu: dict[str, list[float]] = {way: [] for way in ways}
    wall: dict[str, list[float]] = {way: [] for way in ways}
    found: dict[str, object] = {}
    async with Server(answers).serve() as server, client() as http_client:
        for number in range(rounds + 1):
            for way, names in ways.items():
                cpu_before, before = cpu_s(), time.monotonic()
                rendered = await stage.tab(http_client, f"{server.url}/", seconds=30, behaviours=names)
                if number:  # the first round warms the browser up
                    cpu[way].append(cpu_s() - cpu_before)
                    wall[way].append(time.monotonic() - before)
                found[f"{way}_bytes"] = len(rendered.html)
                if rendered.report.behaviours is not None:
                    found["cut"] = rendered.report.behaviours.cut
    for way in ways:
        found[f"{way}_cpu_s"] = round(statistics.median(cpu[way]), 3)
        found[f"{way}_wall_s"] = round(statistics.median(wall[way]), 3)
    return found


if __name__ == "__main__":
    main()
