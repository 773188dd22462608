"""Measure a hit and a miss of the block cache, the quality of its eviction, and its cost with many blocks.

usage: python bench/storage/cache.py [--directory DIR] [--blocks 100000]

One process, one thread; CPU is user + system time. In the same run, each hit is compared with a plain read of a file of
the same bytes, and each miss with a plain write; the files are in the page cache. Hit rate: Zipf (exponent 1) over
20,000 keys with room for 2,000, compared with an exact LRU of as many blocks in memory. `ours` writes the time of every
read at once (a run of seconds stands for hours); `ours_touched_once_a_second` writes it once a second, as the cache
does. Eviction: misses into a full cache of `--blocks` blocks, and making room for 3,000 of them alone. The cost of
making and removing files belongs to the file system and varies; a --directory on tmpfs shows the cache's own part.
Prints one JSON line.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from thresher.storage.cache import block
from thresher.storage.cache.block_cache import Cache
from thresher.storage.cache.cache_space import PAGE, CacheSpace

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
KEYS, CAPACITY, READS = 20_000, 2_000, 60_000
MISSES = 3_000


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--blocks", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.directory) as directory:
        root = Path(directory)
        result = {
            "bench": "cache",
            "hit_64KiB": hits(root, 64 * KIB, 20_000),
            "hit_8MiB": hits(root, 8 * MIB, 400),
            "miss_64KiB": misses(root, 64 * KIB),
            "zipf": zipf(root),
            "eviction": eviction(root, args.blocks),
        }
    print(json.dumps(result))


def hits(root: Path, length: int, reads: int) -> dict[str, float]:
    """Measure reads of one block, in turns with reads of a plain file."""
    data = os.urandom(length)
    cache, plain = Cache(root / f"hits-{length}", GIB), root / f"plain-{length}"
    cache.get("bucket/name", lambda: data)
    plain.write_bytes(data)

    def read() -> None:
        with plain.open("rb", buffering=0) as file:
            file.read()

    ours, theirs, wall = 0.0, 0.0, 0.0
    rounds = 10
    for _ in range(rounds):
        begun = time.perf_counter()
        ours += cpu(lambda: cache.get("bucket/name", unexpected_fetch), reads // rounds)
        wall += time.perf_counter() - begun
        theirs += cpu(read, reads // rounds)
    return {
        "cpu_us": round(ours / rounds, 1),
        "plain_read_cpu_us": round(theirs / rounds, 1),
        "over_plain": round(ours / theirs, 2),
        "hits_s": round(reads / wall),
    }


def misses(root: Path, length: int) -> dict[str, float]:
    """Measure writes of new blocks, in turns with writes of new plain files."""
    data = os.urandom(length)
    cache, plain = Cache(root / "misses", 4 * GIB), root / "plain"
    plain.mkdir()
    numbers, others = iter(range(MISSES)), iter(range(MISSES))
    ours = theirs = 0.0
    rounds = 100
    for _ in range(rounds):
        ours += cpu(lambda: cache.get(f"{next(numbers)}", lambda: data), MISSES // rounds)
        theirs += cpu(lambda: (plain / f"{next(others)}").write_bytes(data), MISSES // rounds)
    return {
        "cpu_us": round(ours / rounds, 1),
        "plain_write_cpu_us": round(theirs / rounds, 1),
        "over_plain": round(ours / theirs, 2),
    }


def zipf(root: Path) -> dict[str, float]:
    """Measure the hit rates of one sequence of reads."""
    weights = 1 / np.arange(1, KEYS + 1)
    keys = [
        str(key) for key in np.random.default_rng(1).choice(KEYS, READS, p=weights / weights.sum()).tolist()
    ]
    once_a_second = rate(root / "zipf-1", keys)
    block.TOUCH_NS = 0
    at_once = rate(root / "zipf-0", keys)
    block.TOUCH_NS = 1_000_000_000
    exact = exact_lru(keys)
    return {
        "ours": round(at_once, 4),
        "ours_touched_once_a_second": round(once_a_second, 4),
        "exact_lru": round(exact, 4),
        "ours_over_exact": round(at_once / exact, 3),
    }


def rate(directory: Path, keys: list[str]) -> float:
    """Return the hits a read, with blocks of one page."""
    cache = Cache(directory, CAPACITY * PAGE)
    for key in keys:
        cache.get(key, lambda: b"x" * 3000)
    stats = cache.stats()
    return stats.hits / (stats.hits + stats.misses)


def exact_lru(keys: list[str]) -> float:
    """Return the hits a read of an exact LRU of as many blocks."""
    kept: OrderedDict[str, None] = OrderedDict()
    found = 0
    for key in keys:
        if key in kept:
            found += 1
            kept.move_to_end(key)
        else:
            kept[key] = None
            if len(kept) > CAPACITY:
                kept.popitem(last=False)
    return found / len(keys)


def eviction(root: Path, blocks: int) -> dict[str, float]:
    """Measure misses into a full cache, and into the same one with more room."""
    directory = root / "eviction"
    numbers = iter(range(blocks + 2 * MISSES))
    cache = Cache(directory, blocks * PAGE)

    def miss() -> None:
        cache.get(f"{next(numbers)}", lambda: b"x" * 3000)

    for _ in range(blocks):
        miss()
    walls = []

    def watched() -> None:
        begun = time.perf_counter()
        miss()
        walls.append(time.perf_counter() - begun)

    full = cpu(watched, MISSES)
    evicted = cache.stats().evicted_blocks
    alone = cpu(CacheSpace(directory, (blocks - MISSES) * PAGE).clean_up, 1)
    evicted_alone = cache.stats().evicted_blocks - evicted
    (directory / "ledger").unlink()
    counting = cpu(miss, 1)
    return {
        "blocks": blocks,
        "evicted": evicted,
        "cpu_us_a_miss_full": round(full, 1),
        "eviction_cpu_us": round(alone / evicted_alone, 1),
        "longest_miss_ms": round(max(walls) * 1e3, 1),
        "recount_ms": round(counting / 1e3, 1),
    }


def unexpected_fetch() -> bytes:
    """Fail: a hit must not fetch."""
    raise AssertionError("fetched, although it was in the cache")


def cpu(work: Callable[[], object], times: int) -> float:
    """Return the CPU microseconds of a call."""
    begun = seconds()
    for _ in range(times):
        work()
    return (seconds() - begun) / times * 1e6


def seconds() -> float:
    """Return the user and system time of this process, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
