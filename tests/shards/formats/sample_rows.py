"""Rows of a shard, and their shard in any format."""

import numpy as np
import pyarrow as pa

from thresher.shards.card_facts import CardFacts
from thresher.shards.dataset import ShardFile
from thresher.shards.formats.format import RowSize
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.shard_rows import EXACT_ROW, RowColumns

TEXTS = ["", "plain words", 'a "quoted"\nline\twith \\ and \x01', "日本語 и ещё 🧑‍🚀", "x" * 70_000]


def sample_rows(count=40, seed=1, largest=65_000):
    random = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        ids = random.integers(0, largest, size=int(random.integers(0, 400))).tolist()
        rows.append(
            {
                "input_ids": ids,
                "id": f"{number:032x}",
                "url": f"https://example.org/{number}?q=a%20b",
                "source": "docs",
                "record_file": "warc/docs/part-00000.warc.gz",
                "record_offset": number * 1_000_000_007,
                "text": TEXTS[number % len(TEXTS)],
            }
        )
    return rows


def write_shard(
    name, directory, rows, *, id_bytes=2, chunk=7, number=0, count=1, with_text=True, schema=None
):
    """Write the rows as one shard, in tables of `chunk` rows, and return the paths of its files."""
    kind = FORMATS[name]
    schema = schema or RowColumns(has_text=with_text and kind.holds_text).document
    paths = [directory / kind.directory / each for each in kind.file_names(number, count)]
    files = []
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.append(path.open("wb"))
    size = RowSize(rows=len(rows), tokens=sum(len(row["input_ids"]) for row in rows))
    writer = kind.open(files, schema, id_bytes, size)
    exact = [{**row, "record_length": 10, "record_digest": "sha1:x"} for row in rows]
    given = schema if "segments" in schema.names else EXACT_ROW
    for start in range(0, len(rows), chunk):
        writer.write(pa.Table.from_pylist(exact[start : start + chunk], schema=given))
    writer.close()
    for file in files:
        file.close()
    return paths


def write_dataset(name, directory, rows, *, shards=3, id_bytes=2, schema=None):
    """Write the rows as several shards, with the files that describe them."""
    kind = FORMATS[name]
    schema = schema or RowColumns(has_text=kind.holds_text).document
    lines = []
    edges = [len(rows) * number // shards for number in range(shards + 1)]
    for number in range(shards):
        part = rows[edges[number] : edges[number + 1]]
        paths = write_shard(
            name, directory, part, id_bytes=id_bytes, number=number, count=shards, schema=schema
        )
        lines.append(
            ShardFile(
                name=str(paths[0].relative_to(directory)),
                bytes=paths[0].stat().st_size,
                sha256="",
                format=name,
                documents=len(part),
                tokens=sum(len(row["input_ids"]) for row in part),
            )
        )
    for path, data in (
        kind.side_files(lines, schema, CardFacts(id_bytes=id_bytes)) if kind.side_files else {}
    ).items():
        (directory / path).write_bytes(data)
    return directory / kind.directory
