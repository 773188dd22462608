"""How soon a loader gives its first batches from a bucket behind a slow link.

usage: python bench/shards/first_batches.py [--shards N] [--batch N] [--delay-ms MS,...] [--repeat N] [--packing NAME]

The server is SeaweedFS on loopback, behind the link of `bench/storage/range_reads.py`. The export has shards of 2.6 MB
with packing plans; each process has a cache of its own, which is empty. Each figure is the median of --repeat rounds:
seconds until the loader is open, until the first batch and until the fourth, all from the start of `Loader(...)`;
seconds of CPU of the process, its peak RSS in MB and its largest number of threads until then. Prints one JSON line.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.storage.range_reads import most_threads, peak_rss_mb
from tests.shards.loader.made_export import documents_of, make_export
from tests.storage.s3server import BUCKET, KEYS, running_server

ROOT = Path(__file__).resolve().parents[2]
LENGTH = 2048
DOCUMENTS = 1000
"""Documents of a shard, of 1,300 tokens each on average."""


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shards", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--delay-ms", default="50,200")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--packing", default="best-fit")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    print(json.dumps(one(args) if args.one else compared(args)))


def compared(args: argparse.Namespace) -> dict:
    """Return the figures at all delays."""
    result = {"bench": "first_batches", "shards": args.shards, "batch": args.batch, "packing": args.packing}
    environment = {**os.environ, **KEYS, "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": os.devnull}
    with tempfile.TemporaryDirectory() as directory, running_server(Path(directory) / "s3") as server:
        root = Path(directory) / "export"
        root.mkdir()
        documents = documents_of("web", DOCUMENTS * args.shards, sizes=(600, 2000))
        make_export(root, {"web": documents}, shard_documents=DOCUMENTS, plan_length=LENGTH)
        client = server.client()
        for path in root.rglob("*"):
            if path.is_file():
                client.put_object(Bucket=BUCKET, Key=f"out/{path.relative_to(root)}", Body=path.read_bytes())
        for delay in map(float, args.delay_ms.split(",")):
            program = ROOT / "bench/storage/range_reads.py"
            command = [sys.executable, str(program), "--link", f"{server.port},{delay / 1000},0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as link:
                assert link.stdout
                environment["AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{link.stdout.readline().strip()}"
                rounds = []
                for number in range(args.repeat):
                    cache = str(Path(directory) / f"cache-{delay}-{number}")
                    options = ["--batch", str(args.batch), "--packing", args.packing, "--one", cache]
                    done = subprocess.run(
                        [sys.executable, __file__, *options],
                        env=environment,
                        stdout=subprocess.PIPE,
                        text=True,
                        check=True,
                    )
                    rounds.append(json.loads(done.stdout))
                link.kill()
            result[f"{delay:g} ms"] = {
                key: round(statistics.median(each[key] for each in rounds), 2) for key in rounds[0]
            }
    return {**result, "load": round(os.getloadavg()[0], 1)}


def one(args: argparse.Namespace) -> dict[str, float]:
    """Read in this process."""
    from thresher.shards.loader.exact_loader import Loader

    threads = most_threads()
    started, cpu = time.perf_counter(), time.process_time()
    loader = Loader(
        f"s3://{BUCKET}/out", length=LENGTH, batch_size=args.batch, packing=args.packing, cache=args.one
    )
    found = {"open_s": time.perf_counter() - started}
    for number, _ in enumerate(loader, 1):
        if number == 1:
            found["first_s"] = time.perf_counter() - started
        if number == 4:
            break
    found["fourth_s"] = time.perf_counter() - started
    found |= {"cpu_s": time.process_time() - cpu, "rss_mb": peak_rss_mb(), "threads": threads() - 1}
    return found


if __name__ == "__main__":
    main()
