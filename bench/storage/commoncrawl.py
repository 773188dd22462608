"""Measure ingestion from Common Crawl: look-ups, single records, whole files, and the memory that each takes.

usage: python bench/storage/commoncrawl.py [--pages N] [--files F] [--domains D]

A server on loopback, in a process of its own, has a crawl of N pages on D domains in F files, with both indexes. One
run for each index ingests all records of every second domain; another run ingests the whole files. The command prints
one JSON line a run: records, seconds, records and megabytes a second, and the peak resident memory of the process in
MB. A real network is slower than loopback: the figures show the cost of Thresher itself.
"""

import argparse
import json
import multiprocessing
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.commoncrawl import CRAWL, Page, article, write_crawl
from tests.commoncrawl_server import serve_files
from thresher.pipeline.configuration import parse
from thresher.pipeline.inputs import commoncrawl_input
from thresher.pipeline.inputs.commoncrawl_selection import CommonCrawlSelection
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore


def main() -> None:
    """Generate the crawl, serve it, and ingest it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--domains", type=int, default=100)
    args = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "theirs"
        maker = context.Process(
            target=write_synthetic_crawl, args=(root, args.pages, args.files, args.domains)
        )
        maker.start()
        maker.join()
        ports = context.Queue()
        server = context.Process(target=serve, args=(root, ports), daemon=True)
        server.start()
        base = ports.get()
        every_second = tuple(f"host{number:05d}.test" for number in range(0, args.domains, 2))
        for name, wanted in {
            "cdx": CommonCrawlSelection(domains=every_second, index="cdx"),
            "columnar": CommonCrawlSelection(domains=every_second, index="columnar"),
            "whole files": CommonCrawlSelection(),
        }.items():
            one = context.Process(target=measure_ingest, args=(name, base, Path(directory) / name, wanted))
            one.start()
            one.join()
        server.terminate()


def write_synthetic_crawl(root: Path, pages: int, files: int, domains: int) -> None:
    """Write a crawl of generated pages."""
    found = [
        Page(url=f"https://host{number % domains:05d}.test/{number:07d}", body=article(f"page {number}") * 4)
        for number in range(pages)
    ]
    write_crawl(root, found, files=files, block=3000, parts=4, group=50_000)


def serve(root: Path, ports: multiprocessing.Queue) -> None:
    """Serve the crawl until the process is ended."""
    with serve_files(root) as server:
        ports.put(server.base)
        signal.pause()


def measure_ingest(name: str, base: str, directory: Path, wanted: CommonCrawlSelection) -> None:
    """Ingest the selection, and print the line."""
    config = parse(
        f'[project]\ncontact = "mailto:bench@example.org"\n[ingest]\ncommoncrawl = "{base}"\n', directory
    )
    store = DirectoryStore(directory)
    begun, address = time.perf_counter(), f"commoncrawl:{CRAWL}"
    with commoncrawl_input.open_client(config) as client:
        job = commoncrawl_input.CommonCrawlJob(
            store=store, source="cc", client=client, progress=LineProgress()
        )
        if wanted.is_selective:
            records = commoncrawl_input.ingest_selections(job, [address], wanted).added
        else:
            records = commoncrawl_input.ingest_files(job, [address], wanted).entries
    seconds = time.perf_counter() - begun
    size = sum(store.size(each) for each in store.list("warc/") if each.endswith(".warc.gz"))
    result = {
        "what": name,
        "records": records,
        "s": round(seconds, 1),
        "records_s": round(records / seconds),
        "MB_s": round(size / seconds / 1e6, 1),
        "peak_MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
