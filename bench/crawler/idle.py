"""How long a worker does nothing while pages wait: a crawl of a few hosts without delay.

usage: python bench/crawler/idle.py --seed URL [--seed URL ...] [--pages N]

The sites must be up, for example by `python bench/crawler/sites.py --dir DIR cppreference-doc-en-html python3.11-doc`.
`idle_s` are the seconds in which the worker's main thread neither ran nor waited for a core (`/proc/self/schedstat`),
so other programs on the machine matter little. Calls of the frontier are counted beside it: leases that were granted
and went back without a request, polls in vain, and settlements. Prints one JSON line.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.wire import WireSettings
from thresher.crawler.worker import run_worker
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import CrawlSettings, Discovery, Frontier, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.storage.directory_store import DirectoryStore

CRAWL = "idle"


def main() -> None:
    """Crawl, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", action="append", required=True)
    parser.add_argument("--pages", type=int, default=2_500)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, embedded_server(Path(directory) / "redis") as address:
        asyncio.run(seed(address, args.seed))
        with counted() as calls:
            started_at, busy_s = time.monotonic(), occupied_s()
            run_worker(
                WorkerConfig(
                    crawl=CRAWL,
                    worker="w",
                    redis=address,
                    store=DirectoryStore(Path(directory) / "data"),
                    wire=WireSettings(allow_networks=("127.0.0.0/8",)),
                    scheduling=SchedulingSettings(max_pages=args.pages),
                )
            )
            wall_s, busy_s = time.monotonic() - started_at, occupied_s() - busy_s
    line = {"bench": "idle", "idle_s": round(wall_s - busy_s, 2), "wall_s": round(wall_s, 2), **calls}
    print(json.dumps(line))


def occupied_s() -> float:
    """Seconds for which the main thread has run, or has waited for a core (proc(5))."""
    ran_ns, waited_ns, _ = map(int, Path("/proc/self/schedstat").read_text().split())
    return (ran_ns + waited_ns) / 1e9


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the calls of the frontier."""
    calls: Counter[str] = Counter()
    lease, postpone_all, settle = Frontier.lease, Frontier.postpone_all, Frontier.settle

    async def counted_lease(self: Frontier, *args: Any, **named: Any) -> Any:
        granted = await lease(self, *args, **named)
        calls["polls_in_vain"] += not granted
        return granted

    async def counted_postpone_all(self: Frontier, waits: Any, **named: Any) -> Any:
        calls["gone_back"] += len(waits)
        return await postpone_all(self, waits, **named)

    async def counted_settle(self: Frontier, settlements: Any, **named: Any) -> Any:
        calls["settlements"] += 1
        calls["settled"] += len(settlements)
        return await settle(self, settlements, **named)

    Frontier.lease = counted_lease  # type: ignore[method-assign]
    Frontier.postpone_all = counted_postpone_all  # type: ignore[method-assign]
    Frontier.settle = counted_settle  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        Frontier.lease, Frontier.postpone_all, Frontier.settle = lease, postpone_all, settle  # type: ignore[method-assign]


async def seed(address: str, urls: list[str], crawl: str = CRAWL) -> None:
    """Add the seeds."""
    link = await connect(address)
    try:
        settings = CrawlSettings(contact="mailto:bench@example.org", min_delay_ms=0, min_ip_delay_ms=0)
        frontier = await Frontier(link, crawl).open(settings)
        pages = [canonicalize(url) for url in urls]
        await frontier.add([Discovery(url=url, scope=Scope.of("host", url)) for url in pages])
    finally:
        await link.aclose()


if __name__ == "__main__":
    main()
