"""Measure the operations of a store in a directory and in an S3 server, in the same run.

usage: python bench/storage/stores.py [--puts N] [--large-mb N] [--repeat N]

This program starts and kills the server, SeaweedFS on loopback; both stores lie on the same disk. Each figure is that
of the round with the least CPU of --repeat rounds: wall and CPU milliseconds (user + system) of this process, without
the server's. `range` opens an object and reads 1 MB at a random place; `whole` reads all of the large one in order;
`read` reads a small object. Prints one JSON line.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.storage.s3server import BUCKET, KEYS, running_server
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.s3.s3_store import S3Store
from thresher.storage.store import Store

SMALL = os.urandom(10_000)
RANGES = 20


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--puts", type=int, default=200)
    parser.add_argument("--large-mb", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    os.environ.update(KEYS)
    with tempfile.TemporaryDirectory() as directory, running_server(Path(directory) / "s3") as server:
        root = Path(directory)
        bucket = S3Store(BUCKET, "bench", endpoint=server.endpoint)
        result = {"bench": "storage", "large_mb": args.large_mb}
        for name, store in (("file", DirectoryStore(root / "data")), ("s3", bucket)):
            result[name] = measure(store, root, args)
        bucket.close()
    for operation, cost in result["s3"].items():
        result[f"{operation}_s3_over_file_cpu"] = round(
            cost["cpu_ms"] / result["file"][operation]["cpu_ms"], 1
        )
    print(json.dumps(result))


def measure(store: Store, root: Path, args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the wall and CPU milliseconds of one call of each operation."""
    size = args.large_mb << 20
    large = root / "large"
    large.write_bytes(os.urandom(size))
    store.put("warm", b"")
    rounds = range(args.repeat)

    def put(round_: int) -> None:
        for number in range(args.puts):
            assert store.put(f"small/{round_}/{number}", SMALL)

    def read(round_: int) -> None:
        for number in range(args.puts):
            assert len(store.read(f"small/{round_}/{number}")) == len(SMALL)

    def adopt(round_: int) -> None:
        # Linked, the directory's file would be the same one: each round adopts bytes of its own.
        with store.stage(f"large/{round_}") as staged:
            staged.path.write_bytes(large.read_bytes())
            assert staged.publish()

    def ranges(round_: int) -> None:
        place = random.Random(round_)
        for _ in range(RANGES):
            with store.open("large/0") as file:
                file.seek(place.randrange(size - 1_000_000))
                assert len(file.read(1_000_000)) == 1_000_000

    def whole(_: int) -> None:
        with store.open("large/0") as file:
            while file.read(1 << 20):
                pass

    return {
        "put_10kb": best_round(put, rounds, args.puts),
        "read_10kb": best_round(read, rounds, args.puts),
        "adopt_large": best_round(adopt, rounds, 1),
        "range_1mb": best_round(ranges, rounds, RANGES),
        "whole_large": best_round(whole, rounds, 1),
    }


def best_round(work: Callable[[int], None], rounds: range, calls: int) -> dict[str, float]:
    """Return the figures of the round with the least CPU."""
    costs = []
    for each in rounds:
        wall, cpu = time.perf_counter(), time.process_time()
        work(each)
        costs.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = min(costs)
    return {"wall_ms": round(wall * 1000 / calls, 3), "cpu_ms": round(cpu * 1000 / calls, 3)}


if __name__ == "__main__":
    main()
