"""Measure what an ingest of many short rows costs, and what the columns of an input take beside it.

usage: python bench/storage/input_columns.py [--rows 1000000] [--kind jsonl.zst|parquet] [--directory DIR] [--without]

Rows have a text of about 100 words and FineWeb's other columns. CPU is user + system time of the ingest alone, with the
start of the interpreter left out; `--without` drops the columns, as ingest did before it kept them. `columns_bytes` are
those of `columns/`, `parquet_bytes` those of a Parquet file of the same columns, without the texts, written by PyArrow
with Zstandard. Prints one JSON line.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.storage.columns.kept_rows import KeptRows
from thresher.storage.directory_store import DirectoryStore

WORDS = 12_000
WORDS_A_TEXT = 100
PIECE = 20_000


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=("jsonl.zst", "parquet"), default="jsonl.zst")
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--without", action="store_true")
    args = parser.parse_args()
    if args.without:
        KeptRows.add = lambda *_: None  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory(dir=args.directory) as directory:
        root = Path(directory)
        path = root / f"rows.{args.kind}"
        beside = write(path, root / "beside.parquet", args.rows)
        store = DirectoryStore(root / "data")
        cpu, wall = cpu_s(), time.perf_counter()
        summary = ingest(store, "s", locate_inputs([str(path)]))
        cpu, wall = cpu_s() - cpu, time.perf_counter() - wall
        result = {
            "bench": "input_columns",
            "kind": args.kind,
            "kept": not args.without,
            "rows": summary.records,
            "cpu_s": round(cpu, 1),
            "wall_s": round(wall, 1),
            "input_bytes": path.stat().st_size,
            "warc_bytes": sum(map(store.size, store.list("warc/"))),
            "columns_bytes": sum(map(store.size, store.list("columns/"))),
            "parquet_bytes": beside,
            "columns": len(summary.columns),
        }
    print(json.dumps(result))


def write(path: Path, beside: Path, rows: int) -> int:
    """Write the input, and return the bytes of its columns without texts in a Parquet file."""
    pieces = (pa.Table.from_pylist(list(piece)) for piece in pieces_of(rows))
    first = next(pieces)
    kept = [name for name in first.schema.names if name not in {"text", "id", "url"}]
    columns = pq.ParquetWriter(beside, first.select(kept).schema, compression="zstd")
    with path.open("wb") as file:
        if path.name.endswith(".parquet"):
            with pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
                for piece in (first, *pieces):
                    writer.write_table(piece)
                    columns.write_table(piece.select(kept))
        else:
            with zstandard.ZstdCompressor().stream_writer(file) as stream:
                for piece in (first, *pieces):
                    stream.write("".join(f"{json.dumps(row)}\n" for row in piece.to_pylist()).encode())
                    columns.write_table(piece.select(kept))
    columns.close()
    return beside.stat().st_size


def pieces_of(rows: int) -> Iterator[Iterator[dict[str, object]]]:
    """Yield the rows, some thousand at a time."""
    chance = random.Random(0)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(WORDS)]
    for first in range(0, rows, PIECE):
        yield (row_of(number, words, chance) for number in range(first, min(first + PIECE, rows)))


def row_of(number: int, words: list[str], chance: random.Random) -> dict[str, object]:
    """Return a row with FineWeb's columns."""
    return {
        "text": " ".join(chance.choices(words, k=WORDS_A_TEXT)),
        "id": f"<urn:uuid:{number:032x}>",
        "dump": "CC-MAIN-2024-10",
        "url": f"https://site{number % 5000}.example/page/{number}",
        "date": f"2024-02-{number % 28 + 1:02d}T{number % 24:02d}:00:00Z",
        "file_path": f"s3://commoncrawl/crawl-data/CC-MAIN-2024-10/{number // 30_000:05d}.warc.gz",
        "language": "en",
        "language_score": round(chance.random(), 4),
        "token_count": chance.randint(50, 4000),
        "score": round(chance.random() * 5, 6),
        "int_score": chance.randint(0, 5),
    }


def cpu_s() -> float:
    """Return user and system time of this process and its children, in seconds."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


if __name__ == "__main__":
    main()
