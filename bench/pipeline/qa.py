"""Recall and precision of `thresher qa` on pages with faults made by hand, and what screenshots cost.

A site of ours is crawled with `render = "always"`, with and without screenshots. Its archive is written again with one
fault a page: each kind of fault as often as the others, and a third of the pages as they were. `thresher qa` judges the
archive with its screenshots and DOMs, and without them, as one of another crawler may be. One line of JSON.
"""

import argparse
import asyncio
import json
import resource
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.crawler.conftest import Crawl
from tests.crawler.server import Server
from tests.pipeline.qa.faulty_wacz import FAULTS, fault, rewrite, site
from thresher.crawler.render.render_settings import RenderSettings
from thresher.crawler.worker import run_worker
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.qa.examination import examine_wacz
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.storage.directory_store import DirectoryStore

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSerif-Bold.ttf"


def cpu_s() -> float:
    """Return the seconds of CPU of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def crawled(directory, redis, server, pages, *, sandbox, screenshot):
    """Crawl the site into a directory of its own; return seconds of CPU and bytes a page, and the store."""
    name = f"crawl-{screenshot}".lower()
    crawl = Crawl(redis, name, directory / name)
    crawl.sandbox = sandbox
    crawl.seed(*(f"{server.url}/{number}/" for number in range(pages)), max_depth=0)
    before = cpu_s()
    run_worker(crawl.config("w", render="always", screenshot=screenshot, timeout_s=60))
    size = sum(path.stat().st_size for path in (directory / name / "warc").rglob("*.warc.gz"))
    return {"cpu_s": round((cpu_s() - before) / pages, 3), "bytes": size // pages}, name


def judged(path, faults, sandbox):
    """Return what `qa` finds in an archive whose faulty pages are known."""
    started, before = time.monotonic(), cpu_s()
    settings = RenderSettings(browser_sandbox=sandbox)
    result = asyncio.run(examine_wacz(path, settings, LineProgress(), max_pages=None, threshold=0.95))
    below = {page.url for page in result.below}
    found = below & set(faults)
    missed = Counter(kind for url, kind in faults.items() if url not in below)
    return {
        "pages": len(result.pages),
        "faulty": len(faults),
        "recall": round(len(found) / len(faults), 3),
        "precision": round(len(found) / len(below), 3) if below else None,
        "missed": dict(missed),
        "s_a_page": round((time.monotonic() - started) / len(result.pages), 2),
        "cpu_s_a_page": round((cpu_s() - before) / len(result.pages), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=105)
    parser.add_argument("--no-sandbox", action="store_true")
    options = parser.parse_args()
    sandbox, pages = not options.no_sandbox, options.pages
    with TemporaryDirectory() as made:
        directory = Path(made)
        font = Path(FONT).read_bytes()
        with embedded_server(directory / "redis") as redis, Server(site(pages, font)).in_thread() as server:
            costs = {}
            for screenshot in (False, True):
                costs[screenshot], name = crawled(
                    directory, redis, server, pages, sandbox=sandbox, screenshot=screenshot
                )
            source = directory / "crawl.wacz"
            export_wacz(DirectoryStore(directory / name), name, source, "", LineProgress())
            faults = {
                f"{server.url}/{number}/": FAULTS[number // 3 * 2 % len(FAULTS) + number % 3 % 2]
                for number in range(pages)
                if number % 3 != 2
            }
        changes = [fault(kind, url) for url, kind in faults.items()]
        answer = {
            "kinds": dict(Counter(faults.values())),
            "page": {"plain": costs[False], "pictures": costs[True]},
        }
        for name, keeps in (("with_evidence", True), ("without_evidence", False)):
            rewrite(source, directory / "faulty.wacz", changes, keeps_evidence=keeps)
            answer[name] = judged(directory / "faulty.wacz", faults, sandbox)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
