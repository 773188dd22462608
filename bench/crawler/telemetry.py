"""CPU of the figures, the politeness audit and the metrics at full crawl speed, paired with a crawl without them.

usage: python bench/crawler/telemetry.py [--pages N] [--pairs N]

One worker crawls 20 hosts on loopback (pages of 20 kB with 40 links) with a delay of 1 ms, so that every exchange is
audited. Half of the crawls report no figures and audit nothing; the two kinds run in turn (with, without, without,
with). CPU is user + system time of the worker and of the frontier's server. A scrape is measured apart: its CPU over
the time between two scrapes is its share of one core. On a busy machine the pairs scatter by more than what they
measure. So figures and audit are also measured alone: 40,000 exchanges of 5,000 hosts, reported as a worker does.
Prints one JSON line.
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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

from redis import Redis

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from thresher.crawler import worker as worker_module
from thresher.crawler.connectivity.politeness_audit import PolitenessAudit
from thresher.crawler.machine.worker_counters import WorkerCounters, machine_use
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.wire import SentExchange, WireSettings
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import CrawlSettings, Discovery, Frontier, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline import configuration
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports.metrics import project_metrics
from thresher.storage.directory_store import DirectoryStore

SCRAPE_S = 30
"""Seconds between two scrapes, as deploy/prometheus has them."""
TTL_S = 6.0
"""A third of it is the time between two heartbeats: five times as many as usual, so that a short crawl has some."""
DELAY_MS = 1
HOSTS = 20
EXCHANGES, PAGES_A_SECOND, HEARTBEAT_S = 40_000, 200, 10
"""Of the measurement without a crawl."""
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
    with _web() as seeds:
        for pair in range(args.pairs):
            for is_on in (True, False) if pair % 2 == 0 else (False, True):
                measured = measure(seeds, args.pages, is_on=is_on)
                found[is_on].append(measured["cpu_ms_page"])
                if is_on:
                    speeds.append(measured["pages_s"])
                    scrapes.append(measured["scrape_cpu_s"])
                    violations += int(measured["violations"])
    with tempfile.TemporaryDirectory() as name, embedded_server(Path(name) / "redis") as address:
        alone_us = asyncio.run(_exchange_cost_us(address, Path(name)))
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
                "alone_us_exchange": round(alone_us, 1),
                "alone_share": round(alone_us / 1000 / statistics.median(found[False]), 4),
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
        cpu_s += _server_cpu_s(Redis.from_url(address))
        text = TOML.format(address=address, storage=directory / "data")
        (directory / "thresher.toml").write_text(text)
        project = OpenProject(config=configuration.parse(text, directory))
        project_metrics(project)  # makes the catalog
        before = time.process_time()
        scraped = project_metrics(project)
        scrape_s = time.process_time() - before
        fetched = int(Redis.from_url(address).hget("thresher:{main:0}:outcomes", "fetched") or 0)
    counted = [
        line for line in scraped.splitlines() if line.startswith("thresher_politeness_violations_total{")
    ]
    assert fetched >= pages, f"only {fetched} pages"
    return {
        "cpu_ms_page": 1000 * cpu_s / fetched,
        "pages_s": fetched / wall_s,
        "scrape_cpu_s": scrape_s,
        "violations": sum(float(line.split()[-1]) for line in counted),
    }


@contextmanager
def _web() -> Iterator[list[str]]:
    """Serve the pages in a process of their own, and yield a URL of each host."""
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    server = context.Process(target=_serve, args=(writer,))
    server.start()
    port = reader.recv()
    try:
        yield [f"http://127.19.0.{host}:{port}/0" for host in range(1, HOSTS + 1)]
    finally:
        server.kill()
        server.join()


def _serve(writer: Connection) -> None:
    async def answer(reader: asyncio.StreamReader, response: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while request := await reader.readuntil(b"\r\n\r\n"):
                number = request.split(b" ")[1][1:]
                status, body = "404 Not Found", b""
                if number.isdigit():
                    status, body = "200 OK", _page(int(number))
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
                response.write(head.encode() + body)
                await response.drain()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "0.0.0.0", 0)
        writer.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


def _page(number: int) -> bytes:
    links = "".join(f'<a href="/{number * 40 + each}">{each}</a>' for each in range(1, 41))
    words = " ".join(f"word{(number * 7 + each) % 997}" for each in range(2_400))
    return f"<html><body><p>{words}</p>{links}</body></html>".encode()


async def _exchange_cost_us(address: str, directory: Path) -> float:
    """Return the CPU of one exchange for figures and audit alone, worker and server, in microseconds."""
    link = await connect(address)
    frontier = Frontier(link, "costs")
    await frontier.open(CrawlSettings(contact="mailto:bench@example.org", min_delay_ms=DELAY_MS))
    counters = WorkerCounters()
    audit = PolitenessAudit(frontier, counters)
    store, server = DirectoryStore(directory / "none"), Redis.from_url(address)
    before = time.process_time() + _server_cpu_s(server)
    for number in range(EXCHANGES):
        now = time.monotonic()
        exchange = SentExchange(
            host=f"host-{number % 5_000}.example.org",
            started_at=now - 0.002,
            ended_at=now - 0.001,
            requests=1,
            bytes_received=20_000,
            in_burst=False,
        )
        counters.add_exchange(exchange)
        audit.add_exchange(exchange)
        if number % PAGES_A_SECOND == 0:
            await audit.report_exchanges()
        if number % (PAGES_A_SECOND * HEARTBEAT_S) == 0:
            report = counters.report(
                bytes_stored=0, gate_wait_s=0.0, store=store.call_times(), used=machine_use()
            )
            await frontier.workers.send_heartbeat("w", report=report)
    cpu_s = time.process_time() + _server_cpu_s(server) - before
    await link.aclose()
    return 1e6 * cpu_s / EXCHANGES


def _server_cpu_s(server: Redis) -> float:
    cpu = server.info("cpu")
    return float(cpu["used_cpu_user"] + cpu["used_cpu_sys"])


async def _seed(address: str, seeds: list[str]) -> None:
    link = await connect(address)
    frontier = Frontier(link, "main")
    await frontier.open(
        CrawlSettings(contact="mailto:bench@example.org", min_delay_ms=DELAY_MS, min_ip_delay_ms=0)
    )
    urls = [canonicalize(seed) for seed in seeds]
    await frontier.add([Discovery(url=url, scope=Scope.of("host", url)) for url in urls])
    await link.aclose()


def _crawl(writer: Connection, address: str, directory: Path, pages: int, is_on: bool) -> None:
    config = WorkerConfig(
        crawl="main",
        worker="w",
        redis=address,
        store=DirectoryStore(directory / "data"),
        wire=WireSettings(allow_networks=("127.0.0.0/8",)),
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
