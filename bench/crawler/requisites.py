"""What requisites cost a plain crawl: CPU, requests and archived bytes a page, with and without them.

usage: python bench/crawler/requisites.py --seed URL [--seed URL ...] [--pages N] [--repeat N]
       python bench/crawler/requisites.py --seed URL [--seed URL ...] --weekly N [--pages N]

The sites must be up, for example by `python bench/crawler/sites.py --dir DIR python-django-doc postgresql-doc-15`. Both
crawls fetch the same number of pages of the same sites, without delays, one after the other, as often as --repeat says;
each figure is the median. CPU is that of the worker's process, without the frontier's server. Prints one JSON line.

With --weekly, N crawls with requisites follow each other in one project, with `crawler.revisits` either way, and the
figures are those of each crawl. The sites should be small enough to be crawled whole, so that all fetch the same pages.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.crawler.idle import seed
from thresher.crawler.archive_settings import ArchiveSettings
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.wire import WireSettings
from thresher.crawler.worker import run_worker
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import Frontier, Stats
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.storage.directory_store import DirectoryStore

FIGURES = ("cpu_ms", "requests", "kilobytes")


def main() -> None:
    """Crawl in turn, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", action="append", required=True)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--weekly", type=int, default=0)
    args = parser.parse_args()
    if args.weekly:
        print(json.dumps({"bench": "weekly", **weekly(args.seed, args.pages, args.weekly)}))
        return
    found = {
        name: [crawl(args.seed, args.pages, requisites=is_on) for _ in range(args.repeat)]
        for name, is_on in (("without", False), ("with", True))
    }
    line = {
        name: {figure: round(median(each[figure] for each in runs), 2) for figure in FIGURES}
        for name, runs in found.items()
    }
    print(json.dumps({"bench": "requisites", "pages": args.pages, **line}))


def weekly(seeds: list[str], pages: int, crawls: int) -> dict[str, list[dict[str, float]]]:
    """Return the figures of crawls that follow each other, for each value of the setting."""
    found = {}
    for name, settings in (
        ("crawl", ArchiveSettings(requisites=True)),
        ("project", ArchiveSettings(requisites=True, revisits="project")),
    ):
        with tempfile.TemporaryDirectory() as data:
            found[name] = [
                archive(f"week-{number}", Path(data), seeds, pages, settings) for number in range(crawls)
            ]
    return found


def crawl(seeds: list[str], pages: int, *, requisites: bool) -> dict[str, float]:
    """Return the figures of one crawl, a page."""
    with tempfile.TemporaryDirectory() as data:
        return archive("idle", Path(data), seeds, pages, ArchiveSettings(requisites=requisites))


def archive(
    name: str, data: Path, seeds: list[str], pages: int, settings: ArchiveSettings
) -> dict[str, float]:
    """Crawl into a storage, and return the figures, a page."""
    with tempfile.TemporaryDirectory() as directory, embedded_server(Path(directory) / "redis") as address:
        asyncio.run(seed(address, seeds, name))
        begun = time.process_time()
        run_worker(
            WorkerConfig(
                crawl=name,
                worker="w",
                redis=address,
                store=DirectoryStore(data),
                wire=WireSettings(allow_networks=("127.0.0.0/8",)),
                scheduling=SchedulingSettings(max_pages=pages),
                archive=settings,
            )
        )
        cpu_s = time.process_time() - begun
        fetched = asyncio.run(stats(address, name)).outcomes["fetched"]
    files = list((data / "warc" / name).glob("*.warc.gz"))
    size = sum(path.stat().st_size for path in files)
    return {
        "cpu_ms": 1000 * cpu_s / fetched,
        "requests": sum(exchanges(path) for path in files) / fetched,
        "kilobytes": size / 1000 / fetched,
    }


def exchanges(path: Path) -> int:
    """Count the responses of an archive file, by its index."""
    from thresher.storage.warc import cdxj  # noqa: PLC0415 - after the measurement

    index = path.with_name(path.name.removesuffix(".warc.gz") + ".cdxj.gz")
    with index.open("rb") as file:
        return sum(1 for _ in cdxj.read(file, name=index.name))


async def stats(address: str, name: str) -> Stats:
    """Return the counts of a crawl."""
    link = await connect(address)
    try:
        return await (await Frontier(link, name).open(None)).stats()
    finally:
        await link.aclose()


if __name__ == "__main__":
    main()
