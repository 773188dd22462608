"""What `ingest` costs for a table of many short documents: CPU, time, memory, and stored bytes beside the input's.

usage: python bench/storage/ingest.py [--rows 1000000] [--format jsonl.zst|jsonl|parquet] [--workers N ...]

The rows are made here, the same in every run: an id, a URL, a score, a language and a text of 20 to 180 words, drawn by
Zipf's law from 50,000 made words. The command runs as a user types it, in a new project for each number of workers;
without `--workers` it runs once, with the command's own default. The script prints one JSON line for each run, and
fails if two runs differ in a stored byte.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

SYLLABLES = [
    consonant + vowel for consonant in "bcdfghjklmnprstvwz" for vowel in ("a", "e", "i", "o", "u", "ei")
]
BATCH = 10_000


def rows(count: int) -> Iterator[list[dict[str, object]]]:
    """Yield `count` rows in batches."""
    chosen = random.Random(1)
    words = np.array(
        sorted({"".join(chosen.choices(SYLLABLES, k=chosen.randint(1, 4))) for _ in range(60_000)})[:50_000]
    )
    drawn = np.random.default_rng(1)
    drawn.shuffle(words)
    odds = 1 / np.arange(1, len(words) + 1)
    odds /= odds.sum()
    for begin in range(0, count, BATCH):
        lengths = drawn.integers(20, 180, min(BATCH, count - begin))
        all_words = words[drawn.choice(len(words), int(lengths.sum()), p=odds)]
        ends = np.cumsum(lengths)
        yield [
            {
                "id": f"doc-{number:08d}",
                "url": f"https://site{number % 997}.example.org/{'/'.join(all_words[end - 3 : end])}",
                "score": round(float(score), 4),
                "language": "en",
                "text": " ".join(all_words[end - length : end]),
            }
            for number, (end, length, score) in enumerate(
                zip(ends, lengths, drawn.random(len(lengths)), strict=True), begin
            )
        ]


def write_input(path: Path, count: int) -> None:
    """Write the rows in the format that the name says."""
    if path.suffix == ".parquet":
        writer = None
        for batch in rows(count):
            table = pa.Table.from_pylist(batch)
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
        assert writer is not None
        writer.close()
        return
    with path.open("wb") as file:
        packed = path.suffix == ".zst"
        out = zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) if packed else file
        for batch in rows(count):
            out.write("".join(f"{json.dumps(row)}\n" for row in batch).encode())
        if packed:
            out.close()


def stored(folder: Path) -> tuple[dict[str, int], str]:
    """Return the stored bytes by folder and kind, and one digest of all of them."""
    sizes: dict[str, int] = {}
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file() and ".staging" not in each.parts):
        name = path.relative_to(folder)
        kind = "cdxj" if path.name.endswith(".cdxj.gz") else name.parts[0]
        sizes[kind] = sizes.get(kind, 0) + path.stat().st_size
        with path.open("rb") as file:
            digest.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return sizes, digest.hexdigest()[:16]


def run(work: Path, given: Path, options: list[str]) -> dict[str, object]:
    """Ingest in a new project, and return what it cost."""
    project = Path(tempfile.mkdtemp(dir=work))
    (project / "thresher.toml").write_text('[project]\ncontact = "mailto:bench@example.org"\n')
    command = [
        sys.executable,
        "-m",
        "thresher",
        "--project",
        str(project),
        "ingest",
        "bench",
        str(given),
        *options,
    ]
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    sizes, digest = stored(project / "data")
    return {
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "wall_s": round(wall, 1),
        "peak_rss_mb": after.ru_maxrss >> 10,
        "stored_mb": {kind: round(size / 1e6, 1) for kind, size in sizes.items()},
        "stored_to_input": round(sum(sizes.values()) / given.stat().st_size, 2),
        "digest": digest,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--format", default="jsonl.zst", choices=["jsonl", "jsonl.zst", "parquet"])
    parser.add_argument("--workers", type=int, nargs="*", default=[])
    parser.add_argument("--dir", type=Path, help="folder for the input and the projects")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as work:
        given = Path(work) / f"rows.{options.format}"
        write_input(given, options.rows)
        digests = set()
        for workers in options.workers or [None]:
            cost = run(Path(work), given, ["--workers", str(workers)] if workers else [])
            digests.add(cost["digest"])
            about = {
                "format": options.format,
                "rows": options.rows,
                "workers": workers,
                "input_mb": round(given.stat().st_size / 1e6, 1),
                "cpus": len(os.sched_getaffinity(0)),
            }
            print(json.dumps({**about, **cost}), flush=True)
    if len(digests) > 1:
        sys.exit("the runs differ in stored bytes")


if __name__ == "__main__":
    main()
