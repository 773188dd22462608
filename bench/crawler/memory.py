"""Memory of a worker and of the frontier's server over a long crawl of generated pages.

usage: python bench/crawler/memory.py [--pages N] [--kilobytes K] [--every S]

A server in a process of its own makes every page on request: about 100 links to other pages, words of its own, about
K kilobytes. One worker crawls N pages. Resident memory of both processes is read every S seconds. Prints one JSON
line: the highest value, in MB, until a tenth, a quarter, half and all of the pages. `growth_mb` is the worker's memory
at the end minus that at a quarter, because its caches are full by then.
"""

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

from redis.asyncio import Redis

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.processes.meter import Meter
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.wire import WireSettings
from thresher.crawler.worker import run_worker
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import CrawlSettings, Discovery, Frontier, Outcome, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.storage.directory_store import DirectoryStore

LINKS = 100
MARKS = (0.1, 0.25, 0.5, 1.0)
CRAWL = "memory"


def main() -> None:
    """Crawl, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--kilobytes", type=int, default=38)
    parser.add_argument("--every", type=float, default=2.0)
    args = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    web = context.Process(target=serve, args=(args.pages, args.kilobytes, ports), daemon=True)
    web.start()
    with tempfile.TemporaryDirectory() as directory, embedded_server(Path(directory) / "redis") as address:
        config = WorkerConfig(
            crawl=CRAWL,
            worker="w1",
            redis=address,
            store=DirectoryStore(Path(directory) / "data"),
            wire=WireSettings(allow_networks=("127.0.0.0/8",)),
            scheduling=SchedulingSettings(max_pages=args.pages),
        )
        worker = context.Process(target=run_worker, args=(config,))
        print(json.dumps(asyncio.run(measure(worker, address, f"http://127.0.0.1:{ports.get()}/0", args))))
        worker.join()
    web.kill()


async def measure(
    worker: multiprocessing.process.BaseProcess, address: str, seed: str, args: argparse.Namespace
) -> dict[str, object]:
    """Seed and crawl. Return the memory of both processes."""
    link = await connect(address)
    try:
        settings = CrawlSettings(contact="mailto:bench@example.org", min_delay_ms=0, min_ip_delay_ms=0)
        frontier = await Frontier(link, CRAWL).open(settings)
        url = canonicalize(seed)
        await frontier.add([Discovery(url=url, scope=Scope.of("host", url))])
        server = Meter(await process_of(address))
        begun = time.monotonic()
        worker.start()
        meter = Meter(worker.pid or 0)
        seen: list[tuple[int, float, float]] = []
        while worker.is_alive():
            await asyncio.sleep(args.every)  # between two samples
            pages = (await frontier.stats()).outcomes[Outcome.FETCHED]
            try:
                seen.append((pages, meter.rss() / 1e6, server.rss() / 1e6))
            except (OSError, StopIteration):
                break  # the process has ended
    finally:
        await link.aclose()
    marks = {mark: [one for one in seen if one[0] <= mark * args.pages] for mark in MARKS}
    worker_mb = {
        round(mark * args.pages): max(one[1] for one in some) for mark, some in marks.items() if some
    }
    server_mb = {
        round(mark * args.pages): max(one[2] for one in some) for mark, some in marks.items() if some
    }
    quarter = [one[1] for one in marks[0.25]]
    return {
        "bench": "memory",
        "pages": seen[-1][0],
        "wall_s": round(time.monotonic() - begun, 1),
        "worker_mb": {str(n): round(mb, 1) for n, mb in worker_mb.items()},
        "server_mb": {str(n): round(mb, 1) for n, mb in server_mb.items()},
        "growth_mb": round(seen[-1][1] - max(quarter, default=0.0), 1),
    }


async def process_of(address: str) -> int:
    """Return the process id of the server."""
    client = Redis.from_url(address)
    try:
        return int((await client.info("server"))["process_id"])
    finally:
        await client.aclose()


def serve(pages: int, kilobytes: int, ports: "multiprocessing.Queue[int]") -> None:
    """Serve pages 0 to `pages`, and a fifth more, until killed."""
    asyncio.run(_serve(round(pages * 1.2), kilobytes, ports))


async def _serve(pages: int, kilobytes: int, ports: "multiprocessing.Queue[int]") -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1][1:]
                found = path.isdigit()
                body = page_body(int(path), pages, kilobytes) if found else b""
                head = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
                writer.write(head % (b"200 OK" if found else b"404 Not Found", len(body)) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    ports.put(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def page_body(number: int, pages: int, kilobytes: int) -> bytes:
    """Return one page. Its links form a tree that reaches all pages, and others spread; its words differ by page."""
    near = [(number * 2 + n) % pages for n in (1, 2)]
    far = [(number * 7919 + n * 104_729) % pages for n in range(LINKS - 2)]
    spelled = "".join(chr(97 + int(digit)) for digit in str(number))
    links = "".join(f'<li><a href="/{other}">to {other}</a>' for other in near + far)
    words = " ".join(f"{spelled}{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}" for n in range(200))
    text = f"<p class=text>{words} and what else there is to be said of it.</p>\n"
    room = max(1, (kilobytes * 1000 - len(links)) // len(text))
    return f"<!doctype html><title>{spelled}</title><ul>{links}</ul>{text * room}".encode()


if __name__ == "__main__":
    main()
