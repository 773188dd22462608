"""What the frontier costs its server: time and memory a URL, by verb.

usage: python bench/frontier.py [--urls N] [--hosts H] [--grow M,M,...] [--giant N] [--delay MS] [--peer NAME ...]

N URLs (bench/urls.py) are added to a crawl on an embedded server, found again, leased, released and settled; one in ten
is added in random order (`scattered`, the worst case), the others as links of pages, of one host together. Server CPU
is of all threads of its process; it has a core of its own, the client the other one, which asks and waits: rates are
per second of server CPU, wall time is a hint. Prints one JSON line for each size.

--grow   sizes in millions, one after the other, each on a new server.
--giant  beside it, the grants of the other hosts with and without one host of so many URLs.
--peer   so many URLs (--peer-urls) through another queue, or none, on a server of the same kind:
         `bench/peers/frontier_queues.py`.
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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from redis import Redis

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from meter import Meter  # noqa: E402 - a script finds the packages only now
from urls import Urls  # noqa: E402

from bench.peers import environments  # noqa: E402
from frontier import (  # noqa: E402
    Budget,
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
from frontier.link.call import Call, Link  # noqa: E402
from frontier.link.connect import connect  # noqa: E402
from frontier.link.embedded import embedded_server  # noqa: E402
from frontier.urls.canonical import url_from_canonical  # noqa: E402
from storage.directory_store import DirectoryStore  # noqa: E402

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
    parser.add_argument("--grow", help="sizes in millions, such as 1,10,50")
    parser.add_argument("--again", type=int, default=1_000_000, help="known URLs added again, at most")
    parser.add_argument("--drain", type=int, default=500_000, help="pages leased and settled; 0 for all")
    parser.add_argument(
        "--hot", type=int, default=0, help="URLs that stay in memory, the others go into storage"
    )
    parser.add_argument(
        "--plain", action="store_true", help="lease and settle only: no release, nothing said of pages"
    )
    parser.add_argument("--probes", type=int, default=1_000_000, help="hashes that were never added")
    parser.add_argument(
        "--dir", type=Path, help="where servers keep their files; a temporary directory if not said"
    )
    parser.add_argument("--giant", type=int, default=0, help="URLs of one host")
    parser.add_argument("--delay", type=int, default=1000, help="milliseconds, of --giant")
    parser.add_argument("--seconds", type=float, default=10, help="of grants, of --giant")
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
        command = [*environments.command("frontier_queues.py", PEERS[peer]), peer]
        with start_server(args) as (address, _):
            subprocess.run([*command, "--urls", str(args.peer_urls), address], check=True)


async def measure(args: argparse.Namespace, count: int) -> dict[str, object]:
    """One size."""
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
        await frontier.crawl.update_settings(CrawlSettings(min_delay_ms=0, budget=Budget(host=0)))
        probes = await false_positives(link, meter, args.probes)
        drained = await drain(
            frontier, link, meter, args.drain or count, Path(shelf) if args.hot else None, plain=args.plain
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
    """Add URLs, a batch being made while the server works on the one before; returns how many were known."""
    known_ = 0
    with meter.phase(name) as phase:
        under_way: asyncio.Task[Any] | None = None
        for some in batches(discoveries(urls, numbers), BATCH):
            if under_way:
                known_ += (await under_way).known
            under_way = asyncio.create_task(frontier.add(some))
            await asyncio.sleep(0)
            phase.n += len(some)
        if under_way:
            known_ += (await under_way).known
    return known_


async def spilled(
    frontier: Frontier, meter: Meter, server: Redis, shelf: Path, most: int, before: int
) -> dict[str, object]:
    """Put into storage what there is too much of, and what it costs there and here."""
    with meter.phase("spill") as phase:
        phase.n += await frontier.tail(DirectoryStore(shelf), max_in_memory=most).spill()
    stats = await frontier.stats()
    after = settled_memory(server)
    n = max(stats.tail, 1)
    kept = sum(
        server.memory_usage(key, samples=0) or 0 for key in server.scan_iter(f"{PREFIX}r:*", count=10_000)
    )
    return {
        "urls": stats.tail,
        "bytes_url_freed": round((before - after) / n, 1),
        "bytes_url_ram": round(kept / n, 2),
        "bytes_url_storage": round(bytes_below(shelf) / n, 1),
        "used_mb": round(after / 1e6, 1),
    }


async def drain(
    frontier: Frontier, link: Link, meter: Meter, pages: int, shelf: Path | None, *, plain: bool
) -> int:
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
        taken = meter.phases.pop("take")
        found = [lease for lease in leases if lease.kind is Kind.PAGE]
        if not leases:
            break
        kind = "lease" if len(found) == len(leases) else "lease_robots"
        add(meter, kind, taken, len(leases))
        if robots := [lease for lease in leases if lease.kind is Kind.ROBOTS]:
            with meter.phase("settle_robots") as phase:
                await allow(link, robots)
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


async def allow(link: Link, leases: Sequence[Lease]) -> None:
    """Answer every robots.txt with "go on", in one round trip; workers have one for each."""
    await link.call(
        [
            Call("settle_robots", (f"{PREFIX}count",), (lease.token, "allow", b"", DAY_MS, 0, "", 0))
            for lease in leases
        ]
    )


async def measure_giant_host(args: argparse.Namespace) -> dict[str, object]:
    """Grants of a crawl under a delay, with and without one host that has as many URLs as all others, or more."""
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
    """Lease and settle for some seconds; what the giant got, and what the others."""
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
        got = {"giant": 0, "others": 0, "hosts": set()}
        end = time.perf_counter() + args.seconds
        while time.perf_counter() < end:
            wall = time.perf_counter()
            with meter.phase("lease") as phase:
                leases = await frontier.lease(LEASE_BATCH, worker="bench", lease_ms=HOUR_MS)
            took.append(time.perf_counter() - wall)
            phase.n += len(leases)
            with meter.phase("end") as phase:
                await frontier.release([HostRelease(lease=lease, elapsed_ms=50) for lease in leases])
                await allow(link, [lease for lease in leases if lease.kind is Kind.ROBOTS])
                await frontier.settle(
                    [fetched(lease, draw.getrandbits(32)) for lease in leases if lease.kind is Kind.PAGE]
                )
            phase.n += len(leases)
            for lease in leases:
                got["giant" if lease.url.host == name else "others"] += 1
                got["hosts"].add(lease.url.host)
        took.sort()
        await link.aclose()
        return {
            "phases": meter.report(),
            "grants_giant": got["giant"],
            "grants_others": got["others"],
            "hosts": len(got["hosts"]),
            "lease_ms_p50": round(1000 * took[len(took) // 2], 2),
            "lease_ms_p99": round(1000 * took[len(took) * 99 // 100], 2),
            "peak_rss_mb": round(meter.peak_rss() / 1e6, 1),
        }


async def false_positives(link: Link, meter: Meter, probes: int) -> int:
    """How many of so many hashes that were never added are taken for known. The probes are let in nowhere: their
    budget is 0.
    """
    draw = random.Random(4)
    host = "probe.example"
    found = 0
    for _ in range(0, probes, BATCH):
        pairs = [part for _ in range(BATCH) for part in (draw.randbytes(7), b"")]
        with meter.phase("probe") as phase:
            ((_, told, *_),) = await link.call(
                [Call("add", (f"{PREFIX}count",), (0, host, host, BATCH, *pairs))]
            )
        phase.n += BATCH
        found += told
    return found


def discoveries(urls: Urls, numbers: Iterable[int]) -> Iterator[Discovery]:
    """What a crawler would have made of some links: canonical already, of the scope of their host, found on another of
    its pages.
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
    """A page that says something new, or nothing that anybody heard."""
    return Settlement(lease=lease, outcome=Outcome.FETCHED, sketch=sketch)


def batches(items: Iterable[Any], most: int) -> Iterator[list[Any]]:
    """Lists of so many."""
    source = iter(items)
    while some := list(islice(source, most)):
        yield some


def add(meter: Meter, name: str, spent: Any, n: int) -> None:
    """Count a call by what it turned out to be."""
    with meter.phase(name) as phase:
        pass
    phase.n += n
    for what in ("server_s", "client_s", "wall_s", "written"):
        setattr(phase, what, getattr(phase, what) + getattr(spent, what))


def pages_per_second(meter: Meter, names: Sequence[str]) -> int:
    """Pages a second of server CPU that go through all of some phases."""
    cost = sum(
        meter.phases[name].server_s / max(meter.phases[name].n, 1) for name in names if name in meter.phases
    )
    return round(1 / cost) if cost else 0


def settled_memory(server: Redis) -> int:
    """Used memory once everything is written and no client has a long line."""
    time.sleep(2.5)
    return server.info("memory")["used_memory"]


def sizes(server: Redis) -> dict[str, int]:
    """Bytes of the keys that are not queues, each counted whole."""
    names = ("seen", "hosts", "domains", "ready:1", "robots", "rings", "standings")
    return {name: server.memory_usage(f"{PREFIX}{name}", samples=0) or 0 for name in names}


def bytes_below(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def stored(server: Redis) -> int:
    """Bytes of the append-only files."""
    return server.info("persistence")["aof_current_size"]


@contextmanager
def start_server(args: argparse.Namespace) -> Iterator[tuple[str, Meter]]:
    """A new server on the first core, this process on the others; its address and what measures it."""
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
