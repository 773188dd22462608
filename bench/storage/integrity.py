"""Measure the cost of detecting a flipped bit in a table, and the flips that stay undetected, for three ways to read.

usage: python bench/storage/integrity.py [--documents N] [--flips N]

The table holds generated documents, as the process step writes them. Each way is timed alone, best of 15, CPU of this
process. A flip counts as unseen if the six columns that an export reads come out changed and without an error. A third
of the flips lie in the last 6 kB of the file. Prints one JSON line.
"""

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pyarrow as pa
import pyarrow.parquet as pq

from thresher.pipeline.steps.tokenizing import COLUMNS
from thresher.storage import tables

FOOTER = 6_000


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--flips", type=int, default=1500)
    args = parser.parse_args()
    table = documents(args.documents)
    with tempfile.TemporaryDirectory() as directory:
        plain, summed = Path(directory) / "plain", Path(directory) / "summed"
        results = {
            "nothing": measure(table, plain, read_plain, args.flips, checksums=False),
            "page_crc": measure(table, summed, read_pages, args.flips, checksums=True),
        }
        digest = hashlib.sha256(plain.read_bytes()).digest()
        hashed = measure(table, plain, lambda data: read_hashed(data, digest), args.flips, checksums=False)
        print(json.dumps({"bench": "integrity", "bytes": plain.stat().st_size, **results, "sha256": hashed}))


def documents(count: int) -> pa.Table:
    """Return a table of documents of about 4 kB of text each."""
    draw = random.Random(1)
    words = ["".join(draw.choices(ascii_lowercase, k=draw.randrange(2, 11))) for _ in range(5_000)]
    rows = [
        {
            **dict.fromkeys(tables.DOCUMENTS.names, "x"),
            "id": hashlib.sha256(b"%d" % number).hexdigest()[:32],
            "url": f"https://example.org/{number}",
            "text": " ".join(draw.choices(words, k=600)),
            **dict.fromkeys(("fetched_at_ms", "record_offset", "record_length"), number),
        }
        for number in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=tables.DOCUMENTS).combine_chunks()


def measure(
    table: pa.Table, path: Path, read: Callable[[bytes], pa.Table], flips: int, *, checksums: bool
) -> dict[str, float]:
    """Return the milliseconds to write and to read, and the results of the flips."""

    def write() -> None:
        pq.write_table(table, path, compression="zstd", compression_level=3, write_page_checksum=checksums)

    written = best_cpu_ms(write)
    data, draw, unseen, in_footer = path.read_bytes(), random.Random(2), 0, 0
    right = read(data)
    for number in range(flips):
        at = draw.randrange(len(data) - FOOTER, len(data)) if number % 3 == 0 else draw.randrange(len(data))
        flipped = bytearray(data)
        flipped[at] ^= 1 << draw.randrange(8)
        try:
            wrong = not read(bytes(flipped)).equals(right)
        except (pa.ArrowException, OSError, ValueError):
            continue
        unseen += wrong
        in_footer += wrong and at >= len(data) - FOOTER
    return {
        "write_ms": written,
        "read_ms": best_cpu_ms(lambda: read(path.read_bytes())),
        "unseen": unseen,
        "unseen_in_footer": in_footer,
    }


def read_plain(data: bytes) -> pa.Table:
    """Read plain Parquet."""
    return pq.read_table(pa.BufferReader(data), columns=list(COLUMNS))


def read_pages(data: bytes) -> pa.Table:
    """Read, and check the checksums of pages."""
    return pq.read_table(pa.BufferReader(data), columns=list(COLUMNS), page_checksum_verification=True)


def read_hashed(data: bytes, digest: bytes) -> pa.Table:
    """Read, and check the digest of the file."""
    if hashlib.sha256(data).digest() != digest:
        raise ValueError("changed")
    return read_plain(data)


def best_cpu_ms(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds, the best of 15."""
    found = []
    for _ in range(15):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return round(min(found) * 1000, 2)


if __name__ == "__main__":
    main()
