"""Read the shards of an export: `python examples/read_shards.py out`, with PyArrow, DuckDB and Hugging Face datasets.

An export is a directory of Parquet files, and Thresher is not needed to read it. Name some of the tools behind the
directory to use these alone: `python examples/read_shards.py out duckdb`.
"""

import sys
from collections.abc import Callable
from pathlib import Path


def with_pyarrow(out: Path) -> str:
    """Go through the rows in batches: what a training loop does."""
    import pyarrow.dataset as ds

    documents = tokens = 0
    for batch in ds.dataset(out / "data", format="parquet").to_batches(columns=["input_ids", "url"]):
        documents += batch.num_rows
        tokens += sum(len(ids) for ids in batch["input_ids"])
    return f"{documents:,} documents, {tokens:,} tokens"


def with_duckdb(out: Path) -> str:
    """Ask a question in SQL: which hosts gave most tokens."""
    import duckdb

    rows = duckdb.execute(
        "SELECT split_part(url, '/', 3) AS host, sum(len(input_ids)) AS tokens FROM read_parquet(?)"
        " GROUP BY host ORDER BY tokens DESC, host LIMIT 5",
        [str(out / "data" / "*.parquet")],
    ).fetchall()
    return ", ".join(f"{host}: {tokens:,} tokens" for host, tokens in rows)


def with_datasets(out: Path) -> str:
    """Stream into Hugging Face tools; the README.md of the export says where the shards are."""
    import datasets

    rows = datasets.load_dataset(str(out), split="train", streaming=True)
    first = next(iter(rows))
    return f"first row of {first['url']}: {len(first['input_ids']):,} tokens"


READERS: dict[str, Callable[[Path], str]] = {
    "pyarrow": with_pyarrow,
    "duckdb": with_duckdb,
    "datasets": with_datasets,
}


def main() -> None:
    """Read with each tool that is installed."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= READERS.keys():
        raise SystemExit(f"usage: read_shards.py DIRECTORY [{' | '.join(READERS)}]...")
    out = Path(sys.argv[1])
    for name in sys.argv[2:] or READERS:
        try:
            print(f"{name}: {READERS[name](out)}")
        except ModuleNotFoundError as error:
            print(f"{name}: left out, for {error.name} is not installed")


if __name__ == "__main__":
    main()
