"""What the engine costs besides the work: overhead, scaling, memory, one huge file against many small ones.

usage: python bench/pipeline/engine.py --warc FILE [FILE ...] [--pages N] [--huge BYTES] [QUESTION ...]

QUESTION is scaling, memory or huge; all of them by default. The files are WARCs of real pages, such as a crawl of
`bench/crawler/sites.py`. Each question prints one JSON line.

- scaling: N pages through the process step with one worker and with two: CPU seconds outside the step's own work as a
  share of all, worker starts included; ratio of the wall-clock times of one and two workers.
- memory: peak resident memory of driver and workers together for N/10 and for N pages.
- huge: the same pages, once in many small files and once in a single file that other payloads enlarge to --huge bytes.
"""

import argparse
import gzip
import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from thresher.pipeline.configuration import FiltersConfig  # noqa: E402
from thresher.pipeline.engine import run_step  # noqa: E402
from thresher.pipeline.engine.local.worker_pool import local_worker_pool  # noqa: E402
from thresher.pipeline.inputs.ingest import ingest  # noqa: E402
from thresher.pipeline.inputs.locate import locate_inputs  # noqa: E402
from thresher.pipeline.steps import process  # noqa: E402 - a script finds the packages only now
from thresher.pipeline.terminal.progress import LineProgress  # noqa: E402
from thresher.storage.directory_store import DirectoryStore  # noqa: E402
from thresher.storage.warc.records import read_records  # noqa: E402

FILTERS = FiltersConfig(preset="none", languages=())
PAGES_PER_FILE = 500
FILLER = 1 << 20


def main() -> None:
    """Answer each question, and print its line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", nargs="*", default=["scaling", "memory", "huge"])
    parser.add_argument("--warc", type=Path, nargs="+", required=True)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--huge", type=int, default=2 << 30)
    args = parser.parse_args()
    for question in args.questions:
        with tempfile.TemporaryDirectory() as directory:
            answer = {"scaling": scaling, "memory": memory, "huge": huge}[question]
            found = answer(Path(directory), args)
        print(json.dumps({"bench": f"engine-{question}", **found}), flush=True)


def scaling(directory: Path, args: argparse.Namespace) -> dict[str, object]:
    """Compare one worker with two."""
    files = write_small_files(directory, args.warc, args.pages)
    runs = {workers: run(directory / f"{workers}", files, workers) for workers in (1, 2)}
    one, two = runs[1], runs[2]
    return {
        "pages": args.pages,
        "one": one,
        "two": two,
        "overhead_pct": two["overhead_pct"],
        "speedup": round(one["wall_s"] / two["wall_s"], 3),
    }


def memory(directory: Path, args: argparse.Namespace) -> dict[str, object]:
    """Compare a tenth of the pages with all of them."""
    found = {}
    for pages in (args.pages // 10, args.pages):
        (directory / f"in-{pages}").mkdir()
        files = write_small_files(directory / f"in-{pages}", args.warc, pages)
        found[pages] = run(directory / f"{pages}", files, 2)["peak_mb"]
    small, large = found.values()
    return {"pages": list(found), "peak_mb": [small, large], "ratio": round(large / small, 3)}


def huge(directory: Path, args: argparse.Namespace) -> dict[str, object]:
    """Compare many small files with a single one."""
    small = write_small_files(directory, args.warc, args.pages)
    whole = directory / "whole.warc.gz"
    write_huge_file(whole, args.warc, args.pages, args.huge)
    first, second = run(directory / "small", small, 2), run(directory / "huge", [whole], 2)
    return {
        "pages": args.pages,
        "bytes": whole.stat().st_size,
        "small": first,
        "huge": second,
        "wall_ratio": round(second["wall_s"] / first["wall_s"], 3),
        "peak_ratio": round(second["peak_mb"] / first["peak_mb"], 3),
    }


def run(directory: Path, warcs: list[Path], workers: int) -> dict[str, float]:
    """Run the process step over these files, and return its costs."""
    files = DirectoryStore(directory / "data")
    ingest(files, "bench", locate_inputs(warcs))
    step, parts = process.step(FILTERS), list(process.parts(files, "bench", FILTERS))
    own, children = cpu(resource.RUSAGE_SELF), cpu(resource.RUSAGE_CHILDREN)
    with peak() as most:
        with local_worker_pool(workers) as pool:
            begun = time.perf_counter()
            ran = run_step.run_step(files, step, parts, process.work, pool=pool, progress=LineProgress())
            wall = time.perf_counter() - begun
        spent = cpu(resource.RUSAGE_SELF) - own + cpu(resource.RUSAGE_CHILDREN) - children
    return {
        "hands": workers,
        "parts": ran.made,
        "wall_s": round(wall, 1),
        "cpu_s": round(spent, 1),
        "work_cpu_s": round(ran.work_cpu_s, 1),
        "overhead_pct": round(100 * (1 - ran.work_cpu_s / spent), 2),
        "peak_mb": round(most[0] / 1e6),
    }


def write_small_files(directory: Path, warcs: list[Path], pages: int) -> list[Path]:
    """Write the first pages of some files, `PAGES_PER_FILE` in a file."""
    made: list[Path] = []
    for number, (head, data) in enumerate(responses(warcs, pages)):
        if number % PAGES_PER_FILE == 0:
            made.append(directory / f"small-{number // PAGES_PER_FILE:05d}.warc.gz")
            made[-1].write_bytes(head)
        with made[-1].open("ab") as file:
            file.write(data)
    return made


def write_huge_file(path: Path, warcs: list[Path], pages: int, size: int) -> None:
    """Write one file of all pages, with enough other records evenly between them to reach the size."""
    noise = os.urandom(FILLER)
    with path.open("wb") as file:
        for number, (head, data) in enumerate(responses(warcs, pages)):
            if number == 0:
                file.write(head)
            file.write(data)
            while file.tell() < size * (number + 1) / pages:
                file.write(noise_record(noise))


def noise_record(noise: bytes) -> bytes:
    """Return a response record that is not a page."""
    http = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + noise
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>\r\n"
        "WARC-Target-URI: http://example.org/x.png\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + http + b"\r\n\r\n", 0)


def responses(warcs: list[Path], pages: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the stored bytes of a file's warcinfo record and of one response after another.

    After the last file it starts with the first again.
    """
    count = 0
    while True:
        for path in warcs:
            with path.open("rb") as file, path.open("rb") as raw:
                head = b""
                for record in read_records(file, name=str(path)):
                    raw.seek(record.offset)
                    data = raw.read(record.length)
                    if record.type == "warcinfo":
                        head = data
                    elif record.type == "response" and record.mime == "text/html":
                        yield head, data
                        count += 1
                        if count == pages:
                            return


@contextmanager
def peak() -> Iterator[list[int]]:
    """Yield the peak of the resident bytes of this process and its children together, sampled every 0.1 s."""
    most, over = [0], threading.Event()
    this = psutil.Process()

    def look() -> None:
        while not over.wait(0.1):
            now = 0
            for process_ in (this, *this.children(recursive=True)):
                try:
                    now += process_.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            most[0] = max(most[0], now)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def cpu(whose: int) -> float:
    """Return the CPU seconds used so far."""
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
