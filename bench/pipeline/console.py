"""Measure how fast the views of the console open, and what the console costs, with many URLs in the frontier.

usage: python bench/pipeline/console.py [--urls N] [--hosts H] [--rounds N] [--seconds S] [--pages-per-second R]
       [--dir DIR]

The bench makes a project with one crawl of N URLs (bench/frontier/urls.py), some of them settled, some hosts held, and
starts `thresher serve` on it. It opens each view --rounds times. Then, while pages are settled at R a second, an
operator looks at the page of the crawl, which asks for itself every 5 s, and Prometheus asks for the metrics every 15
s. CPU is that of the console's process and that of the frontier's server, the latter without the settled pages. The
bench prints one JSON line.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.frontier.urls import Urls
from bench.frontier.verbs import BATCH, HOUR_MS, allow, batches, discoveries, fetched
from bench.processes.meter import Meter
from thresher.frontier import Frontier, Kind, StorageId
from thresher.frontier.link.connect import connect
from thresher.pipeline.console.sampler import PERIOD_S
from thresher.pipeline.open_project import OpenProject
from thresher.storage.storage_id import ensure_storage_id

ROOT = Path(__file__).resolve().parents[2]
CRAWL = "bench"
SETTLED = 20_000
HELD = 500
PAGE_S, METRICS_S = 5.0, 15.0
TOML = '[project]\ncontact = "mailto:bench@example.org"\n[crawler]\nmin_delay = 0.0\n'


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pages-per-second", type=float, default=400)
    parser.add_argument(
        "--dir", type=Path, help="directory for the project; the default is one for temporary files"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.dir) as directory:
        (Path(directory) / "thresher.toml").write_text(TOML)
        project = OpenProject.at(Path(directory))
        with project.frontier_address() as address:
            print(json.dumps(asyncio.run(measure(args, project, address))), flush=True)


async def measure(args: argparse.Namespace, project: OpenProject, address: str) -> dict[str, object]:
    """Fill the frontier, and measure."""
    urls = Urls(args.urls, min(args.hosts, args.urls))
    link = await connect(address)
    storage = StorageId(id=ensure_storage_id(project.store), uri=project.store.uri)
    frontier = await Frontier(link, CRAWL).open(project.settings, storage=storage, partitions=1)
    began = time.perf_counter()
    for some in batches(discoveries(urls, urls.by_page(40)), BATCH):
        await frontier.add(some)
    filled_s = time.perf_counter() - began
    await settle(frontier, SETTLED)
    for rank in range(min(HELD, urls.hosts)):
        await frontier.operator.hold(urls.host(rank), HOUR_MS)
    stats = await frontier.stats()
    with Redis.from_url(address) as client:
        server = Meter(client.info("server")["process_id"])
    with console(project) as (base, meter):
        # The figures over time that the views show need the second sample; no view says that it is there.
        await asyncio.sleep(PERIOD_S + 2)
        opened = {}
        host, url = urls.host(urls.hosts // 2), f"https://{urls.host(0)}{urls.path(urls.first(0))}"
        for view in views(host, url):
            opened[view.partition("?")[0]] = await asyncio.to_thread(open_view, base + view, args.rounds)
        quiet = await costs(args, base, meter, server, None)
        loaded = await costs(args, base, meter, server, frontier)
        peak = meter.peak_rss()
    await link.aclose()
    slowest = max(opened.values(), key=lambda each: each["median_ms"])
    return {
        "bench": "console",
        "urls": args.urls,
        "hosts": urls.hosts,
        "waiting": stats.waiting,
        "filled_s": round(filled_s),
        "views_ms": {view: each["median_ms"] for view, each in opened.items()},
        "first_ms": {view: each["first_ms"] for view, each in opened.items()},
        "slowest_median_ms": slowest["median_ms"],
        "console_cpu_percent": loaded["console"],
        "server_cpu_percent_without_crawl": quiet["server"],
        "pages_per_second": loaded["pages_per_second"],
        "peak_rss_mb": round(peak / 1e6, 1),
        "load": round(os.getloadavg()[0], 1),
    }


def views(host: str, url: str) -> list[str]:
    """Return the addresses of the views."""
    base = f"/crawls/{CRAWL}"
    return [
        "/",
        base,
        f"{base}/hosts",
        f"{base}/hosts?host={host}",
        f"{base}/errors",
        f"{base}/log",
        "/storage",
        "/runs",
        "/manifests",
        f"/url?u={url}",
        "/actions",
        f"{base}/actions/hold",
        "/metrics",
        "/api/crawls",
        f"/api{base}/politeness",
    ]


def open_view(address: str, rounds: int) -> dict[str, float]:
    """Return the milliseconds of the first answer, and the median of the following ones."""
    taken = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        request = urllib.request.Request(address, headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
        taken.append(1000 * (time.perf_counter() - began))
    return {"first_ms": round(taken[0], 1), "median_ms": round(statistics.median(taken[1:] or taken), 1)}


async def costs(
    args: argparse.Namespace, base: str, meter: Meter, server: Meter, frontier: Frontier | None
) -> dict[str, float]:
    """Return the share of a core, in percent, of the console and of the server while somebody looks."""
    stop = time.monotonic() + args.seconds
    console_s, server_s, began = meter.cpu_s(), server.cpu_s(), time.monotonic()
    pages = 0
    looking = [
        asyncio.create_task(poll(f"{base}/crawls/{CRAWL}", PAGE_S, stop)),
        asyncio.create_task(poll(f"{base}/metrics", METRICS_S, stop)),
    ]
    while time.monotonic() < stop:
        if frontier is None:
            await asyncio.sleep(1.0)
            continue
        pages += await settle(frontier, max(round(args.pages_per_second), 1))
        await asyncio.sleep(max(0.0, began + pages / args.pages_per_second - time.monotonic()))
    await asyncio.gather(*looking)
    wall = time.monotonic() - began
    return {
        "console": round(100 * (meter.cpu_s() - console_s) / wall, 2),
        "server": round(100 * (server.cpu_s() - server_s) / wall, 2),
        "pages_per_second": round(pages / wall),
    }


async def poll(address: str, period_s: float, stop: float) -> None:
    """Open a view again and again."""
    while time.monotonic() < stop:
        await asyncio.to_thread(open_view, address, 0)
        await asyncio.sleep(period_s)


async def settle(frontier: Frontier, pages: int) -> int:
    """Settle about so many pages."""
    done = 0
    while done < pages:
        leases = await frontier.lease(min(500, pages - done), worker="bench", lease_ms=HOUR_MS)
        await allow(frontier, [lease for lease in leases if lease.kind is Kind.ROBOTS])
        found = [lease for lease in leases if lease.kind is Kind.PAGE]
        done += await frontier.settle([fetched(lease, None) for lease in found], archived=20_000 * len(found))
        if not leases:
            break
    return done


@contextmanager
def console(project: OpenProject) -> Iterator[tuple[str, Meter]]:
    """Start the console as a user does. Yield its address and its meter."""
    command = [sys.executable, "-m", "thresher", "serve", "--port", "0", "--project", str(project.directory)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            found = re.search(r"http://[^/]+", line)
            assert found, line
            yield found[0], Meter(process.pid)
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
