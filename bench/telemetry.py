"""CPU of the figures, the politeness audit and the metrics at full crawl speed, paired with a crawl without them.

usage: python bench/telemetry.py [--pages N] [--pairs N]

One worker crawls the demo's web with a delay of 1 ms, so that every exchange is audited. Half of the crawls report no
figures and audit nothing; the two kinds run in turn (with, without, without, with). CPU is user + system time of the
worker and of the frontier's server. A scrape is measured apart: its CPU over the time between two scrapes is its share
of one core. Prints one JSON line.
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from redis import Redis

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawler import worker as worker_module
from crawler.connectivity.politeness_audit import PolitenessAudit
from crawler.machine.worker_counters import WorkerCounters
from crawler.scheduling.scheduling_settings import SchedulingSettings
from crawler.worker import WorkerConfig
from demo.web import Web
from frontier import CrawlSettings, Discovery, Frontier, Scope, canonicalize
from frontier.link.connect import connect
from frontier.link.embedded import embedded_server
from pipeline import configuration
from pipeline.open_project import OpenProject
from pipeline.reports.metrics import project_metrics
from storage.directory_store import DirectoryStore

SCRAPE_S = 30
"""Seconds between two scrapes, as deploy/prometheus has them."""
TTL_S = 6.0
"""A third of it is the time between two heartbeats: five times as many as usual, so that a short crawl has some."""
DELAY_MS = 1
TOML = '[project]\ncontact = "mailto:bench@example.org"\nredis = "{address}"\nstorage = "file:{storage}"\n'


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--pairs", type=int, default=6)
    args = parser.parse_args()
    found: dict[bool, list[float]] = {True: [], False: []}
    speeds, scrapes, violations = [], [], 0
    with Web().serve() as web:
        for pair in range(args.pairs):
            for is_on in (True, False) if pair % 2 == 0 else (False, True):
                measured = measure(list(web.seeds), args.pages, is_on=is_on)
                found[is_on].append(measured["cpu_ms_page"])
                if is_on:
                    speeds.append(measured["pages_s"])
                    scrapes.append(measured["scrape_cpu_s"])
                    violations += int(measured["violations"])
    ratios = [on / off for on, off in zip(found[True], found[False], strict=True)]
    print(
        json.dumps(
            {
                "bench": "telemetry",
                "pages": args.pages,
                "pairs": args.pairs,
                "pages_s": round(statistics.median(speeds), 1),
                "cpu_ms_page_with": round(statistics.median(found[True]), 4),
                "cpu_ms_page_without": round(statistics.median(found[False]), 4),
                "over_without": round(statistics.median(ratios), 4),
                "ratios": [round(ratio, 3) for ratio in sorted(ratios)],
                "scrape_cpu_ms": round(1000 * statistics.median(scrapes), 1),
                "scrape_core_share": round(statistics.median(scrapes) / SCRAPE_S, 5),
                "violations": violations,
            }
        )
    )


def measure(seeds: list[str], pages: int, *, is_on: bool) -> dict[str, float]:
    """Crawl in a new process over a new server. Return CPU a page, pages a second, CPU of a scrape, violations."""
    with tempfile.TemporaryDirectory() as name, embedded_server(Path(name) / "redis") as address:
        directory = Path(name)
        asyncio.run(_seed(address, seeds))
        reader, writer = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_crawl, args=(writer, address, directory, pages, is_on))
        process.start()
        cpu_s, wall_s = reader.recv()
        process.join()
        server = Redis.from_url(address).info("cpu")
        cpu_s += server["used_cpu_user"] + server["used_cpu_sys"]
        text = TOML.format(address=address, storage=directory / "data")
        (directory / "thresher.toml").write_text(text)
        project = OpenProject(config=configuration.parse(text, directory))
        project_metrics(project)  # makes the catalog
        before = time.process_time()
        scraped = project_metrics(project)
        scrape_s = time.process_time() - before
    counted = [
        line for line in scraped.splitlines() if line.startswith("thresher_politeness_violations_total{")
    ]
    return {
        "cpu_ms_page": 1000 * cpu_s / pages,
        "pages_s": pages / wall_s,
        "scrape_cpu_s": scrape_s,
        "violations": sum(float(line.split()[-1]) for line in counted),
    }


async def _seed(address: str, seeds: list[str]) -> None:
    link = await connect(address)
    frontier = Frontier(link, "main")
    await frontier.open(
        CrawlSettings(contact="mailto:bench@example.org", min_delay_ms=DELAY_MS, min_ip_delay_ms=0)
    )
    urls = [canonicalize(seed) for seed in seeds]
    await frontier.add([Discovery(url=url, scope=Scope.of("host", url)) for url in urls])
    await link.aclose()


def _crawl(writer, address: str, directory: Path, pages: int, is_on: bool) -> None:  # type: ignore[no-untyped-def]
    config = WorkerConfig(
        crawl="main",
        worker="w",
        redis=address,
        store=DirectoryStore(directory / "data"),
        wire=worker_module.WireSettings(allow_networks=("127.0.0.0/8",)),
        scheduling=SchedulingSettings(max_pages=pages),
        ttl_s=TTL_S,
    )
    started, before = time.perf_counter(), _cpu_s()
    if is_on:
        worker_module.run_worker(config)
    else:
        with (
            patch.object(WorkerCounters, "report", lambda *_, **__: None),
            patch.object(WorkerCounters, "add_exchange", lambda *_: None),
            patch.object(PolitenessAudit, "add_exchange", lambda *_: None),
        ):
            worker_module.run_worker(config)
    writer.send((_cpu_s() - before, time.perf_counter() - started))


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
