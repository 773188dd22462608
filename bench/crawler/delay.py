"""Measure how much later than its delay a host is requested, and what a waiting worker costs the frontier.

usage: python bench/crawler/delay.py [--delay SECONDS ...] [--pages N] [--workers N] [--idle SECONDS]

The script crawls one host on loopback for each --delay (default: 0.02, 0.2 and 1 s), and measures, at the server, the
time from the end of each response to the start of the next request. The keys `extra_ms_mean`, `extra_ms_max` and
`extra_ms_min` are that time minus the delay. Then it
requests two pages of a host --idle seconds apart, and counts what happens between them: the calls of functions on the
frontier's server, and the CPU time of the worker processes. It prints one JSON line for each.
"""

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil
from redis import Redis

from bench.processes.waiting import wait_until
from thresher.crawler.wire import WireSettings
from thresher.crawler.worker import run_worker
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import CrawlSettings, Discovery, Frontier, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.storage.directory_store import DirectoryStore

SPAWN = multiprocessing.get_context("spawn")
LEAD_S, TRAIL_S = 1.0, 2.0
"""Seconds after the first page and before the second one that `idle` leaves out."""
MIN_IDLE_S = LEAD_S + TRAIL_S + 1
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"


class Host:
    """A host on loopback that records when each request came, and when its response was written."""

    def __init__(self) -> None:
        self.came: list[float] = []
        self.went: list[float] = []
        self.port = 0

    @contextmanager
    def served(self) -> Iterator["Host"]:
        """Serve in a thread."""
        loop, up, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

        async def run() -> None:
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            up.set()
            await over.wait()
            server.close()

        thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
        thread.start()
        up.wait()
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(over.set)
            thread.join()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.came.append(time.monotonic())
                writer.write(RESPONSE)
                self.went.append(time.monotonic())
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def main() -> None:
    """Measure each delay, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delay", type=float, nargs="*", default=[0.02, 0.2, 1.0])
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--idle", type=float, default=10.0, help=f"seconds, at least {MIN_IDLE_S}")
    args = parser.parse_args()
    if args.idle < MIN_IDLE_S:
        parser.error(f"--idle must be at least {MIN_IDLE_S} s")
    with tempfile.TemporaryDirectory() as name, embedded_server(Path(name) / "redis") as address:
        for delay in args.delay:
            with Host().served() as host:
                crawl = f"delay-{delay:g}"
                seed(address, crawl, host, args.pages, delay)
                run(address, crawl, Path(name) / crawl, args.workers)
                extra = [
                    1000 * (came - went - delay) for went, came in zip(host.went, host.came[1:], strict=False)
                ]
            print(
                json.dumps(
                    {
                        "bench": "delay",
                        "delay_s": delay,
                        "workers": args.workers,
                        "gaps": len(extra),
                        "extra_ms_mean": round(mean(extra), 1),
                        "extra_ms_max": round(max(extra), 1),
                        "extra_ms_min": round(min(extra), 1),
                    }
                )
            )
        print(json.dumps(idle(address, Path(name), args.idle, args.workers)))


def idle(address: str, directory: Path, delay: float, workers: int) -> dict[str, object]:
    """Return what happens between two pages of a host with this delay."""
    with Host().served() as host:
        seed(address, "idle", host, 2, delay)
        running = start(address, "idle", directory / "idle", workers)
        wait_until(lambda: len(host.came) >= 2, "robots.txt and the first page")
        # What is measured is a time in which nothing happens.
        time.sleep(LEAD_S)
        before, cpu, begun = calls(address), cpu_s(running), time.monotonic()
        time.sleep(delay - LEAD_S - TRAIL_S)
        wall = time.monotonic() - begun
        asked, spent = calls(address) - before, cpu_s(running) - cpu
        for each in running:
            each.join()
    return {
        "bench": "idle",
        "workers": workers,
        "seconds": round(wall, 1),
        "calls_s_worker": round(asked / wall / workers, 2),
        "cpu_ms_s_worker": round(1000 * spent / wall / workers, 2),
    }


def seed(address: str, crawl: str, host: Host, pages: int, delay: float) -> None:
    """Add this number of pages of a host that is asked at that delay."""

    async def add() -> None:
        link = await connect(address)
        settings = CrawlSettings(
            contact="mailto:bench@example.org", min_delay_ms=round(delay * 1000), min_ip_delay_ms=0
        )
        frontier = await Frontier(link, crawl).open(settings)
        urls = [canonicalize(f"http://127.0.0.1:{host.port}/{n}") for n in range(pages)]
        await frontier.add([Discovery(url=url, scope=Scope.of("host", url)) for url in urls])
        await link.aclose()

    asyncio.run(add())


def start(address: str, crawl: str, directory: Path, workers: int) -> list[psutil.Process]:
    """Start this number of workers."""
    made = []
    for n in range(workers):
        config = WorkerConfig(
            crawl=crawl,
            worker=f"w{n}",
            redis=address,
            store=DirectoryStore(directory),
            wire=WireSettings(allow_networks=("127.0.0.0/8",)),
        )
        process = SPAWN.Process(target=run_worker, args=(config,))
        process.start()
        made.append(process)
    return made


def run(address: str, crawl: str, directory: Path, workers: int) -> None:
    """Crawl until all workers have ended."""
    for process in start(address, crawl, directory, workers):
        process.join()


def calls(address: str) -> int:
    """Return the number of function calls that the frontier's server has answered."""
    client = Redis.from_url(address)
    stats = client.info("commandstats")
    client.close()
    return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("fcall", "fcall_ro"))


def cpu_s(running: list[psutil.Process]) -> float:
    """Return the CPU seconds that processes have used so far."""
    return sum(sum(psutil.Process(each.pid).cpu_times()[:2]) for each in running)


if __name__ == "__main__":
    main()
