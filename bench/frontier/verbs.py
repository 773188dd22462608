"""Measure what the frontier costs its server: CPU time and memory of a URL, by verb.

usage: python bench/frontier/verbs.py [--urls N] [--hosts H] [--grow M,M,...] [--giant N] [--delay MS] [--peer NAME ...]

The bench adds N URLs (bench/frontier/urls.py) to a crawl on an embedded server, adds them again, leases, releases and
settles them. One URL in ten is added in random order (`scattered`, the worst case); the others are added as links of
pages, those of one host together. Server CPU is that of all threads of the server's process. The server has a core of
its own, and the client has another one, so rates are per second of server CPU; wall time is only a hint. The bench
prints one JSON line for each size.

--grow   measures these sizes, in millions of URLs, one after another, each on a new server.
--giant  also measures the grants of the other hosts with and without one host of N URLs.
--peer   also puts --peer-urls URLs through another queue on a server of the same kind
         (`bench/peers/crawler/frontier_queues.py`).
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from redis import Redis

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.frontier.urls import Urls
from bench.peers import environments
from bench.processes.meter import Meter
from thresher.frontier import (
    CrawlSettings,
    Discovery,
    Frontier,
    HostRelease,
    Kind,
    Lease,
    Outcome,
    Scope,
    Settlement,
)
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.frontier.urls.canonical import url_from_canonical
from thresher.storage.directory_store import DirectoryStore

BATCH = 1000
LINKS = 40  # of one host on a page
LEASE_BATCH = 500  # leases in one call
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
CRAWL = "bench"
PEERS = {"scrapy-redis": "scrapy", "crawlee": "crawlee", "floor": "optimum"}
"""Requirements, by name."""
PREFIX = f"thresher:{{{CRAWL}:0}}:"


def main() -> None:
    """Measure, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--server", choices=["embedded"], default="embedded")
    parser.add_argument("--grow", help="measure these sizes, in millions of URLs, such as 1,10,50")
    parser.add_argument("--again", type=int, default=1_000_000, help="add at most N URLs again")
    parser.add_argument("--drain", type=int, default=500_000, help="lease and settle N pages; 0 for all")
    parser.add_argument(
        "--hot",
        type=int,
        default=0,
        help="keep N URLs in memory, and move the others into storage; 0 keeps all",
    )
    parser.add_argument(
        "--plain", action="store_true", help="only lease and settle: no release, and no sketches of pages"
    )
    parser.add_argument("--probes", type=int, default=1_000_000, help="URLs that were never added")
    parser.add_argument(
        "--dir", type=Path, help="directory for the servers' files; the default is one for temporary files"
    )
    parser.add_argument(
        "--giant", type=int, default=0, help="measure one host of N URLs beside the others; 0 measures none"
    )
    parser.add_argument(
        "--delay", type=int, default=1000, help="milliseconds between two requests to a host, with --giant"
    )
    parser.add_argument(
        "--seconds", type=float, default=10, help="seconds of grants to measure, with --giant"
    )
    parser.add_argument("--peer", action="append", default=[], choices=PEERS)
    parser.add_argument("--peer-urls", type=int, default=10_000)
    args = parser.parse_args()
    sizes = [round(1e6 * float(size)) for size in args.grow.split(",")] if args.grow else [args.urls]
    if args.giant:
        print(json.dumps(asyncio.run(measure_giant_host(args))), flush=True)
        return
    for size in sizes:
        print(json.dumps(asyncio.run(measure(args, size))), flush=True)
    for peer in args.peer:
        command = [*environments.command("crawler/frontier_queues.py", PEERS[peer]), peer]
        with start_server(args) as (address, _):
            subprocess.run([*command, "--urls", str(args.peer_urls), address], check=True)


async def measure(args: argparse.Namespace, count: int) -> dict[str, object]:
    """Measure one size."""
    urls = Urls(count, min(args.hosts, count))
    with start_server(args) as (address, meter), tempfile.TemporaryDirectory(dir=args.dir) as shelf:
        server = Redis.from_url(address)
        empty, empty_rss = server.info("memory")["used_memory"], meter.rss()
        link = await connect(address)
        frontier = await Frontier(link, CRAWL).open(CrawlSettings(min_delay_ms=0), partitions=1)
        wrong = 0
        scattered = (number for number in urls.shuffled_numbers() if number % 10 == 0)
        linked = (number for number in urls.by_page(LINKS) if number % 10)
        for name, numbers in (("new_links", linked), ("new_scattered", scattered)):
            wrong += await add_all(frontier, meter, name, urls, numbers)
        hot, hot_rss = settled_memory(server), meter.rss()
        keys = sizes(server)
        for name, order in (
            ("known_links", urls.by_page(LINKS)),
            ("known_scattered", urls.shuffled_numbers()),
        ):
            again = min(args.again, count)
            assert again == await add_all(frontier, meter, name, urls, islice(order, again))
        tail = await spilled(frontier, meter, server, Path(shelf), args.hot, hot) if args.hot else None
        probes = await false_positives(frontier, meter, urls, args.probes)
        drained = await drain(
            frontier, meter, args.drain or count, Path(shelf) if args.hot else None, plain=args.plain
        )
        stats = await frontier.stats()
        left, visited = settled_memory(server), sizes(server)
        told = {
            "bench": "frontier",
            "urls": count,
            "hosts": urls.hosts,
            "phases": meter.report(),
            "lease_settle_per_core_s": pages_per_second(
                meter, ("lease", "settle") if args.plain else ("lease", "release", "settle")
            ),
            "bytes_url_hot": round((hot - empty) / count, 1),
            "rss_url_hot": round((hot_rss - empty_rss) / count, 1),
            "bytes_url_seen": round(keys["seen"] / count, 2),
            "bytes_host": {name: round(visited[name] / urls.hosts, 1) for name in visited if name != "seen"},
            "tail": tail,
            "settled": drained,
            "bytes_url_left": round((left - empty) / count, 1),
            "waiting_after": stats.waiting,
            "new_called_known": wrong,
            "probes": args.probes,
            "probes_called_known": probes,
            "peak_rss_mb": round(meter.peak_rss() / 1e6, 1),
            "rewriting_cpu_s": meter.rewriting_s(),
            "stored_mb": round(stored(server) / 1e6, 1),
        }
        await link.aclose()
        return told


async def add_all(frontier: Frontier, meter: Meter, name: str, urls: Urls, numbers: Iterable[int]) -> int:
    """Add URLs; prepare each batch while the server works on the batch before. Return how many were known."""
    known = 0
    with meter.phase(name) as phase:
        under_way: asyncio.Task[Any] | None = None
        for some in batches(discoveries(urls, numbers), BATCH):
            if under_way:
                known += (await under_way).known
            under_way = asyncio.create_task(frontier.add(some))
            await asyncio.sleep(0)
            phase.n += len(some)
        if under_way:
            known += (await under_way).known
    return known


async def spilled(
    frontier: Frontier, meter: Meter, server: Redis, shelf: Path, most: int, before: int
) -> dict[str, object]:
    """Move all but `most` waiting URLs into storage. Return what a URL costs there and in memory."""
    with meter.phase("spill") as phase:
        phase.n += await frontier.tail(DirectoryStore(shelf), max_in_memory=most).spill()
    stats = await frontier.stats()
    after = settled_memory(server)
    n = max(stats.tail, 1)
    tail_bytes = sum(
        server.memory_usage(key, samples=0) or 0 for key in server.scan_iter(f"{PREFIX}r:*", count=10_000)
    )
    return {
        "urls": stats.tail,
        "bytes_url_freed": round((before - after) / n, 1),
        "bytes_url_ram": round(tail_bytes / n, 2),
        "bytes_url_storage": round(bytes_below(shelf) / n, 1),
        "used_mb": round(after / 1e6, 1),
    }


async def drain(frontier: Frontier, meter: Meter, pages: int, shelf: Path | None, *, plain: bool) -> int:
    """Lease, release, settle. Every host's robots.txt comes first, and is counted by itself."""
    draw = random.Random(3)
    done = 0
    tail = frontier.tail(DirectoryStore(shelf)) if shelf else None
    while done < pages:
        if tail:
            with meter.phase("refill") as phase:
                phase.n += await tail.refill()
        with meter.phase("take"):
            leases = await frontier.lease(LEASE_BATCH, worker="bench", lease_ms=HOUR_MS)
        spent = meter.phases.pop("take")
        found = [lease for lease in leases if lease.kind is Kind.PAGE]
        if not leases:
            break
        kind = "lease" if len(found) == len(leases) else "lease_robots"
        add(meter, kind, spent, len(leases))
        if robots := [lease for lease in leases if lease.kind is Kind.ROBOTS]:
            with meter.phase("settle_robots") as phase:
                await allow(frontier, robots)
            phase.n += len(robots)
        if found:
            if not plain:
                with meter.phase("release") as phase:
                    await frontier.release([HostRelease(lease=lease, elapsed_ms=50) for lease in found])
                phase.n += len(found)
            with meter.phase("settle") as phase:
                accepted = await frontier.settle(
                    [fetched(lease, None if plain else draw.getrandbits(32)) for lease in found]
                )
            phase.n += len(found)
            assert accepted == len(found)
            done += accepted
    return done


async def allow(frontier: Frontier, leases: Sequence[Lease]) -> None:
    """Answer every robots.txt with "go on", all at once."""
    await asyncio.gather(
        *(
            frontier.origins.settle_robots(lease, rule="allow", body=b"", ttl_ms=DAY_MS, delay_ms=None)
            for lease in leases
        )
    )


async def measure_giant_host(args: argparse.Namespace) -> dict[str, object]:
    """Measure the grants of a crawl under a delay, with and without one host of --giant URLs."""
    return {
        "bench": "frontier-giant",
        "urls": args.urls,
        "hosts": args.hosts,
        "giant": args.giant,
        "delay_ms": args.delay,
        "without": await grants(args, 0),
        "with": await grants(args, args.giant),
    }


async def grants(args: argparse.Namespace, size: int) -> dict[str, object]:
    """Lease and settle for --seconds seconds. Return the grants of the giant host and those of the others."""
    urls = Urls(args.urls, args.hosts)
    name = "www.giant.example"
    scope = Scope(kind="host", anchor=name)
    with start_server(args) as (address, meter):
        link = await connect(address)
        frontier = await Frontier(link, CRAWL).open(CrawlSettings(min_delay_ms=args.delay), partitions=1)
        for some in batches(discoveries(urls, urls.by_page(LINKS)), BATCH):
            await frontier.add(some)
        pages = (f"https://{name}{urls.path(number)}" for number in range(size))
        for some in batches(
            (Discovery(url=url_from_canonical(page, page), scope=scope) for page in pages), BATCH
        ):
            with meter.phase("add_giant") as phase:
                await frontier.add(some)
            phase.n += len(some)
        draw = random.Random(3)
        took: list[float] = []
        granted = Counter[str]()
        end = time.perf_counter() + args.seconds
        while time.perf_counter() < end:
            wall = time.perf_counter()
            with meter.phase("lease") as phase:
                leases = await frontier.lease(LEASE_BATCH, worker="bench", lease_ms=HOUR_MS)
            took.append(time.perf_counter() - wall)
            phase.n += len(leases)
            with meter.phase("end") as phase:
                await frontier.release([HostRelease(lease=lease, elapsed_ms=50) for lease in leases])
                await allow(frontier, [lease for lease in leases if lease.kind is Kind.ROBOTS])
                await frontier.settle(
                    [fetched(lease, draw.getrandbits(32)) for lease in leases if lease.kind is Kind.PAGE]
                )
            phase.n += len(leases)
            for lease in leases:
                granted[lease.url.host] += 1
        took.sort()
        await link.aclose()
        return {
            "phases": meter.report(),
            "grants_giant": granted[name],
            "grants_others": granted.total() - granted[name],
            "hosts": len(granted),
            "lease_ms_p50": round(1000 * took[len(took) // 2], 2),
            "lease_ms_p99": round(1000 * took[len(took) * 99 // 100], 2),
            "peak_rss_mb": round(meter.peak_rss() / 1e6, 1),
        }


async def false_positives(frontier: Frontier, meter: Meter, urls: Urls, probes: int) -> int:
    """Return how many of so many URLs that were never added are taken for known. The more URLs a host has, the more
    probes it gets.
    """
    draw = random.Random(4)
    found = 0
    for _ in range(0, probes, BATCH):
        hosts = [urls.host(urls.rank(draw.randrange(urls.count))) for _ in range(BATCH)]
        texts = [f"https://{host}/never-added/{draw.getrandbits(64):x}" for host in hosts]
        wanted = [url_from_canonical(text, text) for text in texts]
        with meter.phase("probe") as phase:
            found += sum(await frontier.knows(wanted))
        phase.n += BATCH
    return found


def discoveries(urls: Urls, numbers: Iterable[int]) -> Iterator[Discovery]:
    """Yield the discoveries that a crawler would make of some links: canonical, in the scope of their host, and found
    on another page of it.
    """
    scopes: dict[int, tuple[str, Scope]] = {}
    for number in numbers:
        rank = urls.rank(number)
        if rank not in scopes:
            host = urls.host(rank)
            scopes[rank] = f"https://{host}", Scope(kind="host", anchor=host)
        origin, scope = scopes[rank]
        text = origin + urls.path(number)
        first = urls.first(rank)
        page = origin + urls.path(first + (number - first) // LINKS, like=number)
        yield Discovery(
            url=url_from_canonical(text, text), scope=scope, depth=urls.depth(number), referrer=page
        )


def fetched(lease: Lease, sketch: int | None) -> Settlement:
    """Return the settlement of a fetched page, with a sketch of its text or without."""
    return Settlement(lease=lease, outcome=Outcome.FETCHED, sketch=sketch)


def batches(items: Iterable[Any], most: int) -> Iterator[list[Any]]:
    """Yield lists of `most` items; the last may be shorter."""
    source = iter(items)
    while some := list(islice(source, most)):
        yield some


def add(meter: Meter, name: str, spent: Any, n: int) -> None:
    """Add the costs of a call to the phase that its result belongs to."""
    with meter.phase(name) as phase:
        pass
    phase.n += n
    for what in ("server_s", "client_s", "wall_s", "written"):
        setattr(phase, what, getattr(phase, what) + getattr(spent, what))


def pages_per_second(meter: Meter, names: Sequence[str]) -> int:
    """Return the pages that go through all of some phases, a second of server CPU."""
    cost = sum(
        meter.phases[name].server_s / max(meter.phases[name].n, 1) for name in names if name in meter.phases
    )
    return round(1 / cost) if cost else 0


def settled_memory(server: Redis) -> int:
    """Return the used memory once everything is written and the clients' buffers are empty.

    The server frees the buffer of a client that has been idle for two seconds, and no command says when.
    """
    time.sleep(2.5)
    return server.info("memory")["used_memory"]


def sizes(server: Redis) -> dict[str, int]:
    """Return the bytes of each key that is not a queue."""
    names = ("seen", "hosts", "domains", "ready:1", "robots", "rings", "standings")
    return {name: server.memory_usage(f"{PREFIX}{name}", samples=0) or 0 for name in names}


def bytes_below(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def stored(server: Redis) -> int:
    """Return the bytes of the append-only files."""
    return server.info("persistence")["aof_current_size"]


@contextmanager
def start_server(args: argparse.Namespace) -> Iterator[tuple[str, Meter]]:
    """Start a server on the first core, with this process on the others. Yield its address and its meter."""
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(dir=args.dir) as directory:
        with embedded_server(Path(directory) / "frontier") as address:
            with Redis.from_url(address) as client:
                pid = client.info("server")["process_id"]
            for task in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), cores[:1])
            os.sched_setaffinity(0, cores[1:] or cores)
            yield address, Meter(pid)
        os.sched_setaffinity(0, cores)


if __name__ == "__main__":
    main()
