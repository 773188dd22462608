"""Inputs made here: the same rows in every form that is read."""

import bz2
import csv
import gzip
import io
import json
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from thresher.storage.inputs.input_kinds import detect_kind, input_kinds, read_items

ROWS = [
    {"text": "The first, with\nlines of its own.", "url": "https://example.org/1", "id": "a1"},
    {"text": "Zweiter Text: Fluß und Brücke.", "url": "https://example.org/2?q=ü", "id": "a2"},
    {"text": "第三の文書。", "url": "https://example.org/3", "id": "a3"},
    {"text": 'A fourth, "quoted", with; marks\tof all kinds.', "url": "https://example.org/4", "id": "a4"},
]


def jsonl(rows):
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def delimited(rows, delimiter=","):
    made = io.StringIO(newline="")
    writer = csv.DictWriter(made, fieldnames=list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return made.getvalue().encode()


def parquet(rows):
    made = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), made, row_group_size=2)
    return made.getvalue()


def arrow(rows, writer=pa.ipc.new_file, **options):
    made, table = io.BytesIO(), pa.Table.from_pylist(rows)
    with writer(made, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as file:
        file.write_table(table, max_chunksize=2)
    return made.getvalue()


def tarred(members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


def samples(rows):
    """A WebDataset: a text and a JSON a row."""
    return tarred(
        member
        for number, row in enumerate(rows)
        for member in (
            (f"{number:03d}.txt", row["text"].encode()),
            (f"{number:03d}.json", json.dumps({**row, "text": None}).encode()),
        )
    )


FORMS = {
    "x.jsonl": jsonl,
    "x.csv": delimited,
    "x.tsv": lambda rows: delimited(rows, "\t"),
    "x;.csv": lambda rows: delimited(rows, ";"),
    "x.parquet": parquet,
    "x.arrow": arrow,
    "x.feather": lambda rows: arrow(rows, compression="lz4"),
    "stream.arrow": lambda rows: arrow(rows, pa.ipc.new_stream),
    "x.tar": samples,
}


def gzipped(data):
    return gzip.compress(data, mtime=0)


def packed(data):
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def halves(compress):
    """Two members or frames, one behind the other."""
    return lambda data: compress(data[: len(data) // 2]) + compress(data[len(data) // 2 :])


CODECS = {
    "plain": bytes,
    "gzip": gzipped,
    "bzip2": bz2.compress,
    "bzip2 streams": halves(bz2.compress),
    "gzip members": halves(gzipped),
    "zstd": packed,
    "zstd frames": halves(packed),
}


def read(data, name, first=0, **ways):
    """What is made of a file of that name."""
    file = io.BytesIO(data)
    return list(read_items(file, name, detect_kind(file, name, input_kinds(**ways)), first))
